"""Steepest descent over single-task moves, for all flows at once, in arrays.

The price of moving task t from host a to host h is exact and local: what h pays more with t (streams of t's flow on h
change from one subset to another), what a pays less without it, and the travel on t's edges. Three tables hold these
for all tasks and hosts; a move makes stale only the columns of its two hosts, and the travel of its flow. Queues before
wires are taken at their background load here; the evaluator has the last word.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from placement.evaluator_travel import travel_matrix_ms
from placement.model.graph import FlowGraph
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.queueing import wire_stream
from placement.queueing.arrays import SERVICE, SUMS, WEIGHT, Array, background_sums, scale, stream_sums, waits_ms

Indices = NDArray[np.intp]
SMALLEST_GAIN = 1e-9
"""Moves that gain a smaller share of the whole cost than this are rounding."""


class Descent:
    """A placement under improvement. Tasks of all flows are numbered through."""

    def __init__(self, problem: Problem, start: Placement) -> None:
        network = problem.network
        self._problem = problem
        self._cap = problem.utilisation_cap
        self._names = [(flow.name, task.name) for flow in problem.flows for task in flow.tasks]
        self._flow_of = np.array([i for i, flow in enumerate(problem.flows) for _ in flow.tasks], dtype=np.intp)
        firsts = np.cumsum([0] + [len(flow.tasks) for flow in problem.flows])
        self._tasks_of = [np.arange(firsts[i], firsts[i + 1]) for i in range(len(problem.flows))]
        self._graphs = [flow.graph for flow in problem.flows]
        self._units: list[dict[int, Array]] = [{0: np.zeros(SUMS)} for _ in problem.flows]
        self._factors = scale(network.capacities)
        self.where: Indices = np.array([network.host_index[start.hosts[name]] for name in self._names], dtype=np.intp)
        count, hosts = len(self._names), len(network.hosts)
        self._delays, self._per_byte = _travel(problem)
        self._masks: list[dict[int, int]] = [{} for _ in problem.flows]
        for task in range(count):
            masks, flow = self._masks[self._flow_of[task]], self._flow_of[task]
            masks[int(self.where[task])] = masks.get(int(self.where[task]), 0) | 1 << int(task - firsts[flow])
        self._background = background_sums(problem.host_loads)
        self._background[WEIGHT] = 0.0  # only the flows to be placed count
        self._flows_at: list[set[int]] = [set() for _ in network.hosts]
        for flow, masks in enumerate(self._masks):
            for host in masks:
                self._flows_at[host].add(flow)
        self._loads = self._background.copy()
        self._joining = np.zeros((SUMS, hosts, count))
        self._leaving = np.zeros((SUMS, count))
        self._travel = np.zeros((hosts, count))
        for flow, tasks in enumerate(self._tasks_of):
            for task in tasks.tolist():
                self._joining[:, :, task] = self._unit(flow, 1 << task - int(tasks[0]))[:, None]
            self._refresh_flow(flow, self._masks[flow])
        self._paid = np.zeros(hosts)
        self._more = np.zeros((hosts, count))
        self._less = np.zeros(count)
        self._refresh_hosts(np.arange(hosts))

    @property
    def placement(self) -> Placement:
        names = [host.name for host in self._problem.network.hosts]
        return Placement.of({key: names[int(host)] for key, host in zip(self._names, self.where, strict=True)})

    def step(self, at_most: int) -> int:
        """Make the best move, and up to `at_most` in all whose hosts and flows don't touch; returns how many."""
        every = np.arange(len(self.where))
        more = self._more + self._travel
        with np.errstate(invalid="ignore"):  # from one full host to another
            change = more - (self._less + self._travel[self.where, every])
        change[np.isinf(more)] = math.inf
        change[self.where, every] = math.inf
        targets = change.argmin(axis=0)
        gains = change[targets, every]
        enough = -SMALLEST_GAIN * float(self._paid[np.isfinite(self._paid)].sum())
        order = np.argsort(gains, kind="stable")
        hosts: set[int] = set()
        flows: dict[int, tuple[int, int]] = {}
        for task in order[: 8 * at_most]:
            origin, target, flow = int(self.where[task]), int(targets[task]), int(self._flow_of[task])
            if not gains[task] < enough or len(flows) == at_most:
                break
            if origin in hosts or target in hosts or flow in flows:
                continue
            hosts |= {origin, target}
            flows[flow] = origin, target
            self._move(int(task), origin, target)
        for flow, touched in flows.items():
            self._refresh_flow(flow, touched)
        if flows:
            self._refresh_hosts(np.array(sorted(hosts), dtype=np.intp))
        return len(flows)

    def _move(self, task: int, origin: int, target: int) -> None:
        flow = int(self._flow_of[task])
        masks, bit = self._masks[flow], 1 << int(task - self._tasks_of[flow][0])
        masks[target] = masks.get(target, 0) | bit
        self._flows_at[target].add(flow)
        masks[origin] &= ~bit
        if not masks[origin]:
            del masks[origin]
            self._flows_at[origin].discard(flow)
        self.where[task] = target

    def _unit(self, flow: int, mask: int) -> Array:
        """The streams that enter a host holding that subset of the flow, at capacity 1."""
        known = self._units[flow].get(mask)
        if known is None:
            sums = [stream_sums(stream) for _, stream in self._graphs[flow].streams(mask)]
            known = self._units[flow][mask] = np.array(sums).sum(axis=0)
        return known

    def _refresh_flow(self, flow: int, hosts: Iterable[int]) -> None:
        """Tables of one flow's tasks after one of them moved between these hosts: what they bring, take and travel."""
        tasks, masks = self._tasks_of[flow], self._masks[flow]
        first = int(tasks[0]) if len(tasks) else 0
        for host in hosts:
            mask = masks.get(host, 0)
            here = self._unit(flow, mask)
            for task in tasks.tolist():
                bit = 1 << task - first
                if mask & bit:
                    self._leaving[:, task] = self._unit(flow, mask & ~bit) - here
                else:
                    self._joining[:, host, task] = self._unit(flow, mask | bit) - here
        self._travel[:, tasks] = self._travel_rows(self._graphs[flow], first).T

    def _travel_rows(self, graph: FlowGraph, first: int) -> Array:
        index: Mapping[str, int] = self._problem.network.host_index
        rows = np.zeros((graph.task_count, self._factors.shape[1]))
        for edge in graph.edges:
            weight = graph.flow.weight * edge.path_share
            if not edge.to_sink:
                tail = index[edge.tail_host] if edge.from_source else self.where[first + edge.tail_task]
                rows[edge.head_task] += weight * (self._delays[tail] + edge.message_bytes * self._per_byte[tail])
            if not edge.from_source:
                head = index[edge.head_host] if edge.to_sink else self.where[first + edge.head_task]
                rows[edge.tail_task] += weight * (self._delays[:, head] + edge.message_bytes * self._per_byte[:, head])
        return rows

    def _refresh_hosts(self, hosts: Indices) -> None:
        """What joining costs at those hosts, and what leaving them saves, for all tasks."""
        for host in hosts:
            # Summed anew, not added to and subtracted from: an emptied host is exactly empty.
            self._loads[:, host] = self._background[:, host]
            for flow in sorted(self._flows_at[host]):
                self._loads[:, host] += self._unit(flow, self._masks[flow][int(host)]) * self._factors[:, host]
        self._paid[hosts] = self._pay(self._loads[:, hosts])
        after = self._joining[:, hosts] * self._factors[:, hosts, None]
        after += self._loads[:, hosts, None]
        paid = self._paid[hosts, None]
        self._more[hosts] = np.where(np.isinf(paid), math.inf, _minus(self._pay(after), paid))
        self._refresh_less(np.flatnonzero(np.isin(self.where, hosts)))

    def _refresh_less(self, tasks: Indices) -> None:
        hosts = self.where[tasks]
        after = self._loads[:, hosts] + self._leaving[:, tasks] * self._factors[:, hosts]
        still = self._pay(after)
        # A host that stays too full without the task is no better for it.
        self._less[tasks] = np.where(np.isinf(still), 0.0, _minus(self._paid[hosts], still))

    def _pay(self, sums: Array) -> Array:
        """What all streams of a host pay there together."""
        waits = waits_ms(sums, self._cap)
        with np.errstate(invalid="ignore"):
            paid: Array = sums[WEIGHT] * waits + sums[SERVICE]
        paid[np.isinf(waits)] = math.inf
        return paid


def _minus(one: Array, other: Array) -> Array:
    """The difference; not a number where both are infinite."""
    with np.errstate(invalid="ignore"):
        return one - other


def _travel(problem: Problem) -> tuple[Array, Array]:
    """Travel between all pairs as a fixed part (propagation, waits at background load) and a part per byte."""
    network = problem.network
    zero = np.zeros_like(network.delays_ms)
    if not network.has_queues:
        return network.delays_ms, zero
    cap = problem.utilisation_cap
    fixed = travel_matrix_ms(network, problem.wire_loads, wire_stream(0.0, 0.0), cap=cap)
    one_byte = travel_matrix_ms(network, problem.wire_loads, wire_stream(0.0, 1.0), cap=cap)
    with np.errstate(invalid="ignore"):
        return fixed, np.where(np.isinf(fixed), 0.0, one_byte - fixed)
