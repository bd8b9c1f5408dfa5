"""What each edge of one placed flow costs, given the waits at hosts and wires: the step between loads and latency."""

import math
from collections.abc import Callable, Mapping, Sequence

from placement.evaluator_travel import travel_ms
from placement.model.flow import Flow
from placement.model.problem import Network
from placement.model.residents import crossings
from placement.queueing import Load


def edge_costs_ms(
    network: Network,
    flow: Flow,
    own: Sequence[int | None],
    taps: Mapping[int, int],
    *,
    wait_at: Callable[[int], float],
    wire_loads: Sequence[Load],
    cap: float,
) -> list[float]:
    """Travel, wait and service of each edge, by edge index; 0 inside a segment, infinite where a task has no host.

    `own` is the host of each task (None: tapped, idle or not placed), `taps` where tapped tasks run.
    """
    graph = flow.graph
    costs = [0.0] * len(graph.edges)
    masks: dict[int, int] = {}
    for task, host in enumerate(own):
        if host is not None:
            masks[host] = masks.get(host, 0) | 1 << task
    for host, mask in masks.items():
        capacity = network.hosts[host].capacity
        wait = wait_at(host)
        for edge, stream in graph.streams(mask):
            costs[edge] = wait + stream.path_work / capacity if capacity > 0.0 else math.inf
    for edge, origin, target, stream in crossings(network, flow, own, taps):
        costs[edge] += travel_ms(network, wire_loads, stream, origin, target, cap=cap)
    for task in graph.needed(frozenset(taps)):
        if own[task] is None:
            for entering in graph.into[task]:
                costs[entering.index] = math.inf
    return costs
