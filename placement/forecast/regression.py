"""Many small least-squares regressions side by side, each forgetting its past slowly.

Observations are taken in at every step; coefficients are found anew for some of them at a time, so that no step takes
long however many there are.
"""

import numpy as np
from numpy.typing import NDArray

from placement.forecast.history import Array


class Regressions:
    """`count` regressions of one target on `width` features; a prior pulls towards given coefficients."""

    def __init__(self, count: int, prior: Array, *, forget: float, ridge: float) -> None:
        self._prior = prior
        self._forget = forget
        self._ridge = ridge
        width = len(prior)
        self._xx = np.zeros((count, width, width))
        self._xy = np.zeros((count, width))
        self._found = np.tile(prior, (count, 1))
        """Coefficients."""

    def learn(self, features: Array, targets: Array, known: Array) -> None:
        """One observation each, of those that are known (weight 1, else 0)."""
        weighted = features * known[:, None]
        self._xx *= self._forget
        self._xx += weighted[:, :, None] * features[:, None, :]
        self._xy *= self._forget
        self._xy += weighted * targets[:, None]

    def solve(self, which: NDArray[np.int64]) -> None:
        """Find the coefficients of these anew."""
        pull = self._ridge * np.eye(len(self._prior))
        sums = (self._xy[which] + self._ridge * self._prior)[:, :, None]
        self._found[which] = np.linalg.solve(self._xx[which] + pull, sums)[:, :, 0]

    def predict(self, features: Array) -> Array:
        """What the targets should be, given the features."""
        return np.asarray((self._found * features).sum(axis=1))

    def grow(self, count: int) -> None:
        """Room for more, which know nothing."""
        more = count - len(self._xy)
        self._xx = np.pad(self._xx, ((0, more), (0, 0), (0, 0)))
        self._xy = np.pad(self._xy, ((0, more), (0, 0)))
        self._found = np.vstack([self._found, np.tile(self._prior, (more, 1))])

    def forget(self, which: NDArray[np.int64]) -> None:
        """These begin anew."""
        self._xx[which] = 0.0
        self._xy[which] = 0.0
        self._found[which] = self._prior
