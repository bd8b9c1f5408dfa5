"""How fast records arrive at operators, how unevenly, and what they become (Ants 3.6: lambda, ca2, batch size)."""

from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array, Flags, Moments, divide

GAPS_MIN = 20
"""The variation of fewer gaps is chance."""
VARIATION_MAX = 100.0
"""A clock that jumped, or one stalled batch, must not make a stream look unpredictable for ever."""
_ALIKE_MAX = 0.95
"""Seconds more alike than this would leave no independent ones."""


@dataclass(frozen=True, slots=True)
class Rates:
    """One value a row; NaN: unknown."""

    per_s: Array
    error_per_s: Array
    """Standard error of the rate: what another window as long would differ by."""
    ca2: Array
    selectivity: Array
    seconds: Array
    """How many were measured."""


def fit_rates(came: Array, done: Array, outputs: Array, gaps: Moments, seen: Flags) -> Rates:
    """Rates of a window: of what came. Outputs are of what was done of it.

    `gaps`: times between arrivals, in any unit: only their variation counts.
    """
    seconds = seen.sum(axis=-1).astype(float)
    counts = np.where(seen, came, 0.0)
    total = counts.sum(axis=-1)
    per_s = divide(total, seconds)
    return Rates(
        per_s,
        mean_error(counts, seen),
        _variation(gaps.over_window()),
        divide(*(np.where(seen, each, 0.0).sum(axis=-1) for each in (outputs, done))),
        seconds,
    )


def _variation(gaps: Moments) -> Array:
    found = np.minimum(divide(gaps.total_sq * gaps.count, gaps.total**2) - 1.0, VARIATION_MAX)
    return np.where(gaps.count >= GAPS_MIN, np.maximum(found, 0.0), np.nan)


def mean_error(values: Array, seen: Flags) -> Array:
    """Standard error of the mean of the seconds that were seen: neighbours are alike, so that fewer are independent."""
    seconds = seen.sum(axis=-1).astype(float)
    mean = divide(np.where(seen, values, 0.0).sum(axis=-1), seconds)
    off = np.where(seen, values - np.nan_to_num(mean)[..., None], 0.0)
    variance = divide((off**2).sum(axis=-1), seconds - 1.0)
    alike = divide((off[..., 1:] * off[..., :-1]).sum(axis=-1), (off**2).sum(axis=-1))
    alike = np.clip(np.nan_to_num(alike), 0.0, _ALIKE_MAX)
    return np.sqrt(divide(variance * (1 + alike) / (1 - alike), seconds))
