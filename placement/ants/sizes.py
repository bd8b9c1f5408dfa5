"""How many bytes ants take on a wire, in a compact binary form: what they count of themselves while they walk.

Host and task names travel as 2-byte numbers (hosts agree on the numbering through the registry), times and loads as
4-byte floats. Messages to the same next hop share one envelope; its header is counted once.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placement.ants.order import Order
    from placement.ants.programme import Way, Ways
    from placement.ants.scouting import ScoutingAnt
    from placement.ants.trail import Trail

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
    return carried_bytes(ant.order, ant.trail, ant.ways, ant.way, ant.dreamed)


def carried_bytes(
    order: "Order", trail: "Trail", ways: "Ways", way: "Way | None", dreamed: tuple[str, ...] | None
) -> int:
    """A scout that carries these."""
    rows = ways if way is None else (*ways, (way,))
    size = FIXED + PER_HOP * len(trail.hosts) + PER_TASK * len(order.tasks) + PER_IDENTITY * len(order.tappable)
    for row in rows:
        for each in row:
            size += PER_WAY + PER_SEGMENT * len(each.prices) + (PER_TAP if each.tap is not None else 0)
    size += PER_SEGMENT * (len(order.settled) + len(order.running) + len(order.barred))
    return size + PER_VIEW * len(order.corrections) + PER_TAP * len(order.stale) + PER_STATION * len(dreamed or ())
