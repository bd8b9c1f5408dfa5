"""A closer look at a placement: how irregular a stream arrives depends on the servers that it came through.

Prices take the variation of a stream from its source and the operators on the way (decision 0031): local, so that
one changed task stays cheap to price. Here the variation is followed through the hosts: what leaves a server is as
regular as its service when busy and as its arrivals when idle (`departure_ca2`), and a stream that is a small part
of what leaves looks random (QNA's splitting). A placement can send flows in circles over hosts, so the sweep is
repeated; it settles in a few rounds.
"""

from collections.abc import Mapping

from placement.evaluator_edges import edge_costs_ms
from placement.evaluator_paths import Latency, end_to_end
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.model.residents import Masks, masks_by_host, own_hosts
from placement.queueing import (
    Load,
    Stream,
    aggregate_ca2,
    aggregate_cs2,
    departure_ca2,
    load_of,
    scaled_ca2,
    wait_ms,
)

Variations = Mapping[tuple[str, int], float]
"""(flow, edge index) to the ca2 of the stream on that edge."""


def latencies_with_departures(problem: Problem, placement: Placement, *, sweeps: int = 10) -> dict[str, Latency]:
    """Latency of each flow with variation followed through the hosts. For placements without taps and wire queues."""
    assert not placement.taps, "a tapped stream leaves a segment of another flow; price the flows without taps"
    masks = masks_by_host(problem, placement)
    variations: Variations = {}
    for _ in range(sweeps):
        variations = _leave(problem, masks, variations, _loads(problem, masks, variations))
    waits = [wait_ms(load, problem.utilisation_cap) for load in _loads(problem, masks, variations)]
    found = {}
    for flow in problem.flows:
        costs = edge_costs_ms(
            problem.network,
            flow,
            own_hosts(problem, placement, flow),
            {},
            wait_at=waits.__getitem__,
            wire_loads=problem.wire_loads,
            cap=problem.utilisation_cap,
        )
        found[flow.name] = end_to_end(flow.graph, costs)
    return found


def _streams(problem: Problem, name: str, mask: int, variations: Variations) -> list[tuple[int, Stream]]:
    streams = problem.flow_of[name].graph.streams(mask)
    return [(edge, stream._replace(ca2=variations.get((name, edge), stream.ca2))) for edge, stream in streams]


def _loads(problem: Problem, masks: Masks, variations: Variations) -> list[Load]:
    loads = list(problem.host_loads)
    for host, residents in masks.items():
        capacity = problem.network.hosts[host].capacity
        for name in sorted(residents):
            entering = _streams(problem, name, residents[name], variations)
            loads[host] = load_of((stream for _, stream in entering), capacity, loads[host])
    return loads


def _leave(problem: Problem, masks: Masks, variations: Variations, loads: list[Load]) -> Variations:
    """The variation of every stream that leaves a host, from what the host does to its arrivals."""
    found: dict[tuple[str, int], float] = {}
    for host, residents in sorted(masks.items()):
        load = loads[host]
        if not load.rho < 1.0:
            continue
        together = departure_ca2(load.rho, aggregate_cs2(load), aggregate_ca2(load))
        for name in sorted(residents):
            mask = residents[name]
            graph = problem.flow_of[name].graph
            entering = sum(stream.rate_per_ms for _, stream in _streams(problem, name, mask, variations))
            part = entering / load.rate_per_ms
            own = part * together + 1.0 - part
            for task in graph.tasks_in(mask):
                for edge in graph.out_of[task]:
                    if edge.to_sink or not mask >> edge.head_task & 1:
                        found[name, edge.index] = scaled_ca2(own, edge.rate_per_ms / entering)
    return found
