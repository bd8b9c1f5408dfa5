"""How a queue fills and drains: the mean work that waits after some time, from what waits now.

Work comes and is done by chance, with a drift (load minus capacity) and a variance a millisecond. Where it is done
faster than it comes it can't fall below nothing: a Brownian motion that is reflected at 0, whose mean is known at any
time (Harrison, Brownian Motion and Stochastic Flow Systems, 1985, 1.8). It holds below capacity, where it tends to the
long-run wait of the queueing formula, and beyond, where there is none.
"""

import math

import numpy as np

from placement.fits.arrays import Array

_TINY = 1e-12


def filled_ms(waiting_ms: Array, drift: Array, variance: Array, time_ms: float) -> Array:
    """Mean work after a time. `drift`: work that comes in a ms, less the one that is done; `variance`: ms^2 a ms."""
    free = -drift
    free = np.where(np.abs(free) < 1e-6, 1e-6, free)
    spread = np.sqrt(np.maximum(variance * time_ms, _TINY))
    half = np.maximum(variance, _TINY / time_ms) / (2.0 * free)
    short = (free * time_ms - waiting_ms) / spread
    """How far the work that waits falls short of what could be done."""
    beyond = (free * time_ms + waiting_ms) / spread
    # exp(2 free waiting / variance) * normal(-beyond), whose factors may be too large and too small to be written.
    bell = np.exp(-0.5 * np.square(short)) / math.sqrt(2.0 * math.pi)
    tail = np.where(
        beyond >= 0,
        bell * _mills(np.maximum(beyond, 0.0)),
        np.exp(np.minimum(waiting_ms / np.where(half == 0, _TINY, half), 0.0)) * normal(-beyond),
    )
    idle = (free * time_ms - waiting_ms + half) * normal(short) + spread * bell - half * tail
    return np.asarray(np.maximum(waiting_ms - free * time_ms + np.maximum(idle, 0.0), 0.0))


def normal(x: Array) -> Array:
    """The distribution function of a standard normal number."""
    size = np.abs(x)
    tail = np.exp(-0.5 * np.square(size)) / math.sqrt(2.0 * math.pi) * _mills(size)
    return np.where(x > 0, 1.0 - tail, tail)


def _mills(x: Array) -> Array:
    """Tail over density of a standard normal number, from 0 on (Abramowitz and Stegun 26.2.17)."""
    k = 1.0 / (1.0 + 0.2316419 * x)
    return np.asarray(k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))))
