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
    network = problem.network
    host_count = len(network.hosts)
    starts: dict[str, int] = {}
    names: list[tuple[str, str]] = []
    for flow in problem.flows:
        starts[flow.name] = len(names)
        names += [(flow.name, task.name) for task in flow.tasks]
    count = len(names)
    sums = np.zeros((1 << count, count, SUMS))
    pins = np.zeros((count, host_count))
    joints = []
    constant = 0.0
    index = network.host_index
    for flow in problem.flows:
        start = starts[flow.name]
        part = np.zeros((1 << flow.graph.task_count, flow.graph.task_count, SUMS))
        for mask in range(1, 1 << flow.graph.task_count):
            for edge, stream in flow.graph.streams(mask):
                part[mask, flow.graph.edges[edge].head_task] += stream_sums(stream)
        own = (np.arange(1 << count) >> start) & flow.graph.full_mask
        sums[:, start : start + flow.graph.task_count] = part[own]
        for each in flow.graph.edges:
            stream = wire_stream(each.rate_per_ms, each.message_bytes)
            travel = travel_matrix_ms(network, problem.wire_loads, stream, cap=problem.utilisation_cap)
            weighted = flow.weight * each.path_share * travel
            if each.from_source and each.to_sink:
                constant += float(weighted[index[each.tail_host], index[each.head_host]])
            elif each.from_source:
                pins[start + each.head_task] += weighted[index[each.tail_host]]
            elif each.to_sink:
                pins[start + each.tail_task] += weighted[:, index[each.head_host]]
            else:
                joints.append(Joint(start + each.tail_task, start + each.head_task, weighted))
    factors = scale(network.capacities)
    background = background_sums(problem.host_loads)
    whole = sums.sum(axis=1).T[:, :, None]
    with np.errstate(invalid="ignore"):
        rows = background[:, None] + np.where(whole > 0, whole * factors[:, None], 0.0)
    waits = waits_ms(rows, problem.utilisation_cap)
    impacts = np.zeros_like(waits)
    if social:
        grown = waits - np.where(np.isinf(waits[0]), 0.0, waits[0])
        with np.errstate(invalid="ignore"):  # nobody there, host too full: 0 times infinity
            impacts = np.where(background[WEIGHT] > 0, background[WEIGHT] * grown, 0.0)
    return Tables(count, host_count, tuple(names), constant, pins, tuple(joints), waits, impacts, sums, factors)
