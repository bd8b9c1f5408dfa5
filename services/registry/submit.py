"""Bringing a flow to life: what its topics look like on the cluster, where it goes, and what is written for that."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from services.registry.changes import submitted
from services.registry.errors import RegistryError
from services.registry.snapshot import POLL_S, TIMEOUT_S, read_registry
from services.registry.spread import spread
from services.registry.view import Slot
from services.registry.write import write
from services.tasks import partitions_of
from topics.admin import connect
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph
from topics.messages import Placement

DEFAULT_PARTITIONS = 4
"""What a source topic of which nothing is known is offered to be made with."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What was done: the sink topics that were made, and where each slot is to run, from which epoch on."""

    flow: str
    revision: int
    created: tuple[str, ...]
    placements: dict[Slot, Placement]


def submit(bootstrap: str, text: str, *, hosts: Sequence[str], filename: str = "<flow>") -> Submission:
    """Submits a flow and places it on these hosts. Raises FlowError for the text, RegistryError for the rest."""
    graph = parse_graph(text, filename=filename)
    admin = connect(bootstrap)
    try:
        counts = topic_partitions(admin)
        check_sources(graph, counts)
        created = make_sinks(admin, graph, counts)
        partitions = segment_partitions(graph, counts)
    except KafkaException as fault:
        raise RegistryError(f"the topics could not be read or made: {fault.args[0].str()}") from fault
    placed, topics = spread(graph, partitions, hosts), source_partitions(graph, counts)
    view = read_registry(bootstrap)
    write(bootstrap, submitted(view, graph, text, placed, topics=topics, now_ms=time.time_ns() // 1_000_000))
    view = read_registry(bootstrap)
    name = graph.spec.name
    return Submission(
        name, view.flows[name].revision, created, {slot: view.placements[slot] for slot in sorted(placed)}
    )


def segment_partitions(graph: FlowGraph, counts: Mapping[str, int]) -> dict[str, int]:
    """How many partitions each segment has, where topics have so many."""
    return {segment.id: partitions_of(graph, segment, counts) for segment in graph.segments}


def source_partitions(graph: FlowGraph, counts: Mapping[str, int]) -> dict[str, int]:
    """How many partitions each of the flow's source topics has."""
    return {source.topic: counts[source.topic] for source in graph.spec.sources}


def count_topics(bootstrap: str) -> dict[str, int]:
    """The partition count of every topic on the cluster at these addresses. Raises RegistryError."""
    try:
        return topic_partitions(connect(bootstrap))
    except KafkaException as fault:
        raise RegistryError(f"the topics could not be counted: {fault.args[0].str()}") from fault


def topic_partitions(admin: AdminClient) -> dict[str, int]:
    """The partition count of every topic on the cluster."""
    topics = admin.list_topics(timeout=TIMEOUT_S).topics
    return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}


def check_sources(graph: FlowGraph, counts: Mapping[str, int]) -> None:
    """Raises RegistryError if a source's topic is missing, or is not as the flow says."""
    for source in graph.spec.sources:
        if source.topic not in counts:
            raise RegistryError(
                f"source {source.name}: topic {source.topic!r} is not on the broker",
                f"create it, with {source.partitions or 'as many'} partitions"
                f"{'' if source.partitions else ' as you want tasks'}, then try again; or let it be made: "
                f"stigmergy submit --make-topics {source.partitions or DEFAULT_PARTITIONS}",
            )
        if source.partitions not in (None, counts[source.topic]):
            raise RegistryError(
                f"source {source.name}: the flow says that topic {source.topic} has {source.partitions} partitions, "
                f"the broker says {counts[source.topic]}",
                "correct the flow, or create the topic anew",
            )


def make_sources(admin: AdminClient, graph: FlowGraph, counts: dict[str, int], partitions: int) -> tuple[str, ...]:
    """Source topics that are missing get as many partitions as the flow says, or so many; one that is there stays."""
    return _make(admin, {source.topic: source.partitions or partitions for source in graph.spec.sources}, counts)


def make_sinks(admin: AdminClient, graph: FlowGraph, counts: dict[str, int]) -> tuple[str, ...]:
    """Sink topics that are missing get as many partitions as the widest source; a topic that is there stays."""
    width = max(counts[source.topic] for source in graph.spec.sources)
    return _make(admin, dict.fromkeys((sink.topic for sink in graph.spec.sinks), width), counts)


def _make(admin: AdminClient, wanted: dict[str, int], counts: dict[str, int]) -> tuple[str, ...]:
    """Makes what of these is missing and tells which that was; `counts` has all of them then."""
    missing = sorted(set(wanted) - set(counts))
    new = [NewTopic(topic, num_partitions=wanted[topic]) for topic in missing]
    made = admin.create_topics(new, request_timeout=TIMEOUT_S) if new else {}
    for topic, future in made.items():
        try:
            future.result(timeout=TIMEOUT_S)
            counts[topic] = wanted[topic]
        except TimeoutError as late:
            raise RegistryError(f"topic {topic} could not be made within {TIMEOUT_S:.0f} s") from late
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
            counts[topic] = _partitions_of(admin, topic)
            missing.remove(topic)
    return tuple(missing)


def _partitions_of(admin: AdminClient, topic: str) -> int:
    """Of a topic that somebody made just now: it is there, but not yet in what every broker tells."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while topic not in (counts := topic_partitions(admin)):
        if time.monotonic() > deadline_s:
            raise RegistryError(f"topic {topic} exists, but the broker does not show it", "try again in a moment")
        time.sleep(POLL_S)
    return counts[topic]
