"""What follows from a flow for the tasks of its segments: how many there are, and how often they commit."""

from collections.abc import Mapping

from topics.flow.graph import Edge, FlowGraph, Segment
from topics.flow.specs import Delivery, FlowSpec

COMMIT_INTERVAL_MS_MAX: dict[Delivery, int] = {"exactly_once": 100, "at_least_once": 500}
"""In exactly_once results wait for the commit. Else it only bounds what a crash repeats, and rare ones cost less."""
COMMITS_PER_BOUND = 4
"""A commit interval is at most this part of the flow's latency bound."""


class UnknownTopicError(Exception):
    """A source or sink topic is not on the broker."""


def commit_interval_ms(spec: FlowSpec) -> float:
    """How often a flow's tasks commit: often enough that a bound on latency leaves room for it."""
    bound_ms, most_ms = spec.qos.latency_ms, COMMIT_INTERVAL_MS_MAX[spec.delivery]
    return min(most_ms, bound_ms / COMMITS_PER_BOUND) if bound_ms else most_ms


def partitions_of(graph: FlowGraph, segment: Segment, topic_partitions: Mapping[str, int]) -> int:
    """How many tasks a segment has: as many as its input with the most partitions."""
    topics = {source.name: source.topic for source in graph.spec.sources}
    counts = []
    for edge in segment.inputs:
        if edge.kind == "source":
            counts.append(count_of(topic_partitions, topics[edge.upstream], edge.upstream))
        elif edge.rekey:
            counts.append(edge.rekey.partitions)
        else:
            counts.append(partitions_of(graph, writer_of(graph, edge), topic_partitions))
    return max(counts)


def writer_of(graph: FlowGraph, edge: Edge) -> Segment:
    """The segment that writes an edge."""
    return next(segment for segment in graph.segments if edge.upstream in segment.operators)


def count_of(topic_partitions: Mapping[str, int], topic: str, name: str) -> int:
    """Of the partitions of a source's or sink's topic. Raises UnknownTopicError."""
    if topic not in topic_partitions:
        raise UnknownTopicError(f"{name}: topic {topic!r} is not on the broker; create it, then run the flow again")
    return topic_partitions[topic]
