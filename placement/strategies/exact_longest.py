"""The longest path in the exact search: how short it is at best, under the decisions made so far.

From the sources on, task by task and host by host: a task that enters a host waits at least as briefly as the luckiest
subset with it there, inside a segment it pays nothing but its work, and each edge comes from the host that is best for
it alone. All of that can only be too low, so a branch in which it is above a flow's bound holds no placement that
keeps it.
"""

import math
from dataclasses import dataclass

import numpy as np

from placement.evaluator_travel import travel_matrix_ms
from placement.model.flow import Flow
from placement.model.problem import Problem
from placement.queueing import wire_stream
from placement.queueing.arrays import SERVICE, Array
from placement.strategies.exact_bound import Decisions
from placement.strategies.exact_tables import Tables
from placement.strategies.protocol import BoundTooTight

ROUNDING = 1e-9
"""Sums in another order differ by less than this share."""


@dataclass(frozen=True)
class Promise:
    """A flow with a bound, and what its longest path pays at least."""

    flow: Flow
    first: int
    """The number of its first task in the tables."""
    ends: tuple[tuple[int, int], ...]
    """By edge: the hosts of the source and the sink that it joins, -1 where that is a task."""
    travels: tuple[Array, ...]
    """By edge: [tail's host, head's host]."""
    waits: Array
    """[task, host]: the shortest wait in the queue there with that task."""
    services: Array
    """[task, host]: what the task adds to a path."""

    def least_ms(self, decisions: Decisions) -> float:
        """No placement under the decisions has a shorter longest path."""
        graph, reached = self.flow.graph, np.zeros_like(self.waits)
        for task in graph.order:
            arriving = np.maximum.reduce([self._entering(edge.index, task, reached) for edge in graph.into[task]])
            arriving[decisions.never >> (self.first + task) & 1 == 1] = math.inf
            reached[task] = arriving + self.services[task]
        return max(self._leaving(edge.index, reached) for edge in graph.sink_edges)

    def check(self, decisions: Decisions) -> bool:
        """Whether the bound may be kept under the decisions."""
        return self.least_ms(decisions) <= self.flow.latency_bound_ms * (1.0 + ROUNDING)

    def _entering(self, edge: int, task: int, reached: Array) -> Array:
        source = self.ends[edge][0]
        if source >= 0:
            entered: Array = self.travels[edge][source] + self.waits[task]
            return entered
        before = reached[self.flow.graph.edges[edge].tail_task]
        ways = before[:, None] + self.travels[edge] + self.waits[task][None, :]
        np.fill_diagonal(ways, before)
        inside: Array = ways.min(axis=0)
        return inside

    def _leaving(self, edge: int, reached: Array) -> float:
        source, sink = self.ends[edge]
        travel = self.travels[edge][:, sink]
        if source >= 0:
            return float(travel[source])
        return float((reached[self.flow.graph.edges[edge].tail_task] + travel).min())


def promises(problem: Problem, tables: Tables) -> tuple[Promise, ...]:
    """Of all flows that have a bound."""
    found, first = [], 0
    for flow in problem.flows:
        if math.isfinite(flow.latency_bound_ms):
            found.append(_promise(problem, tables, flow, first))
        first += len(flow.tasks)
    return tuple(found)


def refuse_too_tight(kept: tuple[Promise, ...], decisions: Decisions) -> None:
    """Raise if some flow's bound can't be kept, whatever the others do."""
    for promise in kept:
        least_ms, bound_ms = promise.least_ms(decisions), promise.flow.latency_bound_ms
        if math.isfinite(least_ms) and least_ms > bound_ms * (1.0 + ROUNDING):
            raise BoundTooTight(
                f"{promise.flow.name}: its longest path takes {least_ms:.1f} ms or more wherever its tasks are, "
                f"{least_ms - bound_ms:.1f} ms above its bound of {bound_ms:g} ms; relax it or add a nearer host"
            )


def _promise(problem: Problem, tables: Tables, flow: Flow, first: int) -> Promise:
    network, graph = problem.network, flow.graph
    subsets = np.arange(1 << tables.task_count)
    # More subsets than can be there with the tasks' neighbours: that only makes the wait shorter.
    waits = [tables.waits[subsets >> (first + task) & 1 == 1].min(axis=0) for task in range(graph.task_count)]
    works = np.array(_least_works_vwu(flow))[:, None]
    with np.errstate(invalid="ignore"):  # no work on a host without capacity
        services = np.where(works > 0.0, works * tables.factors[SERVICE], 0.0)
    streams = [wire_stream(edge.rate_per_ms, edge.message_bytes) for edge in graph.edges]
    return Promise(
        flow,
        first,
        tuple(
            (
                network.host_index[edge.tail_host] if edge.from_source else -1,
                network.host_index[edge.head_host] if edge.to_sink else -1,
            )
            for edge in graph.edges
        ),
        tuple(travel_matrix_ms(network, problem.wire_loads, each, cap=problem.utilisation_cap) for each in streams),
        np.array(waits).reshape(graph.task_count, tables.host_count),
        services,
    )


def _least_works_vwu(flow: Flow) -> list[float]:
    """What each task adds to a path through it. Where a segment forks, other branches count by their means (decision
    314), so a filter in the same segment spares those behind it at most its factor."""
    graph = flow.graph
    spared = [1.0] * graph.task_count
    for task in graph.order:
        spared[task] = min(
            1.0 if edge.from_source else spared[edge.tail_task] * min(1.0, edge.factor) for edge in graph.into[task]
        )
    return [share * task.service_vwu for share, task in zip(spared, flow.tasks, strict=True)]
