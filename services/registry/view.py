"""What the registry says: the last valid message of each key. Pure; bytes go in, one record after the other.

Of two messages about the same thing the one with the higher revision or epoch counts, and of equals the later one, as
compaction would have it. Bytes that are no valid message are counted and told, never followed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from topics import catalogue
from topics.errors import MessageError
from topics.messages import CommittedPlan, FlowRevision, HostRegistration, Message, Placement, SegmentStatus
from topics.topic import Topic

Slot = tuple[str, int]
"""One partition of one segment."""

TOPICS: dict[str, Topic[Any]] = {
    topic.name: topic
    for topic in (
        catalogue.FLOWS,
        catalogue.HOSTS,
        catalogue.PLACEMENTS,
        catalogue.SEGMENTS_STATUS,
        catalogue.PLANS,
    )
}

OnGarbage = Callable[[str], None]
"""Called with a sentence about a message that can't be followed."""


@dataclass(slots=True)
class RegistryView:
    """`flows` and `hosts` by name, `placements` and `statuses` by slot, `plans` by flow."""

    flows: dict[str, FlowRevision] = field(default_factory=dict)
    hosts: dict[str, HostRegistration] = field(default_factory=dict)
    placements: dict[Slot, Placement] = field(default_factory=dict)
    statuses: dict[Slot, SegmentStatus] = field(default_factory=dict)
    plans: dict[str, CommittedPlan] = field(default_factory=dict)
    garbage: int = 0
    on_garbage: OnGarbage = lambda problem: None

    def apply(
        self, topic_name: str, key: bytes | None, value: bytes | None, *, partition: int, offset: int
    ) -> Message | None:
        """Take one record in. Returns its message; None if it was a deletion, garbage, or older than what is known."""
        if value is None:
            self._forget(topic_name, key)
            return None
        topic = TOPICS[topic_name]
        try:
            message = topic.codec.decode(value, topic=topic_name, partition=partition, offset=offset)
        except MessageError as error:
            self._refuse(str(error))
            return None
        if topic.key_of(message) != key:
            self._refuse(f"{topic_name}[{partition}] at offset {offset}: the key {key!r} is not that of its message")
            return None
        return message if self._take(message) else None

    def _take(self, message: Message) -> bool:
        match message:
            case FlowRevision():
                known = self.flows.get(message.flow)
                if known is not None and message.revision < known.revision:
                    return False
                self.flows[message.flow] = message
            case HostRegistration():
                self.hosts[message.host] = message
            case Placement():
                slot = (message.segment, message.partition)
                if slot in self.placements and message.epoch < self.placements[slot].epoch:
                    return False
                self.placements[slot] = message
            case SegmentStatus():
                slot = (message.segment, message.partition)
                if slot in self.statuses and message.epoch < self.statuses[slot].epoch:
                    return False
                self.statuses[slot] = message
            case CommittedPlan():
                plan = self.plans.get(message.flow)
                if plan is not None and (message.term, message.epoch) < (plan.term, plan.epoch):
                    return False
                self.plans[message.flow] = message
        return True

    def _forget(self, topic_name: str, key: bytes | None) -> None:
        text = (key or b"").decode(errors="replace")
        named: dict[str, dict[str, Any]] = {
            catalogue.FLOWS.name: self.flows,
            catalogue.HOSTS.name: self.hosts,
            catalogue.PLANS.name: self.plans,
        }
        if topic_name in named:
            named[topic_name].pop(text, None)
            return
        segment, _, partition = text.rpartition("/")
        if partition.isdecimal():
            slots: dict[Slot, Any] = self.placements if topic_name == catalogue.PLACEMENTS.name else self.statuses
            slots.pop((segment, int(partition)), None)

    def _refuse(self, problem: str) -> None:
        self.garbage += 1
        self.on_garbage(problem)
