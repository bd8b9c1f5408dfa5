"""Flows as the service needs them: compiled, their topics made, their partitions counted.

A flow is read once. The partitions of all source topics are counted again from time to time, since a topic may grow.

They are read beside the loop that moves partitions and replaces lost hosts: a flow that can't be read, because a topic
of it is missing, holds nobody up, and is tried again after a while, and then after a longer one.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException

from services.placement.params import RECOUNT_S
from services.placement.situation import KnownFlow
from services.process.ending import end
from services.registry.errors import RegistryError
from services.registry.submit import (
    check_sources,
    make_sinks,
    segment_partitions,
    source_partitions,
    topic_partitions,
)
from topics.admin import connect
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph
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
    """`known` is all that could be read. `look` begins to read what is new, and to count again when it is time.

    `on_read` is called when that is done.
    """

    def __init__(self, bootstrap: str, *, on_read: Callable[[], None]) -> None:
        self.known: dict[str, KnownFlow] = {}
        self._admin = connect(bootstrap)
        self._on_read = on_read
        self._trouble: dict[tuple[str, int], Trouble] = {}
        self._told: dict[str, str] = {}
        self._reading: asyncio.Task[None] | None = None
        self._recount_s: float | None = None

    def look(self, revisions: Mapping[str, FlowRevision], *, now_s: float) -> dict[str, str]:
        """Begins to read what is not yet known and due. Returns what was wrong with what has been read, told once."""
        if self._recount_s is None:
            self._recount_s = now_s + RECOUNT_S
        if self._reading is not None and self._reading.done():
            self._reading.result()
            self._reading = None
        if self._reading is None:
            due = [revision for _, revision in sorted(revisions.items()) if self._is_due(revision, now_s)]
            if due:
                self._reading = asyncio.create_task(self._read_all(due, now_s))
            elif self.known and now_s >= self._recount_s:
                self._recount_s = now_s + RECOUNT_S
                self._reading = asyncio.create_task(self._recount(now_s))
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
            try:
                self.known[revision.flow] = await asyncio.to_thread(self._read, revision)
                self._trouble.pop((revision.flow, revision.revision), None)
            except (FlowError, RegistryError, KafkaException) as error:
                self._stumbled(revision, error, now_s)
        self._on_read()

    def _stumbled(self, revision: FlowRevision, error: Exception, now_s: float) -> None:
        reason, key = error.what if isinstance(error, RegistryError) else str(error), (revision.flow, revision.revision)
        before = self._trouble.get(key)
        pause_s = min(2 * before.pause_s, RETRY_S_MAX) if before is not None else RETRY_S_MIN
        self._trouble[key] = Trouble(reason, pause_s, now_s + pause_s)
        if before is None or before.reason != reason:
            self._told[revision.flow] = reason

    async def _recount(self, now_s: float) -> None:
        """Of flows that run or linger. A topic that is gone, or was made anew with fewer partitions, changes nothing:
        what runs goes by what it had."""
        try:
            counts = await asyncio.to_thread(topic_partitions, self._admin)
        except KafkaException:
            return  # no broker answers; the next count is not far
        for name, known in self.known.items():
            wanted = [source.topic for source in known.graph.spec.sources]
            topics = {each: max(known.topics.get(each, 0), counts.get(each, 0)) for each in wanted}
            if topics == known.topics or not all(topics.values()):
                continue
            try:
                check_sources(known.graph, topics)
                self.known[name] = _counted(known.revision, known.graph, topics)
            except RegistryError as error:
                if known.revision.state == "submitted":
                    self._stumbled(known.revision, error, now_s)
        self._on_read()

    def _read(self, revision: FlowRevision) -> KnownFlow:
        graph = parse_graph(revision.text)
        if revision.state == "withdrawn":  # its topics may be gone already, and it has nothing to do with them any more
            return KnownFlow(revision, graph, {})
        counts = topic_partitions(self._admin)
        check_sources(graph, counts)
        make_sinks(self._admin, graph, counts)
        return _counted(revision, graph, counts)


def _counted(revision: FlowRevision, graph: FlowGraph, counts: Mapping[str, int]) -> KnownFlow:
    return KnownFlow(revision, graph, segment_partitions(graph, counts), source_partitions(graph, counts))
