"""The next value of a rolling rate. What leaves its window is known; only the gap that comes is to be forecast.

A rate of the last n records changes with every record by one gap that comes and one that leaves, and the last value
misses both. The forecast of the gap is a median, since medians miss least (decision 0150).
"""

import numpy as np
from numpy.typing import NDArray

from placement.forecast.history import Array

GAPS = 50
"""A gap is told by the median of this many before it."""


def rolling_rates(times_s: Array, records: int) -> Array:
    """At each record from number `records` on: the rate of that many records up to it."""
    return np.asarray(records / np.maximum(times_s[records:] - times_s[:-records], 1e-3))


def next_rates(times_s: Array, records: int) -> Array:
    """For each value of `rolling_rates`, what the one after it should be."""
    gaps = np.diff(times_s)
    coming: NDArray[np.float64] = np.median(np.lib.stride_tricks.sliding_window_view(gaps, GAPS), axis=1)
    assert records >= GAPS, (records, GAPS)
    spans = times_s[records:] - times_s[1 : len(times_s) - records + 1]
    return np.asarray(records / np.maximum(spans + coming[records - GAPS :], 1e-3))
