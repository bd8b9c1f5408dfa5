"""Which upstream operator tells best what comes (Synergy 3.3.3), and how much later.

Two series that both grow look alike without having to do with one another, so their differences are compared, and a
correlation below what chance gives is none (DESIGN section 6).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.forecast.history import Array

WINDOW = 120
LAGS = 10
"""Steps that an upstream operator may be ahead."""
CHANCE = 0.35

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Guides:
    """For each series its guide: the upstream series (-1: none), how many steps ahead it is, and how changes scale."""

    upstream: Indices
    lag: Indices
    slope: Array
    strength: Array
    """Correlation of the changes."""
    strength_error: Array
    """Its standard error; of the best of several candidates the strength itself is a little too good."""

    @classmethod
    def none(cls, count: int) -> "Guides":
        nothing = np.full(count, np.nan)
        return cls(np.full(count, -1), np.ones(count, dtype=np.int64), np.zeros(count), nothing, nothing.copy())


def find_guides(past: Array, pairs: Indices) -> Guides:
    """The best guide of each column of `past` among the given pairs (downstream, upstream)."""
    count = past.shape[1]
    found = Guides.none(count)
    changes = np.diff(past[-WINDOW:], axis=0)
    if len(pairs) == 0 or len(changes) < WINDOW // 2:
        return found
    changes = changes - changes.mean(axis=0)
    down, up = changes[:, pairs[:, 0]], changes[:, pairs[:, 1]]
    strength = np.zeros((LAGS, len(pairs)))
    slope = np.zeros((LAGS, len(pairs)))
    for lag in range(1, LAGS + 1):
        later, earlier = down[lag:], up[:-lag]
        product = np.einsum("tp,tp->p", later, earlier)
        up_square = np.einsum("tp,tp->p", earlier, earlier)
        down_square = np.einsum("tp,tp->p", later, later)
        with np.errstate(invalid="ignore", divide="ignore"):
            strength[lag - 1] = np.nan_to_num(product / np.sqrt(up_square * down_square))
            slope[lag - 1] = np.nan_to_num(product / up_square)
    lag = strength.argmax(axis=0)
    every = np.arange(len(pairs))
    best = strength[lag, every]
    # Weakest first, so that the strongest guide of a series is written last and stays.
    order = best.argsort(kind="stable")
    order = order[best[order] > CHANCE]
    series = pairs[order, 0]
    found.upstream[series] = pairs[order, 1]
    found.lag[series] = lag[order] + 1
    found.slope[series] = slope[lag[order], order]
    found.strength[series] = best[order]
    found.strength_error[series] = (1 - best[order] ** 2) / np.sqrt(len(changes) - lag[order] - 3)
    return found
