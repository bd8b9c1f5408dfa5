"""Many small least-squares regressions side by side, each forgetting its past slowly."""

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

    def learn(self, features: Array, targets: Array, known: Array) -> None:
        """One observation each, of those that are known (weight 1, else 0)."""
        weighted = features * known[:, None]
        self._xx *= self._forget
        self._xx += weighted[:, :, None] * features[:, None, :]
        self._xy *= self._forget
        self._xy += weighted * targets[:, None]

    def predict(self, features: Array) -> Array:
        """What the targets should be, given the features."""
        width = len(self._prior)
        pull = self._ridge * np.eye(width)
        found = np.linalg.solve(self._xx + pull, (self._xy + self._ridge * self._prior)[:, :, None])[:, :, 0]
        return np.asarray((found * features).sum(axis=1))

    def grow(self, count: int) -> None:
        """Room for more, which know nothing."""
        more = count - len(self._xy)
        self._xx = np.pad(self._xx, ((0, more), (0, 0), (0, 0)))
        self._xy = np.pad(self._xy, ((0, more), (0, 0)))

    def forget(self, which: NDArray[np.int64]) -> None:
        """These begin anew."""
        self._xx[which] = 0.0
        self._xy[which] = 0.0
