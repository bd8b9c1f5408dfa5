"""A flow compiled to integers: what the prices and the strategies compute with.

Tasks are numbered as in `Flow.tasks`; a set of tasks is a bit mask. The central question is `streams(mask)`: if
exactly these tasks of the flow sit on one host, which streams enter it and how much work does each message cause
(Ants eq 3)? Tasks that follow each other on one host run fused: a message is queued once, at the segment's entry,
and its service is everything that it triggers there.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from placement.model.errors import ModelError, require
from placement.queueing import Load, Stream, load_of, scaled_ca2

if TYPE_CHECKING:
    from placement.model.flow import Edge, Flow


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """One edge as integers. A source or a sink is given by its pinned host and is no task (-1)."""

    index: int
    tail_task: int
    head_task: int
    tail_host: str
    head_host: str
    rate_per_ms: float
    ca2: float
    message_bytes: float
    factor: float
    """Messages on this edge for each message into the tail task (1 from a source)."""
    path_share: float
    """The share of the flow's source-to-sink paths that take this edge."""

    @property
    def from_source(self) -> bool:
        return self.tail_task < 0

    @property
    def to_sink(self) -> bool:
        return self.head_task < 0


class Demand(NamedTuple):
    """What a subset of a flow's tasks asks of the host that holds it, summed over its streams at capacity 1."""

    load: Load
    path_share: float
    """Of the flow's paths, how many queue here: 1 if each path enters once."""
    path_work: float
    """Mean work of a path here: what service costs the flow's mean latency."""


class _Trigger(NamedTuple):
    """What a message that a task works on causes at a task behind it."""

    head: int
    factor: float
    """Messages for each one."""
    spread: float
    """Variance of that number: it is whole, the factor's whole part or one more."""
    at_least: float
    """Messages for each one that causes any."""
    share: float
    """Of the paths that leave the task."""


class FlowGraph:
    """Immutable once built; `streams` and `demand` remember their answers."""

    def __init__(self, flow: "Flow") -> None:
        self.flow = flow
        self.task_count = len(flow.tasks)
        self.task_index: dict[str, int] = {task.name: index for index, task in enumerate(flow.tasks)}
        self.order = self._topological_order()
        self.edges = self._edges()
        self.into: tuple[tuple[GraphEdge, ...], ...] = self._by_task(head=True)
        self.out_of: tuple[tuple[GraphEdge, ...], ...] = self._by_task(head=False)
        self.sink_edges: tuple[GraphEdge, ...] = tuple(edge for edge in self.edges if edge.to_sink)
        self.paths_to: tuple[int, ...] = self._paths_to()
        self.full_mask = (1 << self.task_count) - 1
        self._upstream = self._work_upstream()
        self._entries = tuple(
            (edge, None if edge.from_source else edge.tail_task, edge.head_task, flow.weight * edge.path_share)
            for edge in self.edges
            if not edge.to_sink
        )
        self._streams: dict[int, tuple[tuple[int, Stream], ...]] = {}
        self._demands: dict[int, Demand] = {}
        self._inner_shares: dict[int, float] = {}

    def streams(self, mask: int) -> tuple[tuple[int, Stream], ...]:
        """(edge index, stream) for each edge that enters a host which holds exactly these tasks of this flow."""
        known = self._streams.get(mask)
        if known is None:
            known = self._streams[mask] = self._compute_streams(mask)
        return known

    def demand(self, mask: int) -> Demand:
        """The streams of `streams(mask)` as sums: all that a price needs, in constant time."""
        known = self._demands.get(mask)
        if known is None:
            streams = self.streams(mask)
            share = sum(self.edges[edge].path_share for edge, _ in streams)
            work = sum(self.edges[edge].path_share * stream.path_work for edge, stream in streams)
            known = self._demands[mask] = Demand(load_of((stream for _, stream in streams), 1.0), share, work)
        return known

    def inner_share(self, mask: int) -> float:
        """The share of the flow's paths on edges between these tasks, which cost something where a broker is far."""
        known = self._inner_shares.get(mask)
        if known is None:
            inner = [
                edge.path_share
                for edge in self.edges
                if not (edge.from_source or edge.to_sink) and mask >> edge.tail_task & mask >> edge.head_task & 1
            ]
            known = self._inner_shares[mask] = sum(inner)
        return known

    def tasks_in(self, mask: int) -> tuple[int, ...]:
        return tuple(task for task in range(self.task_count) if mask >> task & 1)

    def needed(self, tapped: frozenset[int]) -> frozenset[int]:
        """Tasks that must run when others serve the tapped ones: all that reach a sink past no tap."""
        live: set[int] = set()
        for task in reversed(self.order):
            if task in tapped:
                continue
            if any(edge.to_sink or edge.head_task in live for edge in self.out_of[task]):
                live.add(task)
        return frozenset(live)

    def live_edges(self, tapped: frozenset[int]) -> tuple[GraphEdge, ...]:
        """Edges that carry messages of this flow when others serve the tapped tasks."""
        if not tapped:
            return self.edges
        needed = self.needed(tapped)
        return tuple(edge for edge in self.edges if edge.to_sink or edge.head_task in needed)

    def _compute_streams(self, mask: int) -> tuple[tuple[int, Stream], ...]:
        work = [0.0] * self.task_count
        variance = [0.0] * self.task_count
        spared = [0.0] * self.task_count
        for task, service, own_variance, triggers in self._upstream:
            if not mask >> task & 1:
                continue
            work[task] = service
            variance[task] = own_variance
            for head, factor, spread, at_least, share in triggers:
                if not mask >> head & 1:
                    continue
                behind = work[head]
                work[task] += factor * behind
                variance[task] += factor * variance[head] + spread * behind**2
                # Departure from Ants eq 10 (decision 314): what leaves by this edge has triggered at least one.
                spared[task] += share * (at_least * (behind + spared[head]) - factor * behind)
        found = []
        for edge, tail, head, weight in self._entries:
            if mask >> head & 1 and not (tail is not None and mask >> tail & 1):
                cs2 = variance[head] / work[head] ** 2
                found.append((edge.index, Stream(edge.rate_per_ms, work[head], cs2, edge.ca2, weight, spared[head])))
        return tuple(found)

    def _work_upstream(self) -> tuple[tuple[int, float, float, tuple[_Trigger, ...]], ...]:
        """Tasks from the sinks up: the work and variance of each, and what its messages trigger."""
        found = []
        for task in reversed(self.order):
            here, leaving = self.flow.tasks[task], self.out_of[task]
            paths = sum(edge.path_share for edge in leaving)
            triggers = []
            for edge in leaving:
                if not edge.to_sink:
                    chance = edge.factor % 1.0
                    spread, share = chance * (1.0 - chance), edge.path_share / paths
                    triggers.append(_Trigger(edge.head_task, edge.factor, spread, max(1.0, edge.factor), share))
            found.append((task, here.service_vwu, here.cs2 * here.service_vwu**2, tuple(triggers)))
        return tuple(found)

    def _topological_order(self) -> tuple[int, ...]:
        flow = self.flow
        sources = {source.name for source in flow.sources}
        sinks = {sink.name for sink in flow.sinks}
        for edge in flow.edges:
            for end in (edge.tail, edge.head):
                require(end in flow.names, f"flow {flow.name}: edge {edge.tail} -> {edge.head}: no {end!r} here")
            require(edge.tail not in sinks, f"flow {flow.name}: an edge leaves sink {edge.tail}; it only receives")
            require(edge.head not in sources, f"flow {flow.name}: an edge enters source {edge.head}; it only sends")
        pairs = [(edge.tail, edge.head) for edge in flow.edges]
        require(len(set(pairs)) == len(pairs), f"flow {flow.name}: the same edge is given twice; give it once")
        heads = {edge.head for edge in flow.edges}
        tails = {edge.tail for edge in flow.edges}
        loose = sorted((flow.names - heads - sources) | (flow.names - tails - sinks))
        require(not loose, f"flow {flow.name}: not connected: {', '.join(loose)}; every part needs its edges")
        missing = {task.name: sum(edge.head == task.name for edge in flow.edges) for task in flow.tasks}
        done: list[int] = []
        ready = sorted(sources)
        while ready:
            name = ready.pop(0)
            if name in self.task_index:
                done.append(self.task_index[name])
            for edge in flow.edges:
                if edge.tail == name and edge.head in missing:
                    missing[edge.head] -= 1
                    if missing[edge.head] == 0:
                        ready.append(edge.head)
        if len(done) < len(flow.tasks):
            stuck = sorted(name for name, count in missing.items() if count > 0)
            raise ModelError(f"flow {flow.name}: a cycle through {', '.join(stuck)}; a flow must run one way")
        return tuple(done)

    def _edges(self) -> tuple[GraphEdge, ...]:
        flow = self.flow
        source_of = {source.name: source for source in flow.sources}
        sink_of = {sink.name: sink for sink in flow.sinks}
        rate: dict[str, float] = {source.name: source.rate_per_ms for source in flow.sources}
        burst: dict[str, float] = {source.name: source.ca2 for source in flow.sources}
        paths_in: dict[str, int] = {source.name: 1 for source in flow.sources}
        ordered = [flow.tasks[task].name for task in self.order]
        for name in ordered:
            arriving = [(edge.tail, self._factor(edge)) for edge in flow.edges if edge.head == name]
            rate[name] = sum(rate[tail] * factor for tail, factor in arriving)
            # The long-run variation of merged streams is the mean of theirs by rate (Whitt's asymptotic method).
            bursts = sum(rate[tail] * factor * scaled_ca2(burst[tail], factor) for tail, factor in arriving)
            burst[name] = bursts / rate[name]
            paths_in[name] = sum(paths_in[tail] for tail, _ in arriving)
        paths_out: dict[str, int] = {sink.name: 1 for sink in flow.sinks}
        for name in [*reversed(ordered), *source_of]:
            paths_out[name] = sum(paths_out[edge.head] for edge in flow.edges if edge.tail == name)
        total = sum(paths_out[name] for name in source_of)
        found = []
        for index, edge in enumerate(flow.edges):
            source, sink = source_of.get(edge.tail), sink_of.get(edge.head)
            tail = self.task_index.get(edge.tail, -1)
            factor = self._factor(edge)
            found.append(
                GraphEdge(
                    index=index,
                    tail_task=tail,
                    head_task=self.task_index.get(edge.head, -1),
                    tail_host=source.host if source else "",
                    head_host=sink.host if sink else "",
                    rate_per_ms=rate[edge.tail] * factor,
                    ca2=scaled_ca2(burst[edge.tail], factor),
                    message_bytes=source.message_bytes if source else flow.tasks[tail].output_bytes,
                    factor=factor,
                    path_share=paths_in[edge.tail] * paths_out[edge.head] / total,
                )
            )
        return tuple(found)

    def _factor(self, edge: "Edge") -> float:
        task = self.task_index.get(edge.tail)
        return edge.share if task is None else edge.share * self.flow.tasks[task].batch

    def _by_task(self, *, head: bool) -> tuple[tuple[GraphEdge, ...], ...]:
        return tuple(
            tuple(edge for edge in self.edges if (edge.head_task if head else edge.tail_task) == task)
            for task in range(self.task_count)
        )

    def _paths_to(self) -> tuple[int, ...]:
        counts = [0] * self.task_count
        for task in self.order:
            counts[task] = sum(1 if edge.from_source else counts[edge.tail_task] for edge in self.into[task])
        return tuple(counts)
