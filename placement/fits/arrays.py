"""What fits are made from: arrays, and moments that can be added."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, sum and sum of squares of samples, of equal shape."""

    count: Array
    total: Array
    total_sq: Array

    def over_window(self) -> "Moments":
        """The seconds of a window added up: one value a row."""
        return Moments(self.count.sum(axis=-1), self.total.sum(axis=-1), self.total_sq.sum(axis=-1))

    @property
    def mean(self) -> Array:
        """NaN without samples."""
        return divide(self.total, self.count)

    @property
    def variance(self) -> Array:
        """Of the samples' population; rounding never makes it negative."""
        return np.maximum(divide(self.total_sq, self.count) - self.mean**2, 0.0)


def divide(above: Array, below: Array) -> Array:
    """NaN where there is nothing to divide by."""
    shape = np.broadcast(above, below).shape
    return np.asarray(np.divide(above, below, out=np.full(shape, np.nan), where=below > 0))
