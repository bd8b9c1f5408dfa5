"""Replays of traces: so many seconds of one, as multiples of its mean. Pure, with chance as an argument."""

from random import Random

import numpy as np

from placement.fits.arrays import Array
from services.lab.series import Series

STEP_S = 10
"""A minute, or five, of a trace takes this long, with straight lines between them."""
REAL_TIME = " 1 s"
"""How the names of traces end that are not stretched."""
LEAST, MOST = 0.1, 10.0
"""Multiples of the mean that are played."""


def replayed(name: str, values: Series, rng: Random, *, seconds: int) -> Array:
    """From a moment of the trace that is drawn by chance: one value a second."""
    is_stretched = not name.endswith(REAL_TIME)
    steps = seconds // STEP_S + 2 if is_stretched else seconds
    start = rng.randrange(max(1, len(values) - steps))
    chosen = np.resize(values[start : start + steps], steps)
    if is_stretched:
        chosen = np.interp(np.arange(seconds) / STEP_S, np.arange(steps), chosen)
    return np.asarray(np.clip(chosen / (chosen.mean() or 1.0), LEAST, MOST))
