"""The same waits for many servers at once: numpy arrays in, arrays out.

A load is seven numbers along the first axis: the six sums of `Load`, and the weighted service time of its streams
(weight times mean service). With that seventh sum, what all streams on a host pay is `weight * wait + service`: one
number a host, and sums still add.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placement.queueing.load import Load, Stream

Array = NDArray[np.float64]

RATE, RHO, SQUARE, BURST, RATE_SQUARES, WEIGHT, SERVICE = range(7)
SUMS = 7

WORK_POWER = np.array([0, 1, 2, 0, 0, 0, 1])
"""How each sum shrinks with capacity: by 1/c for what grows with the service time, by 1/c^2 for its square."""


def stream_sums(stream: Stream) -> tuple[float, ...]:
    """One stream at capacity 1."""
    return *stream.load(1.0), stream.weight * stream.path_work


def background_sums(loads: Sequence[Load]) -> Array:
    """[sum, host] of background loads; nobody counts their service."""
    sums: Array = np.array([[*load, 0.0] for load in loads]).T
    return np.ascontiguousarray(sums)


def scale(capacities: Array) -> Array:
    """[sum, host]: from capacity 1 to each of these; capacity 0 gives infinity."""
    with np.errstate(divide="ignore"):
        inverse = np.where(capacities > 0.0, 1.0 / capacities, math.inf)
    factors: Array = inverse[None, :] ** WORK_POWER[:, None]
    return factors


def waits_ms(sums: Array, cap: float) -> Array:
    """Eq 9 for sums [sum, ...]: the wait in each queue, infinite from `cap` on."""
    rate = sums[RATE]
    busy = rate > 0.0
    full = ~(sums[RHO] < cap)  # also what is not a number
    rho = np.where(full, 0.0, sums[RHO])
    waits: Array = variances(sums, rho) / (2.0 * (1.0 - rho))
    waits[~busy] = 0.0
    waits[full] = math.inf
    return waits


def variances(sums: Array, rho: Array) -> Array:
    """How much the work that comes in a ms varies, for sums [sum, ...] at these utilisations: ms^2 a ms."""
    rate = sums[RATE]
    busy = rate > 0.0
    streams = rate * rate / np.where(busy, sums[RATE_SQUARES], 1.0)
    free = np.maximum(0.0, 1.0 - rho)
    keep = 1.0 / (1.0 + 4.0 * free * free * np.maximum(0.0, streams - 1.0))
    service = rho / np.where(busy, rate, 1.0)
    found: Array = np.maximum(0.0, sums[SQUARE] + keep * (sums[BURST] - rate) * service * service)
    return found
