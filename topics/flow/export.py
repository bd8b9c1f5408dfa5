"""A compiled flow, or what is wrong with one, as plain values for programs: what `--json` prints."""

from typing import Any

from topics.flow.describe import describe_operator, op_of
from topics.flow.graph import Edge, FlowGraph, Operator, Segment, Stream
from topics.flow.problems import Problem, format_path


def problem_values(problem: Problem) -> dict[str, Any]:
    return {
        "line": problem.place.line if problem.place else None,
        "column": problem.place.column if problem.place else None,
        "key": format_path(problem.path),
        "message": problem.message,
        "expected": problem.expected,
        "nearest": problem.nearest,
    }


def graph_values(graph: FlowGraph) -> dict[str, Any]:
    segments = {name: segment.id for segment in graph.segments for name in segment.operators}
    topics = {source.name: source.topic for source in graph.spec.sources}
    return {
        "flow": graph.spec.name,
        "delivery": graph.spec.delivery,
        "sources": [{"name": name, "topic": topics[name], **_stream(stream)} for name, stream in graph.sources],
        "operators": [_operator(operator, segments[operator.name]) for operator in graph.operators],
        "sinks": [{"name": sink.name, "topic": sink.topic, "input": sink.input} for sink in graph.spec.sinks],
        "edges": [_edge(edge) for edge in graph.edges],
        "segments": [_segment(segment) for segment in graph.segments],
        "notes": list(graph.notes),
    }


def _operator(operator: Operator, segment: str) -> dict[str, Any]:
    return {
        "name": operator.name,
        "op": op_of(operator.spec),
        "text": describe_operator(operator.spec),
        "identity": operator.identity,
        "inserted": operator.inserted,
        "segment": segment,
        "outputs": [{"route": route, **_stream(stream)} for route, stream in operator.outputs],
    }


def _stream(stream: Stream) -> dict[str, Any]:
    key = stream.partitioning.fields
    return {
        "identity": stream.identity,
        "key": None if key is None else [sorted(names) for names in key],
        "partitions": stream.partitioning.partitions,
        "fields": dict(stream.schema.fields),
        "more_fields": stream.schema.is_open,
    }


def _edge(edge: Edge) -> dict[str, Any]:
    rekey = edge.rekey
    return {
        "from": edge.stream,
        "to": edge.target,
        "port": edge.port,
        "kind": edge.kind,
        "rekey": None
        if rekey is None
        else {"by": list(rekey.by), "partitions": rekey.partitions, "reason": rekey.reason},
    }


def _segment(segment: Segment) -> dict[str, Any]:
    return {"id": segment.id, "operators": list(segment.operators), "partitions": segment.partitions}
