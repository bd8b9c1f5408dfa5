"""End-to-end latency of a flow from the cost of each of its edges: the mean over its paths, and the longest path.

An edge's cost is the travel to its head plus the wait and service at the segment that it enters there; an edge
inside a segment costs nothing, because the segment's service was paid at its entry (Ants eqs 3 and 10). One pass in
topological order, however many paths there are.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from placement.model.graph import FlowGraph, GraphEdge


class Latency(NamedTuple):
    """From sources to one point of the flow, or to all its sinks."""

    mean_ms: float
    longest_ms: float


AT_SOURCE = Latency(0.0, 0.0)


def arrivals(
    graph: FlowGraph, edge_ms: Sequence[float], taps: Mapping[int, Latency] | None = None
) -> dict[int, Latency]:
    """Latency from the sources to the end of each task; a tapped task gives the latency it was tapped at."""
    known: dict[int, Latency] = dict(taps or {})
    for task in graph.order:
        if task not in known:
            known[task] = _merge(graph, graph.into[task], edge_ms, known)
    return known


def end_to_end(graph: FlowGraph, edge_ms: Sequence[float], taps: Mapping[int, Latency] | None = None) -> Latency:
    """Over all paths from any source to any sink."""
    return _merge(graph, graph.sink_edges, edge_ms, arrivals(graph, edge_ms, taps))


def _merge(
    graph: FlowGraph, edges: Sequence[GraphEdge], edge_ms: Sequence[float], known: Mapping[int, Latency]
) -> Latency:
    total, longest, paths = 0.0, 0.0, 0
    for edge in edges:
        before = AT_SOURCE if edge.from_source else known[edge.tail_task]
        count = 1 if edge.from_source else graph.paths_to[edge.tail_task]
        total += count * (before.mean_ms + edge_ms[edge.index])
        longest = max(longest, before.longest_ms + edge_ms[edge.index])
        paths += count
    return Latency(total / paths, longest)
