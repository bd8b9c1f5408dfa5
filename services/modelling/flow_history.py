"""Which flows there were at a time, as far as the registry still has it.

The topic of flows is compacted: the newest revision of a flow stays, earlier ones may. Where the one of a time is gone,
the next that is kept stands in for it, and that is told.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import TopicPartition

from services.modelling.flow_facts import FlowFacts, facts_of
from services.registry.snapshot import TIMEOUT_S, read_to_end, reader
from topics.catalogue import FLOWS
from topics.errors import MessageError
from topics.messages import FlowRevision


@dataclass(frozen=True, slots=True)
class Assumed:
    """Before `until_ms` another revision of the flow was in force, which is not kept: this one was taken for it."""

    flow: str
    revision: int
    until_ms: int


class FlowHistory:
    """All revisions that are kept."""

    def __init__(self, revisions: Iterable[FlowRevision]) -> None:
        self._flows: dict[str, list[FlowRevision]] = {}
        for each in sorted(revisions, key=lambda each: (each.flow, each.revision)):
            self._flows.setdefault(each.flow, []).append(each)
        self._known: tuple[tuple[FlowRevision, ...], dict[str, FlowFacts]] | None = None

    def facts_at(self, at_ms: int) -> dict[str, FlowFacts]:
        """What models need to know of the flows of that time; the same object as long as nothing changes."""
        there = tuple(each for kept in self._flows.values() if (each := _in_force(kept, at_ms)) is not None)
        if self._known is None or self._known[0] != there:
            self._known = (there, facts_of(there))
        return self._known[1]

    def assumed(self, since_ms: int, until_ms: int) -> list[Assumed]:
        """What is not known of that time."""
        found = []
        for kept in self._flows.values():
            for before, after in zip([None, *kept], kept, strict=False):
                is_next = after.revision == (1 if before is None else before.revision + 1)
                began_ms = before.changed_ms if before is not None else 0
                if not is_next and began_ms < until_ms and after.changed_ms > since_ms:
                    found.append(Assumed(after.flow, after.revision, after.changed_ms))
        return found


def _in_force(kept: list[FlowRevision], at_ms: int) -> FlowRevision | None:
    """The revision of that time; if it is not kept, the next; None: the flow was not there yet."""
    before: FlowRevision | None = None
    for each in kept:
        if each.changed_ms > at_ms:
            is_next = each.revision == (1 if before is None else before.revision + 1)
            return before if is_next else each
        before = each
    return before


def read_flow_history(bootstrap: str) -> FlowHistory:
    """From the registry."""
    found = []
    with reader(bootstrap) as consumer:
        known = consumer.list_topics(timeout=TIMEOUT_S).topics
        partitions = [TopicPartition(FLOWS.name, 0)] if FLOWS.name in known else []
        for record in read_to_end(consumer, partitions):
            value, place = record.value(), (record.partition() or 0, record.offset() or 0)
            if value is None:
                continue
            try:
                found.append(FLOWS.codec.decode(value, topic=FLOWS.name, partition=place[0], offset=place[1]))
            except MessageError:
                continue  # of a version that we can't read: it is missing, and told as that
    return FlowHistory(found)
