"""How many bytes each control message takes on a wire, in a compact binary form.

Host and task names travel as 2-byte numbers (hosts agree on the numbering through the registry), times and loads as
4-byte floats. Messages to the same next hop share one envelope; its header is counted once.
"""

from typing import TYPE_CHECKING, Any

from placement.ants.surroundings import Digest
from placement.scent import Announce, Scent

if TYPE_CHECKING:
    from placement.ants.scouting import ScoutingAnt

ENVELOPE_BYTES = 40
_FIXED = 16
_PER_HOP = 8
_PER_TASK = 24
_PER_WAY = 12
_PER_SEGMENT = 8
_PER_IDENTITY = 8
_PER_TAP = 12
_PER_STATION = 2
_PER_VIEW = 30


def routing_bytes(hosts: int) -> int:
    """A routing ant with that many hosts on its trail."""
    return _FIXED + _PER_HOP * hosts


def scout_bytes(ant: "ScoutingAnt") -> int:
    """A scout: its trail, the tasks it places, the ways it carries."""
    order = ant.order
    carried = [way for row in ant.ways for way in row] + ([ant.way] if ant.way is not None else [])
    ways = sum(_PER_WAY + _PER_SEGMENT * len(way.prices) for way in carried)
    if order.tappable:
        ways += _PER_IDENTITY * len(order.tappable) + sum(_PER_TAP for way in carried if way.tap is not None)
    own = _PER_SEGMENT * (len(order.settled) + len(order.running) + len(order.barred)) + _PER_VIEW * len(
        order.corrections
    )
    own += _PER_STATION * len(ant.dreamed or ())
    return _FIXED + _PER_HOP * len(ant.trail.hosts) + _PER_TASK * len(order.tasks) + own + ways


def size_bytes(message: Any) -> int:
    """Bytes of any control message, without its envelope."""
    from placement.ants.enforcement import EnforcementAnt
    from placement.ants.measuring import MeasuringAnt
    from placement.ants.routing import RoutingAnt
    from placement.ants.scouting import ScoutingAnt

    match message:
        case RoutingAnt():
            size = routing_bytes(len(message.trail.hosts))
        case Scent() | Announce():
            size = _FIXED
        case Digest():
            size = _FIXED + 28 + 6 * len(message.view.links) + (_PER_IDENTITY + _PER_TAP) * len(message.serves)
        case ScoutingAnt():
            size = scout_bytes(message)
        case EnforcementAnt():
            stops = message.stops
            size = _FIXED + sum(_PER_SEGMENT + _PER_TASK * stop.mask.bit_count() for stop in stops)
            size += sum(_PER_TAP * len(stop.taps) for stop in stops)
        case MeasuringAnt():
            size = _FIXED + _PER_SEGMENT * len(message.stops)
        case _:
            size = _FIXED + _PER_SEGMENT * 4
    return size
