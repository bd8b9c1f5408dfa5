"""Series that have come to another level: two values in a row beyond all that was seen, by more than its whole range.

A single such value may be a spike, and a burst as large as former ones is within the range. After a shift the experts
remember a level that is gone, and who copes best with that shows only when the first forecasts from beyond it have come
due.
"""

import numpy as np
from numpy.typing import NDArray

from placement.forecast.correlation import Indices
from placement.forecast.history import Array

RANGE_STEPS = 500
"""The range is that of so many steps, up to twice as many."""
_AGE_MIN = 20
_SMALLEST = 0.5
"""In logarithms: smaller shifts are left to the experts."""
_FINE = 1e-3
"""Values below this share of the usual size are all the same."""


class Shifts:
    """`look` takes the last value of each series; `since` says how long ago each has shifted."""

    def __init__(self, count: int) -> None:
        self._ranges = np.zeros((4, count))
        """Lowest and highest of this stretch of steps, and of the one before."""
        self._last = np.zeros(count)
        self._steps = 0
        self.since = np.full(count, np.inf)
        """Known values since the shift, that one included."""

    def look(self, now: Array, known: NDArray[np.bool_], age: Indices, scale: Array) -> None:
        """One step; `age` counts it."""
        begins = age <= 1
        self._ranges[:, begins] = self._last[begins] = now[begins]
        low, high = self._ranges[[0, 2]].min(axis=0), self._ranges[[1, 3]].max(axis=0)
        bounds = np.stack([low, high, np.minimum(now, self._last), np.maximum(now, self._last)])
        low, high, lower, upper = np.log1p(bounds / (_FINE * scale))
        reach = np.maximum(high - low, _SMALLEST)
        # A level without any noise is left by a step, and the last value tells that.
        shifted = known & (age > _AGE_MIN) & (high > low) & ((upper < low - reach) | (lower > high + reach))
        self.since = np.where(shifted, 2.0, self.since + known)
        self._ranges[0] = np.where(known, np.minimum(self._ranges[0], self._last), self._ranges[0])
        self._ranges[1] = np.where(known, np.maximum(self._ranges[1], self._last), self._ranges[1])
        self._steps += 1
        if self._steps % RANGE_STEPS == 0:
            self._ranges = np.stack([self._last, self._last, *self._ranges[:2]])
        self._last = np.where(known, now, self._last)

    def grow(self, count: int) -> None:
        """Room for more series."""
        more = count - len(self._last)
        self._ranges = np.pad(self._ranges, ((0, 0), (0, more)))
        self._last = np.pad(self._last, (0, more))
        self.since = np.pad(self.since, (0, more), constant_values=np.inf)

    def forget(self, series: Indices) -> None:
        """These series begin anew."""
        self.since[series] = np.inf
