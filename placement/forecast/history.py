"""The last values of many series, side by side. An unknown value (NaN) is filled with the one before it."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class History:
    """`memory` steps of `count` series. Steps are written twice, so that any stretch of them is one slice."""

    def __init__(self, count: int, memory: int) -> None:
        self.memory = memory
        self.steps = 0
        """How many there have been."""
        self._kept = np.zeros((2 * memory, count))
        self._is_fresh = np.ones(count, dtype=bool)

    @property
    def count(self) -> int:
        return int(self._kept.shape[1])

    def append(self, values: Array) -> None:
        """One more step. A series begins with its first known value, as if it had always been that."""
        known = np.isfinite(values)
        begins = known & self._is_fresh
        self._kept[:, begins] = values[begins]
        self._is_fresh &= ~known
        filled = np.where(known, values, self.back(1))
        place = self.steps % self.memory
        self._kept[place] = self._kept[place + self.memory] = filled
        self.steps += 1

    def last(self, steps: int) -> Array:
        """The last so many steps (or as many as there are), oldest first; one column a series. A view: do not write."""
        steps = min(steps, self.steps, self.memory)
        end = (self.steps - 1) % self.memory + 1 + self.memory
        return np.asarray(self._kept[end - steps : end])

    def back(self, steps: int) -> Array:
        """The values of so many steps ago; 1 is the last one."""
        return np.asarray(self._kept[(self.steps - steps) % self.memory])

    def each_back(self, steps: NDArray[np.int64]) -> Array:
        """For each series the value of its own number of steps ago."""
        return self.of(np.arange(self.count), steps)

    def of(self, series: NDArray[np.int64], steps: NDArray[np.int64]) -> Array:
        """The values of these series, each of its own number of steps ago."""
        return np.asarray(self._kept[(self.steps - steps) % self.memory, series])

    def correct(self, series: NDArray[np.int64], steps: int, values: Array) -> None:
        """What these series were so many steps ago has become known, or better known."""
        if steps <= min(self.steps, self.memory):
            place = (self.steps - steps) % self.memory
            self._kept[place, series] = self._kept[place + self.memory, series] = np.maximum(values, 0.0)

    def grow(self, count: int) -> None:
        """Room for more series."""
        more = count - self.count
        self._kept = np.pad(self._kept, ((0, 0), (0, more)))
        self._is_fresh = np.pad(self._is_fresh, (0, more), constant_values=True)

    def forget(self, series: NDArray[np.int64]) -> None:
        """These series begin anew."""
        self._kept[:, series] = 0.0
        self._is_fresh[series] = True
