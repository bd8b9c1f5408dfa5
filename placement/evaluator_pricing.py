"""Price one flow that is not there yet: what it would feel, and what others would feel of it.

`price_on_host` is what one cell can answer from its own load, in constant time. `price_flow` prices a complete
hypothetical placement of a flow at once, exactly: tasks that meet on a host are priced together, also when the flow
comes back to a host. Loads given to both must not yet include the flow itself.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from placement.evaluator_paths import Latency, end_to_end
from placement.evaluator_travel import travel_ms
from placement.model.flow import Flow
from placement.model.graph import FlowGraph
from placement.model.problem import Network
from placement.model.residents import crossings
from placement.queueing import IDLE, UTILISATION_CAP, Load, wait_ms


class HostPrice(NamedTuple):
    """What a set of tasks of one flow costs on one host. Infinite where the host would be too full."""

    own_ms: float
    """The flow's own wait and service here, each stream counted by the share of the flow's paths it carries."""
    impact_ms: float
    """Social price: weighted streams already here times what their wait grows by (DESIGN section 5, n * delta Q)."""
    wait_ms: float
    """The wait in this host's queue afterwards."""
    rho: float
    """The host's utilisation afterwards."""


class FlowPrice(NamedTuple):
    """What a complete hypothetical placement of one flow costs: the body of a scout report."""

    latency: Latency
    impact_ms: float
    travel_ms: float
    """The part of the mean latency that is spent between hosts."""
    hosts: tuple[tuple[int, HostPrice], ...]
    """(host index, price) of each host used, sorted."""

    def cost_ms(self, weight: float = 1.0, *, social: bool = True) -> float:
        """One number to compare placements by: weighted mean latency, plus the impact on others if social."""
        return weight * self.latency.mean_ms + (self.impact_ms if social else 0.0)


NO_ROOM = HostPrice(math.inf, math.inf, math.inf, math.inf)


def price_on_host(graph: FlowGraph, mask: int, capacity: float, load: Load, cap: float = UTILISATION_CAP) -> HostPrice:
    """Price the tasks in `mask` (bits by task index) together on one host."""
    if capacity <= 0.0:
        return NO_ROOM
    demand = graph.demand(mask)
    after = load.plus_scaled(demand.load, capacity)
    wait = wait_ms(after, cap)
    if wait == math.inf:
        return HostPrice(math.inf, math.inf, math.inf, after.rho)
    own = demand.path_share * wait + demand.path_work / capacity
    impact = load.weight * (wait - wait_ms(load, cap)) if load.weight else 0.0
    return HostPrice(own, impact, wait, after.rho)


def price_flow(
    network: Network,
    flow: Flow,
    hosts: Sequence[int],
    loads: Sequence[Load],
    wire_loads: Sequence[Load] = (),
    *,
    cap: float = UTILISATION_CAP,
) -> FlowPrice:
    """Price `flow` with task i at host index `hosts[i]`, on hosts and wires with those loads."""
    graph = flow.graph
    masks: dict[int, int] = {}
    for task, host in enumerate(hosts):
        masks[host] = masks.get(host, 0) | 1 << task
    edge_ms = [0.0] * len(graph.edges)
    prices = []
    for host, mask in sorted(masks.items()):
        capacity = network.hosts[host].capacity
        price = price_on_host(graph, mask, capacity, loads[host], cap)
        prices.append((host, price))
        for edge, stream in graph.streams(mask):
            edge_ms[edge] = price.wait_ms + (stream.path_work / capacity if capacity else math.inf)
    travel = _travel(network, flow, hosts, wire_loads, cap)
    mean_travel = 0.0
    for edge, delay in travel.items():
        edge_ms[edge] += delay
        mean_travel += graph.edges[edge].path_share * delay
    impact = sum(price.impact_ms for _, price in prices)
    return FlowPrice(end_to_end(graph, edge_ms), impact, mean_travel, tuple(prices))


def _travel(
    network: Network, flow: Flow, hosts: Sequence[int], wire_loads: Sequence[Load], cap: float
) -> Mapping[int, float]:
    """Edge index to travel time, for edges between two hosts; the flow's own edges load the wires first."""
    found = crossings(network, flow, hosts, {})
    after: Sequence[Load] = wire_loads
    if network.has_queues:
        grown = list(wire_loads or (IDLE,) * len(network.wire_delays_ms))
        for _, origin, target, stream in found:
            if math.isfinite(network.delays_ms[origin, target]):
                for wire in network.route(origin, target):
                    grown[wire] = grown[wire].plus(stream.load(network.wire_bandwidths[wire]))
        after = grown
    return {edge: travel_ms(network, after, stream, origin, target, cap=cap) for edge, origin, target, stream in found}
