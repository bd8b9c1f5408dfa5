"""What the registry says: the last valid message of each key. Pure; bytes go in, one record after the other.

Of two messages about the same thing the one with the higher revision or epoch counts, and of equals the later one, as
compaction would have it. Bytes that are no valid message are counted and told, never followed. What is kept by id would
grow for ever: it is forgotten when its topic may forget it, by the broker's times (decision 0276).
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from services.registry.flow_table import FlowTable
from topics import catalogue
from topics.errors import MessageError
from topics.messages import (
    CommittedPlan,
    Decision,
    FlowRevision,
    Handover,
    HostRegistration,
    Message,
    MoveRecord,
    Placement,
    Policy,
    ProposedPlan,
    Request,
    SegmentStatus,
    StandbyStatus,
)
from topics.topic import Kept, Topic

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
        catalogue.PROPOSALS,
        catalogue.POLICIES,
        catalogue.STANDBYS,
        catalogue.HANDOVERS,
        catalogue.MOVES,
        catalogue.REQUESTS,
        catalogue.DECISIONS,
    )
}
CORE = (
    catalogue.FLOWS,
    catalogue.HOSTS,
    catalogue.PLACEMENTS,
    catalogue.SEGMENTS_STATUS,
    catalogue.PLANS,
    catalogue.POLICIES,
    catalogue.STANDBYS,
)
"""What most readers want. The other topics tell what happened rather than what is."""

PLACES: dict[type[Message], tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    FlowRevision: ("flows", lambda flow: flow.flow, lambda flow: flow.revision),
    HostRegistration: ("hosts", lambda host: host.host, lambda host: 0),
    Placement: ("placements", lambda each: (each.segment, each.partition), lambda each: each.epoch),
    SegmentStatus: ("statuses", lambda each: (each.segment, each.partition), lambda each: each.epoch),
    CommittedPlan: ("plans", lambda plan: plan.flow, lambda plan: (plan.term, plan.epoch)),
    ProposedPlan: ("proposals", lambda plan: plan.flow, lambda plan: (plan.term, plan.epoch)),
    Policy: ("policies", lambda policy: (policy.subject, policy.name), lambda policy: 0),
    StandbyStatus: ("standbys", lambda each: (each.segment, each.partition, each.host), lambda each: 0),
    Handover: ("handovers", lambda word: (word.segment, word.partition), lambda word: word.epoch),
    MoveRecord: ("moves", lambda move: move.move, lambda move: 0),
    Request: ("requests", lambda request: request.request, lambda request: 0),
    Decision: ("decisions", lambda decision: decision.decision, lambda decision: 0),
}
"""For each message the table that keeps it, its key there, and its rank: of two with one key the higher one counts."""

KEPT_MS = {
    topic.name: topic.retention.for_ms
    for topic in (catalogue.MOVES, catalogue.REQUESTS, catalogue.DECISIONS)
    if isinstance(topic.retention, Kept)
}
"""For how long the topics keep what has an id of its own."""

OnGarbage = Callable[[str], None]
"""Called with a sentence about a message that can't be followed."""

Keeps = Callable[[Message], bool]
"""Whether a view has a use for a message; what it does not keep it passes over."""


@dataclass(slots=True)
class RegistryView:
    """`flows`, `hosts`, `plans` and `proposals` by name, `placements`, `statuses` and `handovers` by slot.

    `standbys` by (segment, partition, host), `policies` by (subject, name), `moves`, `requests` and `decisions` by id.
    """

    flows: dict[str, FlowRevision] = field(default_factory=dict)
    hosts: dict[str, HostRegistration] = field(default_factory=dict)
    placements: FlowTable[Slot, Placement] = field(default_factory=FlowTable)
    statuses: dict[Slot, SegmentStatus] = field(default_factory=dict)
    plans: dict[str, CommittedPlan] = field(default_factory=dict)
    proposals: dict[str, ProposedPlan] = field(default_factory=dict)
    policies: dict[tuple[str, str], Policy] = field(default_factory=dict)
    standbys: dict[tuple[str, int, str], StandbyStatus] = field(default_factory=dict)
    handovers: dict[Slot, Handover] = field(default_factory=dict)
    moves: FlowTable[str, MoveRecord] = field(default_factory=FlowTable)
    requests: dict[str, Request] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    garbage: int = 0
    on_garbage: OnGarbage = lambda problem: None
    keeps: Keeps = lambda message: True
    _appended_ms: dict[str, OrderedDict[Any, int]] = field(default_factory=dict)
    """Topic -> id -> when it was written last, the oldest first; of the topics in KEPT_MS."""

    def apply(
        self,
        topic_name: str,
        key: bytes | None,
        value: bytes | None,
        *,
        partition: int,
        offset: int,
        appended_ms: int | None = None,
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
        if isinstance(message, Request) and appended_ms is not None:
            message = msgspec.structs.replace(message, asked_ms=appended_ms)  # whatever the asker's clock says
        if not self.take(message):
            return None
        if topic_name in KEPT_MS and appended_ms is not None:
            self._expire(topic_name, message, appended_ms)
        return message

    def asked_since(self, oldest_ms: float) -> list[Request]:
        """The wishes since then, in order. Topics made by an earlier version carry askers' times, in any order."""
        return [each for each in self.requests.values() if each.asked_ms >= oldest_ms]

    def clear(self) -> None:
        """Forget everything."""
        for table_name, _, _ in PLACES.values():
            getattr(self, table_name).clear()
        self._appended_ms.clear()

    def take(self, message: Message) -> bool:
        """Take one message in; whether it was new, and is kept."""
        if not self.keeps(message):
            return False
        table_name, key_of, rank_of = PLACES[type(message)]
        table, key = getattr(self, table_name), key_of(message)
        if key in table and rank_of(message) < rank_of(table[key]):
            return False
        table[key] = message
        return True

    def _expire(self, topic_name: str, message: Message, appended_ms: int) -> None:
        """Forget what is older than this message by more than the topic keeps."""
        table_name, key_of, _ = PLACES[type(message)]
        table, written_ms = getattr(self, table_name), self._appended_ms.setdefault(topic_name, OrderedDict())
        written_ms[key_of(message)] = appended_ms
        written_ms.move_to_end(key_of(message))
        while next(iter(written_ms.values())) < appended_ms - KEPT_MS[topic_name]:
            old, _ = written_ms.popitem(last=False)
            table.pop(old, None)

    def _forget(self, topic_name: str, key: bytes | None) -> None:
        text = (key or b"").decode(errors="replace")
        named: dict[str, dict[str, Any]] = {
            catalogue.FLOWS.name: self.flows,
            catalogue.HOSTS.name: self.hosts,
            catalogue.PLANS.name: self.plans,
            catalogue.PROPOSALS.name: self.proposals,
        }
        slots: dict[str, dict[Slot, Any]] = {
            catalogue.PLACEMENTS.name: self.placements,
            catalogue.SEGMENTS_STATUS.name: self.statuses,
        }
        segment, _, partition = text.rpartition("/")
        if topic_name in named:
            named[topic_name].pop(text, None)
        elif topic_name in slots and partition.isdecimal():
            slots[topic_name].pop((segment, int(partition)), None)

    def flow_policy(self, flow: str, *, otherwise: str) -> str:
        """What a person laid down of a flow's moves, else what its file says."""
        ruled = self.policies.get(("flow", flow))
        return ruled.policy if ruled is not None else otherwise

    def _refuse(self, problem: str) -> None:
        self.garbage += 1
        self.on_garbage(problem)
