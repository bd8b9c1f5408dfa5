"""Chance queries with fan-in and fan-out, with the rates and sizes of market data (Ants section 4).

Rates are drawn log-uniformly, most tasks pass every message on, some filter, a few multiply. Sources and sinks are
pinned to random hosts of the network's edge.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from placement.chance import Chance
from placement.model import Edge, Flow, Sink, Source, Task
from placement.queueing import Load, Stream, load_of


class Shape(Enum):
    """How a query's graph looks."""

    CHAIN = "chain"
    FAN_IN = "fan-in"
    FAN_OUT = "fan-out"


@dataclass(frozen=True, slots=True)
class QueryParams:
    """Ranges that queries are drawn from."""

    least_rate_per_ms: float = 0.004
    most_rate_per_ms: float = 0.03
    least_service_vwu: float = 1.0
    most_service_vwu: float = 8.0
    least_bytes: float = 1_000.0
    most_bytes: float = 16_000.0
    service_cs2: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)
    least_ca2: float = 0.5
    most_ca2: float = 2.0
    beta: float = 1.1

    def __post_init__(self) -> None:
        pairs = (
            (self.least_rate_per_ms, self.most_rate_per_ms),
            (self.least_service_vwu, self.most_service_vwu),
            (self.least_bytes, self.most_bytes),
        )
        if any(not 0 < low <= high for low, high in pairs):
            raise ValueError(f"{self}: each range must rise and be above 0")


def random_query(name: str, tasks: int, shape: Shape, ends: Sequence[str], params: QueryParams, *, rng: Chance) -> Flow:
    """A query of that many tasks between hosts drawn from `ends`."""
    if tasks < 3 and shape is not Shape.CHAIN:
        raise ValueError(f"{tasks} tasks can't fan in or out; ask for 3 or more, or for a chain")
    branches = 1 if shape is Shape.CHAIN else 2
    pinned = rng.sample(list(ends), branches + 1)
    made = tuple(_task(f"o{k}", params, rng) for k in range(tasks))
    sources = [_source(f"in{k}", pinned[k], params, rng) for k in range(branches if shape is Shape.FAN_IN else 1)]
    sinks = [Sink(f"out{k}", pinned[-1 - k]) for k in range(branches if shape is Shape.FAN_OUT else 1)]
    edges = _edges(tasks, shape, rng)
    return Flow(name, tuple(sources), made, tuple(sinks), edges, beta=params.beta)


def mixed_query(name: str, tasks: int, ends: Sequence[str], params: QueryParams, *, rng: Chance) -> Flow:
    """A query of a random shape: half chains, a quarter fan-in, a quarter fan-out."""
    shape = Shape.CHAIN if tasks < 3 else rng.choice((Shape.CHAIN, Shape.CHAIN, Shape.FAN_IN, Shape.FAN_OUT))
    return random_query(name, tasks, shape, ends, params, rng=rng)


def known(flow: Flow) -> Flow:
    """The same query with tasks that others can recognise and tap."""
    return replace(flow, tasks=tuple(replace(task, identity=f"{flow.name}/{task.name}") for task in flow.tasks))


def variant(flow: Flow, name: str, ends: Sequence[str], *, rng: Chance) -> Flow:
    """A query that asks nearly the same as a known one: equal tasks up to the last ones, and other consumers.

    Reuse matters where most requests are alike, as in financial services (Ants section 2).
    """
    sinks = {sink.name for sink in flow.sinks}
    last = {edge.tail for edge in flow.edges if edge.head in sinks}
    tasks = tuple(replace(task, identity="") if task.name in last else task for task in flow.tasks)
    hosts = rng.sample(list(ends), len(flow.sinks))
    moved = tuple(replace(sink, host=host) for sink, host in zip(flow.sinks, hosts, strict=True))
    return replace(flow, name=name, tasks=tasks, sinks=moved)


def background_load(mean_rho: float, capacity: float, params: QueryParams, *, rng: Chance) -> Load:
    """Load of work that is nobody's flow: three streams that together use between 0 and twice the mean."""
    if mean_rho <= 0 or capacity <= 0:
        return Load()
    rho = rng.uniform(max(0.0, 2 * mean_rho - 0.9), min(0.9, 2 * mean_rho))
    streams = []
    for _ in range(3):
        rate = _log_uniform(params.least_rate_per_ms, params.most_rate_per_ms, rng)
        work = rho / 3 * capacity / rate
        ca2 = rng.uniform(params.least_ca2, params.most_ca2)
        streams.append(Stream(rate, work, rng.choice(params.service_cs2), ca2, 0.0))
    return load_of(streams, capacity)


def _task(name: str, params: QueryParams, rng: Chance) -> Task:
    kind = rng.random()
    batch = 1.0
    if kind >= 0.9:
        batch = rng.uniform(1.0, 2.0)
    elif kind >= 0.6:
        batch = rng.uniform(0.2, 0.9)
    return Task(
        name,
        service_vwu=rng.uniform(params.least_service_vwu, params.most_service_vwu),
        cs2=rng.choice(params.service_cs2),
        batch=batch,
        output_bytes=_log_uniform(params.least_bytes, params.most_bytes, rng),
    )


def _source(name: str, host: str, params: QueryParams, rng: Chance) -> Source:
    return Source(
        name,
        host,
        rate_per_ms=_log_uniform(params.least_rate_per_ms, params.most_rate_per_ms, rng),
        ca2=rng.uniform(params.least_ca2, params.most_ca2),
        message_bytes=_log_uniform(params.least_bytes, params.most_bytes, rng),
    )


def _edges(tasks: int, shape: Shape, rng: Chance) -> tuple[Edge, ...]:
    names = [f"o{k}" for k in range(tasks)]
    if shape is Shape.CHAIN:
        return _row(["in0", *names, "out0"])
    side = rng.randint(1, max(1, (tasks - 1) // 2))  # tasks of the shorter branch
    trunk = rng.randint(1, tasks - side - 1) if tasks - side > 1 else 1  # tasks that both branches share
    shared, long, short = names[:trunk], names[trunk : tasks - side], names[tasks - side :]
    if shape is Shape.FAN_IN:
        return (*_row(["in0", *long, *shared, "out0"]), *_row(["in1", *short, shared[0]]))
    return (*_row(["in0", *shared, *long, "out0"]), *_row([shared[-1], *short, "out1"]))


def _row(names: Sequence[str]) -> tuple[Edge, ...]:
    return tuple(Edge(tail, head) for tail, head in pairwise(names))


def _log_uniform(low: float, high: float, rng: Chance) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))
