"""Flows as the service needs them: compiled, their topics made, their partitions counted. Asked of the cluster once.

They are read beside the loop that moves partitions and replaces lost hosts: a flow that can't be read, because a topic
of it is missing, holds nobody up, and is tried again after a while, and then after a longer one.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException

from services.placement.situation import KnownFlow
from services.process.ending import end
from services.registry.errors import RegistryError
from services.registry.submit import check_sources, make_sinks, segment_partitions, topic_partitions
from topics.admin import connect
from topics.flow.file import parse_graph
from topics.flow.problems import FlowError
from topics.messages import FlowRevision

RETRY_S_MIN = 1.0
RETRY_S_MAX = 30.0


@dataclass(slots=True)
class Trouble:
    """Why a revision of a flow could not be read, and when it is tried again."""

    reason: str
    pause_s: float
    due_s: float


class Flows:
    """`known` is all that could be read. `look` begins to read what is new; `on_read` is called when that is done."""

    def __init__(self, bootstrap: str, *, on_read: Callable[[], None]) -> None:
        self.known: dict[str, KnownFlow] = {}
        self._admin = connect(bootstrap)
        self._on_read = on_read
        self._trouble: dict[tuple[str, int], Trouble] = {}
        self._told: dict[str, str] = {}
        self._reading: asyncio.Task[None] | None = None

    def look(self, revisions: Mapping[str, FlowRevision], *, now_s: float) -> dict[str, str]:
        """Begins to read what is not yet known and due. Returns what was wrong with what has been read, told once."""
        if self._reading is not None and self._reading.done():
            self._reading.result()
            self._reading = None
        if self._reading is None:
            due = [revision for _, revision in sorted(revisions.items()) if self._is_due(revision, now_s)]
            if due:
                self._reading = asyncio.create_task(self._read_all(due, now_s))
        told, self._told = self._told, {}
        return told

    async def stop(self) -> None:
        """Nothing more is read."""
        if self._reading is not None:
            await end([self._reading])

    def _is_due(self, revision: FlowRevision, now_s: float) -> bool:
        known = self.known.get(revision.flow)
        if known is not None and known.revision.revision >= revision.revision:
            return False
        trouble = self._trouble.get((revision.flow, revision.revision))
        return trouble is None or now_s >= trouble.due_s

    async def _read_all(self, revisions: Sequence[FlowRevision], now_s: float) -> None:
        for revision in revisions:
            name, key = revision.flow, (revision.flow, revision.revision)
            try:
                self.known[name] = await asyncio.to_thread(self._read, revision)
                self._trouble.pop(key, None)
            except (FlowError, RegistryError, KafkaException) as error:
                reason = error.what if isinstance(error, RegistryError) else str(error)
                before = self._trouble.get(key)
                pause_s = min(2 * before.pause_s, RETRY_S_MAX) if before is not None else RETRY_S_MIN
                self._trouble[key] = Trouble(reason, pause_s, now_s + pause_s)
                if before is None or before.reason != reason:
                    self._told[name] = reason
        self._on_read()

    def _read(self, revision: FlowRevision) -> KnownFlow:
        graph = parse_graph(revision.text)
        if revision.state == "withdrawn":  # its topics may be gone already, and it has nothing to do with them any more
            return KnownFlow(revision, graph, {})
        counts = topic_partitions(self._admin)
        check_sources(graph, counts)
        make_sinks(self._admin, graph, counts)
        return KnownFlow(revision, graph, segment_partitions(graph, counts))
