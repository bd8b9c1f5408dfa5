"""What comes to operators, which is not what they get done: a host at its limits counts no more than it can do.

Hosts count records as they process them. What came in a second is that, and by how much more of the task's records
waited at its end than at its beginning. Operators behind the first one of a segment, and of several first ones those
that get less, would have seen their usual share of it.

Behind an edge what waits are blocks of records, and counts as that many records only: load beyond capacity is told for
segments that read sources.
"""

import numpy as np

from placement.fits.arrays import Flags
from services.modelling.operators import Operators
from services.modelling.ring import Array
from services.modelling.windows import Window


class Demand:
    """Of the same seats as long as they do not change; `came` once a second."""

    def __init__(self, operators: Operators, is_first: Flags) -> None:
        """`is_first`: which seats read what comes to their tasks."""
        self._operators = operators
        self._is_first = is_first

    def came(self, window: Window) -> Array:
        """[seat, second]: records that came, also those that wait."""
        arrivals, lag = window["arrivals"], window["lag"]
        growth = np.diff(lag, axis=1, prepend=lag[:, :1])
        # Where a partition came or went, or a second was not told, what waits is not compared with what did before.
        growth[np.diff(window["rows"], axis=1, prepend=window["rows"][:, :1]) != 0] = 0.0
        if not growth.any():
            return arrivals
        total = arrivals.sum(axis=1)
        entering = self._operators.task_most(np.where(self._is_first, total, 0.0))
        share = np.divide(total, entering, out=self._is_first.astype(float), where=entering > 0)
        return np.asarray(np.maximum(arrivals + share[:, None] * growth, 0.0))
