"""A flow: a user's graph of sources, tasks and sinks, with what the price needs to know of each.

Names are unique within a flow, over sources, tasks and sinks together. Sources and sinks are pinned to hosts; tasks
are what a strategy places. Everything is frozen and hashable; `Flow.graph` is the same flow compiled to integers.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from placement.model.errors import require

if TYPE_CHECKING:
    from placement.model.graph import FlowGraph


@dataclass(frozen=True, slots=True)
class Task:
    """One operator. Its service time is in VWU: 1 VWU is 1 ms on a host of capacity 1."""

    name: str
    service_vwu: float
    cs2: float = 1.0
    batch: float = 1.0
    """Messages out for one message in: below 1 a filter, above 1 a flat map."""
    output_bytes: float = 0.0
    identity: str = ""
    """Two tasks with the same identity give the same result from the same sources; empty means never reused."""

    def __post_init__(self) -> None:
        require(bool(self.name), "a task needs a name")
        require(
            math.isfinite(self.service_vwu) and self.service_vwu > 0,
            f"task {self.name}: service_vwu is {self.service_vwu}; it must be above 0",
        )
        require(math.isfinite(self.cs2) and self.cs2 >= 0, f"task {self.name}: cs2 is {self.cs2}; it must be 0 or more")
        require(
            math.isfinite(self.batch) and self.batch > 0,
            f"task {self.name}: batch is {self.batch}; it must be above 0 (a task that emits nothing feeds nobody)",
        )
        require(
            math.isfinite(self.output_bytes) and self.output_bytes >= 0,
            f"task {self.name}: output_bytes is {self.output_bytes}; it must be 0 or more",
        )


@dataclass(frozen=True, slots=True)
class Source:
    """A producer, pinned to a host: messages a millisecond, how irregular, how large."""

    name: str
    host: str
    rate_per_ms: float
    ca2: float = 1.0
    message_bytes: float = 0.0

    def __post_init__(self) -> None:
        require(bool(self.name), "a source needs a name")
        require(
            math.isfinite(self.rate_per_ms) and self.rate_per_ms > 0,
            f"source {self.name}: rate_per_ms is {self.rate_per_ms}; it must be above 0",
        )
        require(
            math.isfinite(self.ca2) and self.ca2 >= 0, f"source {self.name}: ca2 is {self.ca2}; it must be 0 or more"
        )
        require(
            math.isfinite(self.message_bytes) and self.message_bytes >= 0,
            f"source {self.name}: message_bytes is {self.message_bytes}; it must be 0 or more",
        )


@dataclass(frozen=True, slots=True)
class Sink:
    """A consumer, pinned to a host."""

    name: str
    host: str


@dataclass(frozen=True, slots=True)
class Edge:
    """Messages from `tail` to `head`; `share` of the tail's output takes this edge (1: all of it, as in a copy)."""

    tail: str
    head: str
    share: float = 1.0

    def __post_init__(self) -> None:
        require(0 < self.share <= 1, f"edge {self.tail} -> {self.head}: share is {self.share}; it must be in (0, 1]")


@dataclass(frozen=True)
class Flow:
    """A graph of tasks between pinned ends, and how much its latency matters."""

    name: str
    sources: tuple[Source, ...]
    tasks: tuple[Task, ...]
    sinks: tuple[Sink, ...]
    edges: tuple[Edge, ...]
    latency_bound_ms: float = math.inf
    weight: float = 1.0
    beta: float = 1.1
    """Move when the new latency times beta is still below the present one (Ants 3.9)."""
    names: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        every = [source.name for source in self.sources]
        every += [task.name for task in self.tasks]
        every += [sink.name for sink in self.sinks]
        twice = sorted({name for name in every if every.count(name) > 1})
        require(not twice, f"flow {self.name}: names used twice: {', '.join(twice)}; rename one of each")
        require(bool(self.sources) and bool(self.sinks), f"flow {self.name}: needs at least one source and one sink")
        require(
            self.latency_bound_ms > 0,
            f"flow {self.name}: latency_bound_ms is {self.latency_bound_ms}; give more than 0",
        )
        require(
            math.isfinite(self.weight) and self.weight > 0,
            f"flow {self.name}: weight is {self.weight}; it must be above 0",
        )
        require(self.beta >= 1, f"flow {self.name}: beta is {self.beta}; below 1 a flow would move to worse places")
        object.__setattr__(self, "names", frozenset(every))

    def drift_from(self, before: "Flow") -> float:
        """The largest relative change among its rates and service times: 0.5 if one has doubled or halved."""
        pairs = [(a.rate_per_ms, b.rate_per_ms) for a, b in zip(before.sources, self.sources, strict=True)]
        for old, new in zip(before.tasks, self.tasks, strict=True):
            pairs += [(old.service_vwu, new.service_vwu), (old.batch, new.batch)]
        return max(abs(new - old) / max(old, new) for old, new in pairs)

    def faster(self, factor: float) -> "Flow":
        """The same with the rates of all its sources multiplied."""
        sources = tuple(replace(source, rate_per_ms=source.rate_per_ms * factor) for source in self.sources)
        return replace(self, sources=sources)

    @cached_property
    def graph(self) -> "FlowGraph":
        """The flow as integers, checked for shape: no cycle, nothing loose."""
        from placement.model.graph import FlowGraph

        return FlowGraph(self)


def chain(
    name: str,
    source: Source,
    tasks: tuple[Task, ...],
    sink: Sink,
    *,
    latency_bound_ms: float = math.inf,
    weight: float = 1.0,
    beta: float = 1.1,
) -> Flow:
    """The most common flow: one source, tasks in a row, one sink."""
    row = (source.name, *(task.name for task in tasks), sink.name)
    edges = tuple(Edge(tail, head) for tail, head in pairwise(row))
    return Flow(name, (source,), tasks, (sink,), edges, latency_bound_ms=latency_bound_ms, weight=weight, beta=beta)
