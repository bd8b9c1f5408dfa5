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


def _least_service_ms(flow: Flow, fastest: float) -> float:
    """Mean over paths of the work on them, each task once."""
    graph = flow.graph
    costs = [0.0] * len(graph.edges)
    for edge in graph.edges:
        if not edge.to_sink:
            costs[edge.index] = flow.tasks[edge.head_task].service_vwu / fastest
    least = end_to_end(graph, costs).mean_ms
    assert math.isfinite(least), flow.name
    return least
