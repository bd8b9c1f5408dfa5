"""What it costs a flow that brokers change the leaders of its edges: such a change pauses a partition as a move does.

So both are held to what the flow allows. A change is a decision that names the flow, the partition and the segment that
reads it; pauses are added up from there, as those of moves are from their records.
"""

from collections.abc import Iterable

from services.registry.view import Slot
from topics.messages import Decision

MOVED, REFUSED = "leader", "leader-refused"
"""The kinds of decision that tell how a change ended."""
LEADER_PAUSE_MS = 700.0
"""Of the reader's partition: from 150 up to so many were seen. While Kafka copies, before that, nobody waits."""


def leader_pauses(decisions: Iterable[Decision], *, since_ms: int) -> dict[Slot, float]:
    """How long each partition has paused for changes since then. What was taken back has paused it, too, and what
    Kafka refused at once has not."""
    spent_ms: dict[Slot, float] = {}
    for each in decisions:
        if each.kind in (MOVED, REFUSED) and each.decided_ms >= since_ms and (slot := _paused(each)) is not None:
            spent_ms[slot] = spent_ms.get(slot, 0.0) + LEADER_PAUSE_MS
    return spent_ms


def _paused(told: Decision) -> Slot | None:
    """The partition that paused for it; None if none did, or an earlier version wrote it, which did not tell."""
    segment, partition, took_s = (told.evidence.get(name) for name in ("segment", "partition", "took_s"))
    if isinstance(segment, str) and isinstance(partition, float | int) and isinstance(took_s, float | int) and took_s:
        return segment, int(partition)
    return None
