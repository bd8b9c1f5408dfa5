"""How many bytes ants take on a wire, in a compact binary form: what they count of themselves while they walk.

Host and task names travel as 2-byte numbers (hosts agree on the numbering through the registry), times and loads as
4-byte floats. Messages to the same next hop share one envelope; its header is counted once.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement.ants.scouting import ScoutingAnt

ENVELOPE_BYTES = 40
FIXED = 16
PER_HOP = 8
PER_TASK = 24
PER_WAY = 12
PER_SEGMENT = 8
PER_IDENTITY = 8
PER_TAP = 12
PER_STATION = 2
PER_VIEW = 30


def routing_bytes(hosts: int) -> int:
    """A routing ant with that many hosts on its trail."""
    return FIXED + PER_HOP * hosts


def scout_bytes(ant: "ScoutingAnt") -> int:
    """A scout: its trail, the tasks it places, the ways it carries."""
    order = ant.order
    ways = PER_IDENTITY * len(order.tappable)
    for row in (*ant.ways, (ant.way,) if ant.way is not None else ()):
        for way in row:
            ways += PER_WAY + PER_SEGMENT * len(way.prices) + (PER_TAP if way.tap is not None else 0)
    own = PER_SEGMENT * (len(order.settled) + len(order.running) + len(order.barred))
    own += PER_VIEW * len(order.corrections) + PER_TAP * len(order.stale) + PER_STATION * len(ant.dreamed or ())
    return FIXED + PER_HOP * len(ant.trail.hosts) + PER_TASK * len(order.tasks) + own + ways
