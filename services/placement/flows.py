"""Flows as the service needs them: compiled, their topics made, their partitions counted. Asked of the cluster once."""

import asyncio

from confluent_kafka import KafkaException

from services.placement.situation import KnownFlow
from services.registry.errors import RegistryError
from services.registry.submit import check_sources, make_sinks, segment_partitions, topic_partitions
from topics.admin import connect
from topics.flow.file import parse_graph
from topics.flow.problems import FlowError
from topics.messages import FlowRevision


class Flows:
    """`known` is all that could be read; `update` asks for what is new, in a thread, and tells what is wrong."""

    def __init__(self, bootstrap: str) -> None:
        self.known: dict[str, KnownFlow] = {}
        self._admin = connect(bootstrap)
        self._trouble: dict[tuple[str, int], str] = {}

    def are_new(self, revisions: dict[str, FlowRevision]) -> bool:
        """Whether there is something to update."""
        return any(not self._has(each) for each in revisions.values())

    async def update(self, revisions: dict[str, FlowRevision]) -> dict[str, str]:
        """Reads what is not yet known. Returns what is wrong, by flow, of what has not been told before."""
        told: dict[str, str] = {}
        for name, revision in sorted(revisions.items()):
            if self._has(revision):
                continue
            try:
                self.known[name] = await asyncio.to_thread(self._read, revision)
            except (FlowError, RegistryError, KafkaException) as error:
                reason = error.what if isinstance(error, RegistryError) else str(error)
                if self._trouble.get((name, revision.revision)) != reason:
                    self._trouble[name, revision.revision] = told[name] = reason
        return told

    def _has(self, revision: FlowRevision) -> bool:
        known = self.known.get(revision.flow)
        return known is not None and known.revision.revision >= revision.revision

    def _read(self, revision: FlowRevision) -> KnownFlow:
        graph = parse_graph(revision.text)
        counts = topic_partitions(self._admin)
        check_sources(graph, counts)
        if revision.state == "submitted":
            make_sinks(self._admin, graph, counts)
        return KnownFlow(revision, graph, segment_partitions(graph, counts))
