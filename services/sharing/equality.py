"""When two segments write the same records into the same partitions, and what a reader of theirs counts on. Pure.

Equal operators are not enough. The whole way from the sources must be cut, keyed and partitioned alike; and a flow
decodes only those fields of its sources that it reads somewhere, so the one that serves must decode all that the one
that taps reads. It must also commit as often as the other's bound on latency asks for.
"""

import hashlib
import json
from collections.abc import Collection, Iterator

from services.operators.pruning import Fields, fields_read
from services.tasks import commit_interval_ms
from topics.flow.graph import Edge, FlowGraph, Segment
from topics.messages import SegmentTap, TappedEdge
from topics.names import edge_topic

INNER = ("rekey", "handover")
"""Edges that go through a topic of Stigmergy's own."""


class CannotTapError(Exception):
    """One segment can't be served by another; its words say why."""


def segment_of(graph: FlowGraph, segment_id: str) -> Segment | None:
    """The segment of this id, if the flow has it."""
    return next((segment for segment in graph.segments if segment.id == segment_id), None)


def writer(graph: FlowGraph, edge: Edge) -> Segment:
    """The segment that writes an edge topic."""
    return next(segment for segment in graph.segments if edge.upstream in segment.operators)


def feeding(graph: FlowGraph, segment: Segment) -> frozenset[str]:
    """A segment and all before it."""
    found = {segment.id}
    for edge in segment.inputs:
        if edge.kind in INNER:
            found |= feeding(graph, writer(graph, edge))
    return frozenset(found)


def topic_of(graph: FlowGraph, edge: Edge) -> str:
    """The topic of an inner edge."""
    return edge_topic(graph.spec.name, edge.stream, edge.target, edge.port_number)


def shape(graph: FlowGraph, segment: Segment) -> str:
    """Equal for segments that compute the same, from the same sources, cut, keyed and partitioned alike."""
    inputs = [[graph.operator(edge.target).identity, *_fed_by(graph, edge)] for edge in segment.inputs]
    operators = sorted(graph.operator(name).identity for name in segment.operators)
    return _digest([graph.spec.delivery, segment.partitions, operators, sorted(inputs, key=json.dumps)])


def promise(graph: FlowGraph, segment: Segment) -> str:
    """Changes with anything that readers of this segment would notice, unless its id changes too."""
    read = _fields_read(graph)
    sources = sorted({edge.upstream for edge in segment.inputs if edge.kind == "source"})
    fields = [[name, sorted(known) if (known := read[name]) is not None else None] for name in sources]
    outputs = [
        [topic_of(graph, edge) if edge.kind in INNER else edge.kind, *_lands(graph, edge)] for edge in segment.outputs
    ]
    return _digest([segment.id, graph.spec.delivery, _held_ms(graph), fields, outputs])


def tapped_edges(graph: FlowGraph, server: FlowGraph, tap: SegmentTap) -> tuple[TappedEdge, ...]:
    """For each edge that the tapped segment would write, the topic to read instead. Raises CannotTapError."""
    mine, theirs = segment_of(graph, tap.segment), segment_of(server, tap.server_segment)
    if mine is None or theirs is None:
        flow, missing = (graph, tap.segment) if mine is None else (server, tap.server_segment)
        raise CannotTapError(f"flow {flow.spec.name} has no segment {missing}")
    _check_sinks(graph, {mine.id})
    _check_sinks(server, feeding(server, theirs))  # when its flow is withdrawn all of this goes on, and no sink may
    if shape(graph, mine) != shape(server, theirs):
        raise CannotTapError(f"{mine.id} and {theirs.id} do not write the same")
    if _held_ms(server) > _held_ms(graph):
        raise CannotTapError(
            f"{server.spec.name} commits every {_held_ms(server):g} ms, too rarely for {graph.spec.name}"
        )
    _check_fields(graph, mine, server, theirs)
    return tuple(_matched(graph, mine, server, theirs, tap))


def _check_sinks(graph: FlowGraph, segments: Collection[str]) -> None:
    for segment in graph.segments:
        if segment.id in segments and any(edge.kind == "sink" for edge in segment.outputs):
            raise CannotTapError(f"{segment.id} writes to a sink, which belongs to {graph.spec.name} alone")


def _held_ms(graph: FlowGraph) -> float:
    """How long records may lie on an edge before they may be read; at least once nobody waits for a commit."""
    return commit_interval_ms(graph.spec) if graph.spec.delivery == "exactly_once" else 0.0


def _fed_by(graph: FlowGraph, edge: Edge) -> list[object]:
    if edge.kind == "source":
        return [graph.stream(edge.stream).identity]
    return [shape(graph, writer(graph, edge)), *_lands(graph, edge)]


def _lands(graph: FlowGraph, edge: Edge) -> list[object]:
    """What an edge carries, and into which partitions it puts it."""
    by = [list(edge.rekey.by), edge.rekey.partitions] if edge.rekey is not None else [None, None]
    return [graph.stream(edge.stream).identity, *by]


def _matched(
    graph: FlowGraph, mine: Segment, server: FlowGraph, theirs: Segment, tap: SegmentTap
) -> Iterator[TappedEdge]:
    """A segment tells its inputs apart by their topics, so no reader gets the same topic for two of them."""
    taken: set[tuple[str, str]] = set()
    for edge in mine.outputs:
        reader = next(segment.id for segment in graph.segments if edge.target in segment.operators)
        equal = [topic_of(server, each) for each in theirs.outputs if _lands(server, each) == _lands(graph, edge)]
        topic = next((each for each in equal if (reader, each) not in taken), None)
        if topic is None:
            raise CannotTapError(f"{theirs.id} has no edge like {topic_of(graph, edge)}")
        taken.add((reader, topic))
        yield TappedEdge(topic_of(graph, edge), topic, tap)


def _check_fields(graph: FlowGraph, mine: Segment, server: FlowGraph, theirs: Segment) -> None:
    wanted, decoded = _fields_by_source(graph, mine), _fields_by_source(server, theirs)
    for source, fields in wanted.items():
        for known in decoded[source]:
            for each in fields:
                if known is not None and (each is None or not each <= known):
                    lacking = "all fields" if each is None else ", ".join(sorted(each - known))
                    raise CannotTapError(f"{theirs.id} does not pass on {lacking}, which {graph.spec.name} reads")


def _fields_by_source(graph: FlowGraph, segment: Segment) -> dict[str, list[Fields]]:
    """By the identity of each source that a segment's records come from."""
    read, found = _fields_read(graph), dict[str, list[Fields]]()
    for each in graph.segments:
        if each.id in feeding(graph, segment):
            for edge in each.inputs:
                if edge.kind == "source":
                    found.setdefault(graph.stream(edge.stream).identity, []).append(read[edge.upstream])
    return found


def _fields_read(graph: FlowGraph) -> dict[str, Fields]:
    return fields_read(graph.spec.sources, [(each.name, each.spec) for each in graph.operators], graph.spec.sinks)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()[:16]
