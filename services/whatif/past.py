"""Where partitions ran at some time: today's registry, with the moves that have ended since taken back. Pure.

The registry keeps only what is; moves are kept for a week, each with where it came from. What else may have placed a
partition since (a start, a lost host, a person's hand) is not on record that way: such partitions are named, and taken
for where they are today.
"""

from dataclasses import replace

import msgspec

from services.registry.flow_table import FlowTable
from services.registry.view import RegistryView, Slot
from topics.messages import MoveRecord, Placement


def as_of(view: RegistryView, at_ms: int) -> tuple[RegistryView, list[str]]:
    """The registry with placements as of then, and in words what of it is today's."""
    placements: FlowTable[Slot, Placement] = FlowTable()
    unknown = []
    for slot, placement in sorted(view.placements.items()):
        host, is_known = _host_then(view, slot, at_ms)
        placements[slot] = msgspec.structs.replace(placement, host=host)
        if not is_known and placement.host is not None:
            unknown.append(f"{slot[0]}/{slot[1]} is taken for where it runs today: its place then is not on record")
    changed = [
        f"flow {name} is taken as it is today: it has changed since"
        for name, flow in sorted(view.flows.items())
        if flow.changed_ms > at_ms
    ]
    return replace(view, placements=placements), [*changed, *unknown]


def _host_then(view: RegistryView, slot: Slot, at_ms: int) -> tuple[str | None, bool]:
    """The owner then, and whether the moves on record lead back to it without a gap."""
    placement = view.placements[slot]
    since = [move for move in view.moves.values() if _ended_since(move, slot, at_ms)]
    host, is_known = placement.host, bool(since) or placement.placed_ms <= at_ms
    for move in sorted(since, key=lambda each: each.since_ms, reverse=True):
        is_known = is_known and move.target == host
        host = move.origin
    return host, is_known


def _ended_since(move: MoveRecord, slot: Slot, at_ms: int) -> bool:
    return (move.segment, move.partition) == slot and move.phase == "done" and move.since_ms > at_ms
