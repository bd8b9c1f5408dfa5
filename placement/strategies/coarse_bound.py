"""A lower bound for problems of any size: empty queues, the fastest host and the shortest way for everything."""

import math

import numpy as np

from placement.evaluator_paths import end_to_end
from placement.model.flow import Flow
from placement.model.problem import Problem

TINY_MS = 1e-9
"""Stands for no delay between two hosts, where scipy would read 0 as no way."""


def coarse_bound_ms(problem: Problem) -> float:
    """No placement of all flows costs less."""
    from scipy.sparse.csgraph import shortest_path

    fastest = float(problem.network.capacities.max())
    # In an overlay two hops can be faster than the direct way.
    nearest = shortest_path(np.maximum(problem.network.delays_ms, TINY_MS))
    total = 0.0
    for flow in problem.flows:
        ends = [
            float(nearest[problem.network.host_index[source.host], problem.network.host_index[sink.host]])
            for source in flow.sources
            for sink in flow.sinks
        ]
        total += flow.weight * (max(0.0, min(ends) - TINY_MS * len(nearest)) + _least_service_ms(flow, fastest))
    return total


def least_works_vwu(flow: Flow) -> list[float]:
    """What each task adds to a path through it; a filter in the same segment spares those behind it its factor."""
    graph = flow.graph
    spared = [1.0] * graph.task_count
    for task in graph.order:
        spared[task] = min(
            1.0 if edge.from_source else spared[edge.tail_task] * min(1.0, edge.factor) for edge in graph.into[task]
        )
    return [share * task.service_vwu for share, task in zip(spared, flow.tasks, strict=True)]


def _least_service_ms(flow: Flow, fastest: float) -> float:
    """Mean over paths of the work on them."""
    graph = flow.graph
    works = least_works_vwu(flow)
    costs = [0.0] * len(graph.edges)
    for edge in graph.edges:
        if not edge.to_sink:
            costs[edge.index] = works[edge.head_task] / fastest
    least = end_to_end(graph, costs).mean_ms
    assert math.isfinite(least), flow.name
    return least
