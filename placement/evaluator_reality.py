"""A placement run as real queues, message by message, to hold the evaluator against.

Every host is one first-come-first-served queue; a message is served by everything that it triggers there, then its
outputs leave; every wire with a bandwidth is a queue of its own. Nothing of the queueing model is used. Because
servers take messages in order of arrival, a message's start is known when it arrives: events are arrivals only.
"""

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from placement.evaluator import evaluate
from placement.model.flow import Flow
from placement.model.graph import GraphEdge
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.queueing.real_queue import WARM_UP, draw

CHUNK = 4096
"""Random numbers are drawn this many at a time."""


@dataclass(frozen=True, slots=True)
class NetworkError:
    """Evaluator against reality for one placement; `rho` is the utilisation of its busiest host."""

    rho: float
    model_ms: float
    real_ms: float

    @property
    def error(self) -> float:
        return self.model_ms / self.real_ms - 1.0


@dataclass(slots=True)
class _Message:
    flow: Flow
    edge: GraphEdge
    born_ms: float
    source: str
    wires: tuple[int, ...]
    target: int


@dataclass(slots=True)
class _Seen:
    total_ms: float = 0.0
    count: int = 0


class _Draws:
    """Positive times of one kind, drawn in chunks."""

    def __init__(self, mean: float, squared_variation: float, rng: np.random.Generator) -> None:
        self._kind = (mean, squared_variation)
        self._rng = rng
        self._left: list[float] = []

    def next(self) -> float:
        if not self._left:
            self._left = draw(*self._kind, CHUNK, self._rng).tolist()
        return self._left.pop()


@dataclass
class RealNetwork:
    """One run. Same generator, same run."""

    problem: Problem
    placement: Placement
    rng: np.random.Generator
    _queue: list[tuple[float, int, _Message]] = field(default_factory=list)
    _sent: int = 0

    def __post_init__(self) -> None:
        assert not self.placement.taps, "reuse is priced by path; run the flows without taps"
        network = self.problem.network
        self._host_free = [0.0] * len(network.hosts)
        self._wire_free = [0.0] * len(network.wire_delays_ms)
        self._work: dict[tuple[str, int], _Draws] = {}
        self._hosts: dict[str, list[int]] = {}
        for flow in self.problem.flows:
            self._hosts[flow.name] = [
                network.host_index[self.placement.hosts[flow.name, task.name]] for task in flow.tasks
            ]
            for index, task in enumerate(flow.tasks):
                self._work[flow.name, index] = _Draws(task.service_vwu, task.cs2, self.rng)

    def latencies_ms(self, duration_ms: float) -> dict[str, float]:
        """Mean end-to-end latency of each flow, over its (source, sink) pairs, for messages born in that time."""
        for flow in self.problem.flows:
            for source in flow.sources:
                edges = [edge for edge in flow.graph.edges if flow.edges[edge.index].tail == source.name]
                gaps = _Draws(1.0 / source.rate_per_ms, source.ca2, self.rng)
                at = float(self.rng.uniform(0.0, 1.0 / source.rate_per_ms))
                while at < duration_ms:
                    for edge in edges:
                        self._emit(flow, edge, at, at, source.name)
                    at += gaps.next()
        seen: dict[tuple[str, str, int], _Seen] = defaultdict(_Seen)
        while self._queue:
            now, _, message = heapq.heappop(self._queue)
            if message.wires:
                self._cross(now, message)
            elif message.edge.to_sink:
                if message.born_ms >= WARM_UP * duration_ms:
                    pair = seen[message.flow.name, message.source, message.edge.index]
                    pair.total_ms += now - message.born_ms
                    pair.count += 1
            else:
                self._serve(now, message)
        means: dict[str, list[float]] = defaultdict(list)
        for (name, _, _), pair in sorted(seen.items()):
            means[name].append(pair.total_ms / pair.count)
        return {name: sum(each) / len(each) for name, each in means.items()}

    def _emit(self, flow: Flow, edge: GraphEdge, now: float, born: float, source: str) -> None:
        """As many messages on an edge as its factor says on average, each on its way to the head's host."""
        network, hosts = self.problem.network, self._hosts[flow.name]
        origin = network.host_index[edge.tail_host] if edge.from_source else hosts[edge.tail_task]
        target = network.host_index[edge.head_host] if edge.to_sink else hosts[edge.head_task]
        for _ in range(self._copies(edge.factor)):
            wires: tuple[int, ...] = ()
            arrival = now
            if origin != target and network.has_queues:
                wires = network.route(origin, target)
            elif origin != target:
                arrival += float(network.delays_ms[origin, target])
            self._push(arrival, _Message(flow, edge, born, source, wires, target))

    def _copies(self, factor: float) -> int:
        whole = math.floor(factor)
        return whole + (1 if factor > whole and self.rng.random() < factor - whole else 0)

    def _push(self, when: float, message: _Message) -> None:
        self._sent += 1
        heapq.heappush(self._queue, (when, self._sent, message))

    def _cross(self, now: float, message: _Message) -> None:
        wire = message.wires[0]
        start = max(now, self._wire_free[wire])
        self._wire_free[wire] = start + message.edge.message_bytes / self.problem.network.wire_bandwidths[wire]
        arrival = self._wire_free[wire] + self.problem.network.wire_delays_ms[wire]
        message.wires = message.wires[1:]
        self._push(arrival, message)

    def _serve(self, now: float, message: _Message) -> None:
        """Run the head task and all that follows on the same host, then let the outputs go."""
        flow, host = message.flow, message.target
        leaving: list[GraphEdge] = []
        work = 0.0
        waiting = [message.edge.head_task]
        while waiting:
            task = waiting.pop()
            work += self._work[flow.name, task].next()
            for edge in flow.graph.out_of[task]:
                if edge.to_sink or self._hosts[flow.name][edge.head_task] != host:
                    leaving.append(edge)
                else:
                    waiting += [edge.head_task] * self._copies(edge.factor)
        start = max(now, self._host_free[host])
        self._host_free[host] = start + work / self.problem.network.hosts[host].capacity
        for edge in leaving:
            self._emit(flow, edge, self._host_free[host], message.born_ms, message.source)


def network_error(
    problem: Problem, placement: Placement, rng: np.random.Generator, *, messages: int = 50_000
) -> NetworkError:
    """The evaluator's weighted mean latency against the one that real queues give."""
    rate = min(source.rate_per_ms for flow in problem.flows for source in flow.sources)
    model = evaluate(problem, placement)
    real = RealNetwork(problem, placement, rng).latencies_ms(messages / rate)
    real_ms = sum(flow.weight * real[flow.name] for flow in problem.flows)
    return NetworkError(max(load.rho for load in model.loads), model.cost_ms, real_ms)
