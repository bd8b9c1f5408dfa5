"""Waiting time at one server from its load (Ants 3.6, eqs 4-9).

Eq 9 with eqs 4-8 put in, and lambda E[S^2] kept as one sum, reads

    Q = (square + w (burst - rate) E[S]^2) / (2 (1 - rho)),   E[S] = rho / rate,

which is the Pollaczek-Khinchine wait plus Whitt's correction for arrivals that are not Poisson. Same value, no
division by a small mean, and one look shows that w = 0 gives M/G/1. Links use that M/G/1 form (decision 0032).
"""

import math

from placement.queueing.load import Load

UTILISATION_CAP = 0.98
"""A server at or beyond this utilisation takes no more work (DESIGN section 5)."""


def merge_weight(load: Load) -> float:
    """Eqs 7 and 8: how much of its streams' own burstiness the merged stream keeps; 1 for a single stream."""
    streams = load.rate_per_ms * load.rate_per_ms / load.rate_squares
    return 1.0 / (1.0 + 4.0 * (1.0 - load.rho) ** 2 * max(0.0, streams - 1.0))


def wait_ms(load: Load, cap: float = UTILISATION_CAP) -> float:
    """Eq 9: mean wait in the queue of a host; infinite where the host is too full."""
    rate, rho, square, burst, rate_squares, _ = load
    if rate <= 0.0:
        return 0.0
    if not rho < cap:  # nor if it is not a number
        return math.inf
    free = 1.0 - rho
    # merge_weight, written out: this is the innermost line of every scout.
    keep = 1.0 / (1.0 + 4.0 * free * free * max(0.0, rate * rate / rate_squares - 1.0))
    service_ms = rho / rate
    return max(0.0, square + keep * (burst - rate) * service_ms * service_ms) / (2.0 * free)


def link_wait_ms(load: Load, cap: float = UTILISATION_CAP) -> float:
    """Mean wait before a link: arrivals from many streams, taken as Poisson."""
    if not load.rho < cap:
        return math.inf
    return load.square / (2.0 * (1.0 - load.rho))


def aggregate_cs2(load: Load) -> float:
    """Eq 5: squared variation of the service times of all streams together."""
    return load.square * load.rate_per_ms / (load.rho * load.rho) - 1.0


def aggregate_ca2(load: Load) -> float:
    """Eq 6: squared variation of the times between arrivals of all streams together."""
    keep = merge_weight(load)
    return (1.0 - keep) + keep * load.burst / load.rate_per_ms


def departure_ca2(rho: float, cs2: float, ca2: float) -> float:
    """Variation of what leaves a server: its service's when busy, its arrivals' when idle (DESIGN section 5)."""
    return rho * rho * cs2 + (1.0 - rho * rho) * ca2


def scaled_ca2(ca2: float, factor: float) -> float:
    """Variation after each message becomes `factor` messages: a random subset below 1, a batch arriving at once
    above 1.

    Both follow from the renewal process: a gap is zero (batch) or a geometric sum of gaps (subset).
    """
    return factor * ca2 + abs(1.0 - factor)
