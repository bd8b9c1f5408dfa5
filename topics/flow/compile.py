"""From the specs of a flow to its graph: types, partitions, re-keys, identities, segments.

One pass over the operators in topological order works out every stream from the streams before it, and notes all that
keeps the flow from running.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from topics.flow.graph import Edge, EdgeKind, FlowGraph, Operator, Rekey, Stream
from topics.flow.identity import operator_identity, route_identity, source_identity
from topics.flow.notes import notes_on
from topics.flow.outputs import output_partitioning, output_window
from topics.flow.partitioning import Partitioning
from topics.flow.problems import Problems
from topics.flow.references import (
    Reference,
    check_references,
    has_cycle,
    in_order,
    inputs_of,
    operator_references,
    routes_of,
    with_input,
)
from topics.flow.regroup import check_self_join, rekeys
from topics.flow.segments import fuse, segments_of
from topics.flow.specs import FlowSpec, Map, OperatorSpec, Sink, Source, Split
from topics.flow.typecheck import OPEN, TextAt, check_ranking, check_sink, output_schema, source_schema


def checked_graph(
    spec: FlowSpec, unread: Mapping[str, tuple[str, ...]], problems: Problems, text_at: TextAt
) -> FlowGraph | None:
    """Notes every problem of the graph as a whole; None if there is any, of this flow's text or of its graph.

    `unread` are operators that could not be read, with the inputs they seem to have; nothing is known of their output.
    """
    check_references(spec, unread, problems)
    if has_cycle(spec):
        return None
    compiling = _Compiling(spec, problems, text_at)
    for source in spec.sources:
        compiling.source(source)
    for name, operator in in_order(spec):
        if inputs_of(operator):
            compiling.operator(name, operator)
    for sink in spec.sinks:
        compiling.sink(sink)
    return None if problems.found else compiling.graph()


@dataclass(slots=True)
class _Compiling:
    """What has been worked out so far."""

    spec: FlowSpec
    problems: Problems
    text_at: TextAt
    streams: dict[str, Stream] = field(default_factory=dict)
    """By the name that a flow file gives them: source, operator, or `split.route`."""
    sources: list[str] = field(default_factory=list)
    operators: dict[str, Operator] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def source(self, source: Source) -> None:
        key = (frozenset({source.key}),) if source.key else None
        partitioning = Partitioning(key, source.partitions, "producer", source.name)
        self.streams[source.name] = Stream(source_schema(source, self.problems), partitioning, source_identity(source))
        self.sources.append(source.name)

    def operator(self, name: str, spec: OperatorSpec) -> None:
        references = operator_references(name, spec)
        inputs = [self.stream(reference.stream) for reference in references]
        needed = rekeys(name, spec, [stream.partitioning for stream in inputs])
        schema = output_schema(name, spec, [stream.schema for stream in inputs], self.problems, self.text_at)
        if self.problems.under(("operators", name)):
            schema = OPEN
        check_ranking(name, spec, inputs[0], self.problems)
        check_self_join(name, spec, needed, self.problems)
        given = [self.edge(each, rekey) for each, rekey in zip(references, needed, strict=True)]
        identity = operator_identity(spec, tuple(stream.identity for stream in inputs))
        window = output_window(spec, [stream.window for stream in inputs])
        output = Stream(schema, output_partitioning(spec, given), identity, window)
        for edge in self.edges:
            if edge.target == name:
                spec = with_input(spec, edge.port, edge.stream)
        self.add(Operator(name, spec, identity, _outputs(spec, output)))

    def sink(self, sink: Sink) -> None:
        upstream, _, route = sink.input.partition(".")
        check_sink(sink, self.stream(sink.input).schema, self.problems)
        upstream = self.reader(upstream) if upstream in self.sources else upstream
        self.edges.append(Edge(upstream, route or None, sink.name, "input", "sink"))

    def edge(self, reference: Reference, rekey: Rekey | None) -> Partitioning:
        """Adds the edge; returns how its records are partitioned when they arrive."""
        upstream = reference.upstream
        if rekey is None:
            kind: EdgeKind = "source" if upstream in self.sources else "fused"
            self.edges.append(Edge(upstream, reference.route, reference.reader, reference.port, kind))
            return self.stream(reference.stream).partitioning
        upstream = self.reader(upstream) if upstream in self.sources else upstream
        self.edges.append(Edge(upstream, reference.route, reference.reader, reference.port, "rekey", rekey))
        key = tuple(frozenset({name}) for name in rekey.by)
        return Partitioning(key, rekey.partitions, "flow", f"{reference.stream}>{reference.reader}")

    def reader(self, source: str) -> str:
        """The operator that only reads a source: something must run where records leave for an edge topic or a sink."""
        name = _free_name(f"{source}-in", self.spec)
        if name not in self.operators:
            spec = Map(source)
            stream = self.streams[source]
            self.edges.append(Edge(source, None, name, "input", "source"))
            self.add(
                Operator(name, spec, operator_identity(spec, (stream.identity,)), ((None, stream),), inserted=True)
            )
        return name

    def add(self, operator: Operator) -> None:
        self.operators[operator.name] = operator
        for route, stream in operator.outputs:
            self.streams[operator.name if route is None else f"{operator.name}.{route}"] = stream

    def stream(self, reference: str) -> Stream:
        """Of an operator that could not be read, nothing is known."""
        unknown = Stream(OPEN, Partitioning(None, None, "producer", reference), "")
        return self.streams.get(reference, unknown)

    def graph(self) -> FlowGraph:
        group, edges = fuse(tuple(self.operators), self.edges)
        identities = {name: operator.identity for name, operator in self.operators.items()}
        segments = segments_of(self.spec.name, group, edges, self.streams, identities)
        return FlowGraph(
            spec=self.spec,
            sources=tuple((name, self.streams[name]) for name in self.sources),
            operators=tuple(self.operators.values()),
            edges=edges,
            segments=segments,
            notes=notes_on(self.spec.qos, tuple(self.operators.values()), edges),
        )


def _outputs(spec: OperatorSpec, output: Stream) -> tuple[tuple[str | None, Stream], ...]:
    if not isinstance(spec, Split):
        return ((None, output),)
    return tuple(
        (route, replace(output, identity=route_identity(output.identity, position)))
        for position, route in enumerate(routes_of(spec))
    )


def _free_name(wanted: str, spec: FlowSpec) -> str:
    taken = {name for name, _ in spec.operators}
    taken |= {source.name for source in spec.sources} | {sink.name for sink in spec.sinks}
    while wanted in taken:
        wanted += "-in"
    return wanted
