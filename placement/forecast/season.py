"""The season of a series: the lag at which it looks most like itself again, found by auto-correlation."""

import numpy as np
from numpy.typing import NDArray

from placement.forecast.history import Array


def seasons(past: Array, *, shortest: int, correlation: float) -> NDArray[np.int64]:
    """For each column its season in steps, 0 for none. A season must fit in twice and a half."""
    steps, count = past.shape
    longest = int(steps / 2.5)
    if longest <= shortest + 1:
        return np.zeros(count, dtype=np.int64)
    # Bursts would drown a season; a trend would look like one.
    level = np.log1p(np.maximum(past, 0.0) / np.maximum(past.mean(axis=0), 1e-12))
    ramp = np.linspace(-1.0, 1.0, steps)[:, None]
    level -= level.mean(axis=0)
    level -= ramp * (ramp * level).sum(axis=0) / (ramp * ramp).sum()
    size = 1 << (2 * steps - 1).bit_length()
    power = np.abs(np.fft.rfft(level, size, axis=0)) ** 2
    raw = np.fft.irfft(power, size, axis=0)[: longest + 1]
    # Unbiased: a long lag has fewer pairs, which must not make it look weaker.
    pairs = steps - np.arange(longest + 1)
    alike = raw / pairs[:, None] / np.maximum(raw[0] / steps, 1e-12)
    inner = alike[shortest:-1]
    is_peak = (inner >= alike[shortest - 1 : -2]) & (inner >= alike[shortest + 1 :])
    # What decays slowly from lag 1 on has peaks everywhere; a season rises again from a valley before it.
    valley = np.minimum.accumulate(alike, axis=0)[shortest:-1]
    score = np.where(is_peak & (inner - valley > correlation / 2), inner, -1.0)
    best = score.argmax(axis=0)
    found = best + shortest
    # Of nearly equal peaks the first is the season, the others are its multiples.
    top = score.max(axis=0)
    first = (score >= top - 0.05).argmax(axis=0) + shortest
    return np.where(top > correlation, np.minimum(found, first), 0)
