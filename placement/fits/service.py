"""How long records are served, and how unevenly (Ants 3.6)."""

from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array, Moments, divide
from placement.fits.rates import VARIATION_MAX

SERVED_MIN = 20
"""The mean of fewer records is chance."""


@dataclass(frozen=True, slots=True)
class Service:
    """One value a row, in the unit of the samples; NaN: unknown."""

    mean: Array
    error: Array
    """Standard error of the mean."""
    cs2: Array
    served: Array


def fit_service(times: Moments) -> Service:
    """Mean and squared coefficient of variation of service times over a window."""
    window = times.over_window()
    enough = window.count >= SERVED_MIN
    mean = np.where(enough, window.mean, np.nan)
    variance = window.variance
    cs2 = np.minimum(divide(variance, mean**2), VARIATION_MAX)
    return Service(mean, np.where(enough, np.sqrt(divide(variance, window.count)), np.nan), cs2, window.count)
