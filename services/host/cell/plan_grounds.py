"""What a plan rests on, and what it would cost the network: taken down when it is made, and again when it is approved.

Grounds are flat, a figure a name, so that they travel in a plan as well as in a decision and two of them can be
compared name by name: `packets.rate_per_s`, `edge-1 -> noc.delay_ms`, `noc.busy_share`, `now.cost_ms`. Pure.
"""

import math
from collections.abc import Callable, Mapping

from placement.model import Flow
from placement.model.graph import FlowGraph, GraphEdge

Way = Callable[[str, str], float]
"""The delay of data from a host to another, or to itself, in ms."""


def network_bytes(graph: FlowGraph, where: Mapping[int, str], way_ms: Way) -> float:
    """Bytes a second times delay, over all edges: what is under way at any time (SBON's network usage)."""
    return sum(edge.rate_per_ms * edge.message_bytes * way_ms(*_ends(edge, where)) for edge in graph.edges)


def grounds(
    flow: Flow,
    where: Mapping[int, str],
    way_ms: Way,
    *,
    busy: Mapping[str, float],
    now_cost_ms: float,
) -> dict[str, float]:
    """What a placement of the flow was reckoned from.

    `busy`: of each host that is known, the share of its time; `now_cost_ms`: where the flow runs, NaN if not known.
    """
    ways = {_ends(edge, where) for edge in flow.graph.edges}
    found = {f"{source.name}.rate_per_s": source.rate_per_ms * 1e3 for source in flow.sources}
    found |= {f"{tail} -> {head}.delay_ms": way_ms(tail, head) for tail, head in sorted(ways) if tail != head}
    found |= {f"{host}.busy_share": busy[host] for host in sorted(set(where.values())) if host in busy}
    if math.isfinite(now_cost_ms):
        found["now.cost_ms"] = now_cost_ms
    return found


def _ends(edge: GraphEdge, where: Mapping[int, str]) -> tuple[str, str]:
    return edge.tail_host or where[edge.tail_task], edge.head_host or where[edge.head_task]
