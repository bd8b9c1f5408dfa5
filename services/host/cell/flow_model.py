"""From a compiled flow and what was measured of it to the flow that the brain places. Pure.

A task of the brain is a segment: its operators run fused wherever it is. Rates go from the sources through the
operators' selectivities, measured where records were seen and guessed by the operator's kind where not; a segment's
service is all that one record entering it causes inside. `origins` says of every number where it came from.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from placement.model import Edge, Flow, Sink, Source, Task
from services.host.cell.flow_hops import FlowHops
from services.host.cell.flow_measures import FlowMeasures
from services.host.cell.known_models import FlowModels
from services.host.cell.pins import pin
from services.tasks import commit_interval_ms
from topics.flow import specs
from topics.flow.graph import FlowGraph, Operator, Segment

Origin = Literal["measured", "partly measured", "modelled", "default", "floor"]

RATE_PER_MS = 0.1
RATE_PER_MS_MIN = 1e-6
"""One record in a quarter of an hour: the model divides by rates."""
BATCH_MIN = 1e-6
HELD_HOP_MS_MAX = 5.0
"""A flow must not be refused because machines are busy just now: of a slow hop no more than this counts in a bound."""
BOUND_MS_MIN = 1e-3
"""A bound that the hops alone break; the brain knows no bound of 0."""
BETA = 1.2
"""By this factor a place must be better (Ants 3.9): what hosts measure of delays and services is not exact."""
MESSAGE_BYTES = 200.0
HANDLING_VWU = 0.002
"""To fetch, decode, encode and write a record, beside what its operators do (docs/benchmarks.md: 3.1 s a million)."""
_GUESSES: dict[type[specs.OperatorSpec], tuple[float, float]] = {
    specs.Filter: (0.001, 0.5),
    specs.Project: (0.001, 1.0),
    specs.Map: (0.001, 1.0),
    specs.FlatMap: (0.002, 2.0),
    specs.Split: (0.001, 1.0),
    specs.Union: (0.0005, 1.0),
    specs.Dedupe: (0.003, 0.9),
    specs.Aggregate: (0.005, 1.0),
    specs.Join: (0.01, 0.5),
    specs.TopK: (0.005, 0.5),
    specs.Python: (0.02, 1.0),
}
"""Before the first record: service in VWU, records out for one in."""
_WINDOWED_BATCH = 0.1
"""A window that emits when it closes gives few results for many records."""


@dataclass(frozen=True, slots=True)
class FlowModel:
    """A flow for the brain. `origins`: of each number, by the name of source or segment and of the field."""

    flow: Flow
    origins: dict[tuple[str, str], Origin]
    hops: FlowHops
    """What the flow's hops cost wherever it runs. The brain does not see it."""
    held_ms: float
    """By so much the bound that the brain is given is smaller than the user's, for the hops."""


def model_flow(
    graph: FlowGraph,
    regions: Mapping[str, str],
    measures: FlowMeasures | None = None,
    *,
    models: FlowModels | None = None,
    hop_ms: float = 0.0,
    served: Collection[str] = (),
) -> FlowModel:
    """`regions`: the region of each live host (at least one). `measures` None: the flow has not run yet.

    `models`: what is to be trusted of them goes before what was measured last (placement/inputs.py).
    `hop_ms`: what any hop through Kafka costs beside the distance.
    `served`: segments that another flow runs; what leaves them is measured by those who read it.
    """
    known = _Operators(graph, measures, models, _leaving(graph, served))
    spec = graph.spec
    origins: dict[tuple[str, str], Origin] = {}
    ends: list[specs.Source | specs.Sink] = [*spec.sources, *spec.sinks]
    pins = {end.name: pin(spec.name, end.at, regions) for end in ends}
    sources = []
    for source in spec.sources:
        made, numbers = _source(graph, known, source.name, pins[source.name].host)
        sources.append(made)
        origins |= numbers
    tasks, edges = [], _source_edges(graph)
    for segment in graph.segments:
        task, outgoing, numbers = _task(graph, known, segment)
        tasks.append(task)
        edges += outgoing
        origins |= numbers
    flow = Flow(
        spec.name,
        tuple(sources),
        tuple(tasks),
        tuple(Sink(sink.name, pins[sink.name].host) for sink in spec.sinks),
        tuple(edges),
        weight=spec.qos.weight,
        beta=BETA,
    )
    hops = FlowHops.of(flow.graph, hop_ms=hop_ms, commit_ms=commit_wait_ms(spec))
    held_ms = 0.0
    if spec.qos.latency_ms:
        calm = FlowHops.of(flow.graph, hop_ms=min(hop_ms, HELD_HOP_MS_MAX), commit_ms=commit_wait_ms(spec))
        held_ms = min(calm.total_ms, spec.qos.latency_ms - BOUND_MS_MIN)
        flow = replace(flow, latency_bound_ms=spec.qos.latency_ms - held_ms)
    return FlowModel(flow, origins, hops, held_ms)


def commit_wait_ms(spec: specs.FlowSpec) -> float:
    """How long a result waits, on average, until it may be read: exactly once, half the time between two commits."""
    return commit_interval_ms(spec) / 2 if spec.delivery == "exactly_once" else 0.0


class _Operators:
    """What is known of each operator and stream: rates, selectivities, service times, with their origins."""

    def __init__(
        self, graph: FlowGraph, measures: FlowMeasures | None, models: FlowModels | None, served: Collection[str] = ()
    ) -> None:
        self.graph = graph
        self.models = models
        self.as_measured = _Operators(graph, measures, None, served) if models is not None else self
        self.measures = measures or FlowMeasures(1.0, {}, {})
        self.has_run = bool(self.measures.operators)
        self.source_rates: dict[str, tuple[float, Origin]] = {
            source.name: self._source_rate(source.name) for source in graph.spec.sources
        }
        self.rate: dict[str, float] = {name: rate for name, (rate, _) in self.source_rates.items()}
        self.arriving: dict[str, float] = {}
        for operator in graph.operators:
            arriving = self.arriving[operator.name] = sum(
                self.rate[edge.stream] for edge in graph.edges_into(operator.name)
            )
            leaving = max(arriving * self.batch(operator)[0], BATCH_MIN * RATE_PER_MS_MIN)
            for route, share in self._route_shares(operator).items():
                stream = operator.name if route is None else f"{operator.name}.{route}"
                count = self.arrivals(stream) if stream in served and self.has_run else None
                rate = leaving * share if count is None else count / self.measures.span_s / 1e3
                self.rate[stream] = max(rate, BATCH_MIN * RATE_PER_MS_MIN)

    def batch(self, operator: Operator) -> tuple[float, Origin]:
        """Records out for one in, and where that comes from."""
        modelled = self.models.selectivity(operator.name) if self.models is not None else None
        if modelled is not None:
            return max(modelled, BATCH_MIN), "modelled"
        measured = self.measures.operator(operator.name).batch
        if measured is not None:
            return max(measured, BATCH_MIN), "measured"
        window = getattr(operator.spec, "window", None)
        if isinstance(window, specs.Window) and window.emit == "close":
            return _WINDOWED_BATCH, "default"
        return _GUESSES[type(operator.spec)][1], "default"

    def service_vwu(self, operator: Operator) -> tuple[float, float, Origin]:
        """Mean and variance of a record's service, and where they come from."""
        modelled = self.models.service_vwu(operator.name) if self.models is not None else None
        if modelled is not None:
            return *modelled, "modelled"
        sums = self.measures.operator(operator.name)
        if sums.mean_vwu is not None:
            return sums.mean_vwu, sums.variance_vwu2, "measured"
        guess = _GUESSES[type(operator.spec)][0]
        return guess, guess * guess, "default"

    def ca2(self, source: str) -> tuple[float, Origin]:
        """Variation of a source's arrivals, and where it comes from."""
        readers = self.readers(source)
        modelled = [self.models.ca2(reader) for reader in readers] if self.models is not None else []
        measured = [self.measures.operator(reader).ca2 for reader in readers]
        found: tuple[tuple[list[float | None], Origin], ...] = ((modelled, "modelled"), (measured, "measured"))
        for values, origin in found:
            for value in values:
                if value is not None:
                    return value, origin
        return 1.0, "default"

    def readers(self, stream: str) -> list[str]:
        """Operators that read this stream and nothing else, so that their arrivals are its records."""
        names = {edge.target for edge in self.graph.edges if edge.stream == stream and edge.kind != "sink"}
        return [name for name in sorted(names) if {edge.stream for edge in self.graph.edges_into(name)} == {stream}]

    def arrivals(self, stream: str) -> float | None:
        """Records of this stream in the measured span, if one of its readers tells."""
        counts = [
            self.measures.operator(name).arrivals / len(self.graph.edges_into(name)) for name in self.readers(stream)
        ]
        return max(counts, default=None)

    def _source_rate(self, source: str) -> tuple[float, Origin]:
        """What is forecast; of a backlog that grows, the larger of that and what is measured: a model may be old."""
        modelled = self._modelled_rate(source)
        growth_per_s = self._backlog_growth_per_s(source)
        if modelled is not None and modelled > RATE_PER_MS_MIN:
            measured = self._measured_per_s(source) + growth_per_s if growth_per_s > 0 else 0.0
            return (modelled, "modelled") if modelled >= measured / 1e3 else (measured / 1e3, "measured")
        if not self.has_run:
            return RATE_PER_MS, "default"
        rate_per_ms = (self._measured_per_s(source) + growth_per_s) / 1e3
        return (rate_per_ms, "measured") if rate_per_ms > RATE_PER_MS_MIN else (RATE_PER_MS_MIN, "floor")

    def _measured_per_s(self, source: str) -> float:
        """What its readers processed."""
        count = self.arrivals(source)
        if count is None:
            count = max(self._rest(edge.target) for edge in self.graph.edges_from(source))
        return count / self.measures.span_s

    def _backlog_growth_per_s(self, source: str) -> float:
        """What arrives and is not processed yet is offered all the same."""
        for segment in self.graph.segments:
            if {edge.stream for edge in segment.inputs} == {source}:
                return self.measures.segment(segment.id).lag_growth_per_s
        return 0.0

    def _modelled_rate(self, source: str) -> float | None:
        """What is forecast to come for one of its readers: what waits before them is in it, if the model is new."""
        if self.models is None:
            return None
        rates = {reader: self.models.rate_per_s(reader) for reader in self.readers(source)}
        known = [rate / len(self.graph.edges_into(reader)) / 1e3 for reader, rate in rates.items() if rate is not None]
        return max(known, default=None)

    def _rest(self, reader: str) -> float:
        """An equal part of what a reader of several streams took in, without what other operators sent it."""
        sources = {source.name for source in self.graph.spec.sources}
        edges = self.graph.edges_into(reader)
        told = sum(self.measures.operator(edge.upstream).outputs for edge in edges if edge.upstream not in sources)
        unknown = sum(edge.upstream in sources for edge in edges)
        return max(0.0, self.measures.operator(reader).arrivals - told) / unknown

    def _route_shares(self, operator: Operator) -> dict[str | None, float]:
        """How an operator's output divides over its routes; all of it on one unless it is a split."""
        routes = [route for route, _ in operator.outputs]
        if routes == [None]:
            return {None: 1.0}
        total = self.measures.operator(operator.name).outputs
        seen = {route: self.arrivals(f"{operator.name}.{route}") for route in routes} if total else {}
        shares = {route: min(count / total, 1.0) for route, count in seen.items() if count is not None}
        left = max(0.0, 1.0 - sum(shares.values()))
        silent = [route for route in routes if route not in shares]
        return {route: max(shares.get(route, left / max(1, len(silent))), BATCH_MIN) for route in routes}


def _source(graph: FlowGraph, known: _Operators, name: str, host: str) -> tuple[Source, dict[tuple[str, str], Origin]]:
    rate, rate_origin = known.source_rates[name]
    ca2, ca2_origin = known.ca2(name)
    reader = next(
        segment
        for segment in graph.segments
        for edge in segment.inputs
        if edge.kind == "source" and edge.upstream == name
    )
    size = _message_bytes(known, reader)
    origins: dict[tuple[str, str], Origin] = {
        (name, "rate_per_ms"): rate_origin,
        (name, "ca2"): ca2_origin,
        (name, "message_bytes"): _size_origin(size),
    }
    made = Source(name, host, rate, ca2, MESSAGE_BYTES if size is None else size)
    return made, origins


def _source_edges(graph: FlowGraph) -> list[Edge]:
    """A segment reads a source once, however many of its operators do."""
    pairs = {
        (edge.upstream, segment.id) for segment in graph.segments for edge in segment.inputs if edge.kind == "source"
    }
    return [Edge(source, segment_id) for source, segment_id in sorted(pairs)]


def _task(
    graph: FlowGraph, known: _Operators, segment: Segment
) -> tuple[Task, list[Edge], dict[tuple[str, str], Origin]]:
    entering = _entering(known, segment)
    operators = [graph.operator(name) for name in segment.operators]
    leaving: dict[str, float] = {}
    sizes = []
    for edge in segment.outputs:
        owner = edge.target if edge.kind == "sink" else _segment_of(graph, edge.target).id
        leaving[owner] = leaving.get(owner, 0.0) + known.rate[edge.stream]
        if edge.kind != "sink":
            sizes.append(_message_bytes(known, _segment_of(graph, edge.target)))
    service, variance = HANDLING_VWU * (1 + sum(leaving.values()) / entering), 0.0
    services = []
    for operator in operators:
        mean, spread, origin = known.service_vwu(operator)
        service += mean * known.arriving[operator.name] / entering
        variance += spread * known.arriving[operator.name] / entering
        services.append(origin)
    # The brain knows one output of a task: the largest; an edge that carries less has a share of it.
    most = max(leaving.values())
    size = max((each for each in sizes if each is not None), default=None)
    task = Task(
        segment.id,
        service_vwu=service,
        cs2=variance / (service * service),
        batch=most / entering,
        output_bytes=MESSAGE_BYTES if size is None else size,
    )
    origins: dict[tuple[str, str], Origin] = {
        (segment.id, "service_vwu"): _origin(services),
        (segment.id, "cs2"): _origin(services),
        (segment.id, "batch"): _origin([known.batch(operator)[1] for operator in operators]),
        (segment.id, "output_bytes"): _size_origin(size),
    }
    return task, [Edge(segment.id, head, share=rate / most) for head, rate in sorted(leaving.items())], origins


def _entering(known: _Operators, segment: Segment) -> float:
    """Records that enter a segment: of a source once, of every edge topic all."""
    sources = {edge.upstream for edge in segment.inputs if edge.kind == "source"}
    edges = [edge.stream for edge in segment.inputs if edge.kind != "source"]
    return sum(known.rate[name] for name in sources) + sum(known.rate[stream] for stream in edges)


def _message_bytes(known: _Operators, segment: Segment) -> float | None:
    """Mean size of what enters a segment, as it lies in Kafka: bytes that were measured, over records that were."""
    known = known.as_measured
    records = _entering(known, segment) * 1e3 * known.measures.span_s
    total = known.measures.segment(segment.id).bytes_in
    return total / records if total and records >= 1 else None


def _leaving(graph: FlowGraph, segments: Collection[str]) -> set[str]:
    """The streams that leave these segments."""
    return {edge.stream for segment in graph.segments if segment.id in segments for edge in segment.outputs}


def _segment_of(graph: FlowGraph, operator: str) -> Segment:
    return next(segment for segment in graph.segments if operator in segment.operators)


def _size_origin(size: float | None) -> Origin:
    return "default" if size is None else "measured"


def _origin(parts: Iterable[Origin]) -> Origin:
    """Of a number that is made from several: theirs if it is the same, else it is partly measured."""
    different = set(parts)
    return different.pop() if len(different) == 1 else "partly measured"
