"""Source topics that have got more partitions: the new ones are read as soon as they have been counted.

All that runs of the flow hears of the new counts in the transaction that places the new partitions. So who reads an
edge waits for the new writers from the moment in which there are any, and never for some that nobody was given.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from services.placement.situation import KnownFlow, Situation
from services.registry.changes import Entry
from services.registry.decisions import decision
from services.registry.view import Slot
from topics import catalogue
from topics.messages import Placement

Placed = Mapping[Slot, Placement]


def grow(situation: Situation, *, by: str) -> Iterator[Entry]:
    """What to write now. It is no move, so it needs no plan and no approval: who runs a segment gets more of it."""
    for _, known in sorted(situation.flows.items()):
        placed = _running(known, situation)
        if any(_knows_less(each, known) for each in placed.values()) and _are_servers_counted(known, placed, situation):
            yield from _grown(known, placed, situation, by=by)


def _running(known: KnownFlow, situation: Situation) -> Placed:
    """What runs of this revision, or of a flow that was withdrawn for those who read it."""
    is_withdrawn = known.revision.state == "withdrawn"
    return {
        slot: each
        for slot, each in situation.placed(known.revision.flow).items()
        if is_withdrawn or each.revision == known.revision.revision
    }


def _knows_less(placement: Placement, known: KnownFlow) -> bool:
    return any(placement.source_partitions.get(topic, 0) < count for topic, count in known.topics.items())


def _are_servers_counted(known: KnownFlow, placed: Placed, situation: Situation) -> bool:
    """Whether the flows whose edges it reads have got the new partitions as well, or get them at this look."""
    for name in {edge.tap.server for each in placed.values() for edge in each.reads}:
        server = situation.flows.get(name)
        if server is None or not server.topics:
            return False
        if any(server.topics.get(topic, count) < count for topic, count in known.topics.items()):
            return False
    return True


def _grown(known: KnownFlow, placed: Placed, situation: Situation, *, by: str) -> Iterator[Entry]:
    started = _started(known, placed, situation)
    if started is None:
        return  # nobody could run them; tried again at every look
    why = _why(known, placed)
    told = [msgspec.structs.replace(each, source_partitions=dict(known.topics)) for each in placed.values()]
    for after in [*told, *started]:
        situation.view.take(after)
        yield catalogue.PLACEMENTS, after
    if started or why:
        what = f"{len(started)} partitions start" if started else "what reads them is planned anew"
        why = why or "not all partitions of its topics were read"
        yield decision("grown", what, why, by=by, now_ms=situation.now_ms, flow=known.revision.flow)


def _started(known: KnownFlow, placed: Placed, situation: Situation) -> list[Placement] | None:
    """The new partitions of what runs, each beside the others of its segment; None if no host is open."""
    started = []
    for segment, number in known.slots():
        siblings = [each for slot, each in placed.items() if slot[0] == segment]
        if not siblings or (segment, number) in placed:
            continue
        common = Counter(each.host for each in siblings if each.host is not None).most_common()
        host = situation.best_host(prefer=tuple(name for name, _ in common))
        if host is None:
            return None
        before = situation.view.placements.get((segment, number))
        started.append(
            msgspec.structs.replace(
                siblings[0],
                partition=number,
                epoch=before.epoch + 1 if before is not None else 1,
                host=host,
                placed_ms=situation.now_ms,
                standbys=(),
                origin=None,
                source_partitions=dict(known.topics),
            )
        )
    return started


def _why(known: KnownFlow, placed: Placed) -> str:
    """In words; nothing if all that is new are the counts, which an earlier version did not write."""
    grown = []
    for topic, count in sorted(known.topics.items()):
        before = max(each.source_partitions.get(topic, 0) for each in placed.values())
        if 0 < before < count:
            grown.append(f"topic {topic} has {count} partitions now: {count - before} more are read")
    return "; ".join(grown)
