"""The tables of the exact optimum: what every subset of tasks costs on every host.

All unpinned tasks of the problem are numbered through; a subset T is a bit mask. Which streams enter a host depends
only on the subset that sits there, so `cost[T, h]` is exact, whatever the rest does: waits and service of T's
streams on h together with the background. A placement costs the sum over hosts of `cost[T_h, h]` plus travel.
Subsets are 2^K, hence the limit on K.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.evaluator_travel import travel_matrix_ms
from placement.model.problem import Problem
from placement.queueing import wire_stream
from placement.queueing.arrays import SERVICE, SUMS, WEIGHT, Array, background_sums, scale, stream_sums, waits_ms


@dataclass(frozen=True)
class Joint:
    """An edge between two tasks: what it costs if they sit on hosts (row, column). 0 on the diagonal."""

    tail: int
    head: int
    travel: Array


@dataclass(frozen=True)
class Tables:
    """Everything the search needs, as arrays."""

    task_count: int
    host_count: int
    names: tuple[tuple[str, str], ...]
    """(flow, task) of each task number."""
    constant: float
    """What no placement changes: travel straight from sources to sinks."""
    pins: Array
    """[task, host]: travel from the task's sources and to its sinks."""
    joints: tuple[Joint, ...]
    waits: Array
    """[subset, host]: the wait in the queue; infinite where the host would be too full."""
    impacts: Array
    """[subset, host]: what the background pays more; all 0 unless social."""
    sums: Array
    """[subset, task, sum]: the streams that enter the subset at each task, at capacity 1."""
    factors: Array
    """[sum, host]: from capacity 1 to the host's."""

    def cost(self, hosts: NDArray[np.intp]) -> float:
        """The exact cost of a complete placement: hosts by task number."""
        masks: dict[int, int] = {}
        for task, host in enumerate(hosts):
            masks[int(host)] = masks.get(int(host), 0) | 1 << task
        total = self.constant + sum(float(self.pins[task, host]) for task, host in enumerate(hosts))
        total += sum(float(joint.travel[hosts[joint.tail], hosts[joint.head]]) for joint in self.joints)
        for host, mask in masks.items():
            rows = self.sums[mask].sum(axis=0)
            total += float(rows[WEIGHT] * self.waits[mask, host] + rows[SERVICE] * self.factors[SERVICE, host])
            total += float(self.impacts[mask, host])
        return total


def build_tables(problem: Problem, *, social: bool) -> Tables:
    """Compile a problem; takes 2^K times the number of hosts in memory and time."""
    starts: dict[str, int] = {}
    names: list[tuple[str, str]] = []
    for flow in problem.flows:
        starts[flow.name] = len(names)
        names += [(flow.name, task.name) for task in flow.tasks]
    sums = _subset_sums(problem, starts, len(names))
    factors = scale(problem.network.capacities)
    waits, impacts = _host_costs(problem, sums, factors, social=social)
    constant, pins, joints = _travel(problem, starts, len(names))
    hosts = len(problem.network.hosts)
    return Tables(len(names), hosts, tuple(names), constant, pins, joints, waits, impacts, sums, factors)


def _subset_sums(problem: Problem, starts: dict[str, int], count: int) -> Array:
    """[subset, task, sum]: a flow's streams depend on its own tasks in the subset alone."""
    sums = np.zeros((1 << count, count, SUMS))
    for flow in problem.flows:
        graph, start = flow.graph, starts[flow.name]
        part = np.zeros((1 << graph.task_count, graph.task_count, SUMS))
        for mask in range(1, 1 << graph.task_count):
            for edge, stream in graph.streams(mask):
                part[mask, graph.edges[edge].head_task] += stream_sums(stream)
        own = (np.arange(1 << count) >> start) & graph.full_mask
        sums[:, start : start + graph.task_count] = part[own]
    return sums


def _host_costs(problem: Problem, sums: Array, factors: Array, *, social: bool) -> tuple[Array, Array]:
    """[subset, host]: waits, and what they cost the background."""
    background = background_sums(problem.host_loads)
    whole = sums.sum(axis=1).T[:, :, None]
    with np.errstate(invalid="ignore"):
        rows = background[:, None] + np.where(whole > 0, whole * factors[:, None], 0.0)
    waits = waits_ms(rows, problem.utilisation_cap)
    if not social:
        return waits, np.zeros_like(waits)
    grown = waits - np.where(np.isinf(waits[0]), 0.0, waits[0])
    with np.errstate(invalid="ignore"):  # nobody there, host too full: 0 times infinity
        return waits, np.where(background[WEIGHT] > 0, background[WEIGHT] * grown, 0.0)


def _travel(problem: Problem, starts: dict[str, int], count: int) -> tuple[float, Array, tuple[Joint, ...]]:
    """What edges cost: between pinned ends, between a task and a pinned end, between two tasks."""
    network = problem.network
    index = network.host_index
    constant, pins, joints = 0.0, np.zeros((count, len(network.hosts))), []
    for flow in problem.flows:
        start = starts[flow.name]
        for edge in flow.graph.edges:
            stream = wire_stream(edge.rate_per_ms, edge.message_bytes)
            travel = travel_matrix_ms(network, problem.wire_loads, stream, cap=problem.utilisation_cap)
            weighted = flow.weight * edge.path_share * travel
            if edge.from_source and edge.to_sink:
                constant += float(weighted[index[edge.tail_host], index[edge.head_host]])
            elif edge.from_source:
                pins[start + edge.head_task] += weighted[index[edge.tail_host]]
            elif edge.to_sink:
                pins[start + edge.tail_task] += weighted[:, index[edge.head_host]]
            else:
                joints.append(Joint(start + edge.tail_task, start + edge.head_task, weighted))
    return constant, pins, tuple(joints)
