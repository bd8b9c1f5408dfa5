"""Bytes of every control message, in the form of placement.ants.sizes: what the simulator counts as traffic."""

from collections.abc import Callable
from typing import Any

from placement.ants.enforcement import EnforcementAnt
from placement.ants.measuring import MeasuringAnt
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt
from placement.ants.sizes import (
    FIXED,
    PER_IDENTITY,
    PER_SEGMENT,
    PER_TAP,
    PER_TASK,
    PER_VIEW,
    routing_bytes,
    scout_bytes,
)
from placement.ants.surroundings import Digest
from placement.scent import Announce, Scent

_PER_LINK = 6


def size_bytes(message: Any) -> int:
    """Bytes of any control message, without its envelope."""
    size = _SIZES.get(type(message))
    return FIXED + PER_SEGMENT * 4 if size is None else size(message)


def _enforcement_bytes(ant: EnforcementAnt) -> int:
    size = FIXED + sum(PER_SEGMENT + PER_TASK * stop.mask.bit_count() for stop in ant.stops)
    taps = sum(len(stop.taps) for stop in ant.stops) + (ant.stale is not None)
    edges = sum(len(stop.legs) for stop in ant.stops) + len(ant.edges_ms)
    return size + PER_TAP * taps + PER_SEGMENT * edges + (PER_VIEW if ant.seen is not None else 0)


def _digest_bytes(digest: Digest) -> int:
    view = PER_VIEW + _PER_LINK * len(digest.view.links)
    return FIXED + view + (PER_IDENTITY + PER_TAP) * len(digest.serves)


_SIZES: dict[type[Any], Callable[[Any], int]] = {
    RoutingAnt: lambda ant: routing_bytes(len(ant.trail.hosts)),
    Scent: lambda _: FIXED,
    Announce: lambda _: FIXED,
    Digest: _digest_bytes,
    ScoutingAnt: scout_bytes,
    EnforcementAnt: _enforcement_bytes,
    MeasuringAnt: lambda ant: FIXED + PER_SEGMENT * len(ant.stops),
}
