"""Rows that belong together (seats of an operator, a segment or a host), added up or compared."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from services.modelling.ring import Array, Indices


class Groups:
    """`names`: the different names, sorted; `of`: for each row the number of its name."""

    def __init__(self, names: Sequence[Any]) -> None:
        self.names: list[Any] = sorted(set(names))
        number = {name: place for place, name in enumerate(self.names)}
        self.of: Indices = np.fromiter(map(number.__getitem__, names), np.int64, len(names))
        rows = len(names)
        # A product with ones: `np.add.reduceat` takes forty times as long where most groups have one row.
        self._ones = csr_array((np.ones(rows), (self.of, np.arange(rows))), shape=(len(self.names), rows))
        order = self.of.argsort(kind="stable")
        starts = np.flatnonzero(np.diff(self.of[order], prepend=-1))
        rank = np.arange(rows) - np.repeat(starts, np.diff([*starts, rows]))
        self._turns = [order[rank == each] for each in range(int(rank.max()) + 1 if rows else 0)]
        """The first row of each group, then the second of those that have one, and so on."""

    def add(self, values: Array) -> Array:
        """One row a group: the sum of its rows."""
        return np.asarray(self._ones @ values)

    def most(self, values: NDArray[Any]) -> NDArray[Any]:
        """One row a group: the largest of each column."""
        if not self._turns:
            return values
        found = values[self._turns[0]]
        for rows in self._turns[1:]:
            groups = self.of[rows]
            found[groups] = np.maximum(found[groups], values[rows])
        return found
