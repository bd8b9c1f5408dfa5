"""The evaluator: what a placement of all flows is worth, computed from scratch.

Loads from who sits where, waits from loads (eqs 3-9), edge costs from waits, latencies along the paths. Slow and
plain on purpose: the incremental ledger and every strategy's own arithmetic are held to what this says.
"""

import math
from dataclasses import dataclass

from placement.evaluator_edges import edge_costs_ms
from placement.evaluator_paths import Latency, arrivals, end_to_end
from placement.model.flow import Flow
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.model.residents import crossings, host_load, masks_by_host, own_hosts, tap_hosts
from placement.queueing import Load, wait_ms


@dataclass(frozen=True, slots=True)
class FlowWorth:
    """One flow's latency under a placement, and what is left to its bound."""

    flow: str
    latency: Latency
    slack_ms: float
    """QoS bound minus the longest path; negative is a broken promise."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All flows, in order of name, and the loads that explain them."""

    flows: tuple[FlowWorth, ...]
    cost_ms: float
    """Sum over flows of weight times mean latency: what strategies minimise."""
    loads: tuple[Load, ...]
    wire_loads: tuple[Load, ...]

    def of(self, flow: str) -> FlowWorth:
        """The worth of one flow."""
        return next(worth for worth in self.flows if worth.flow == flow)


def evaluate(problem: Problem, placement: Placement) -> Evaluation:
    """Price a placement. What can't run costs infinity; the validator says why."""
    loads = list(problem.host_loads)
    for host, residents in masks_by_host(problem, placement).items():
        loads[host] = host_load(problem, host, residents)
    wire_loads = _wire_loads(problem, placement)
    waits = [wait_ms(load, problem.utilisation_cap) for load in loads]
    known: dict[str, tuple[Latency, dict[int, Latency]]] = {}

    def latency(flow: Flow, above: frozenset[str]) -> tuple[Latency, dict[int, Latency]]:
        if flow.name in above:
            raise ValueError(f"taps go in a circle through {flow.name}; validate a placement before pricing it")
        if flow.name not in known:
            taps = {}
            for name, task in flow.graph.task_index.items():
                tap = placement.tapped.get((flow.name, name))
                if tap:
                    other = problem.flow_of[tap.to_flow]
                    taps[task] = latency(other, above | {flow.name})[1][other.graph.task_index[tap.to_task]]
            costs = edge_costs_ms(
                problem.network,
                flow,
                own_hosts(problem, placement, flow),
                tap_hosts(problem, placement, flow),
                wait_at=waits.__getitem__,
                wire_loads=wire_loads,
                cap=problem.utilisation_cap,
            )
            known[flow.name] = end_to_end(flow.graph, costs, taps), arrivals(flow.graph, costs, taps)
        return known[flow.name]

    worths = []
    for flow in problem.flows:
        whole = latency(flow, frozenset())[0]
        worths.append(FlowWorth(flow.name, whole, flow.latency_bound_ms - whole.longest_ms))
    cost = math.fsum(problem.flow_of[worth.flow].weight * worth.latency.mean_ms for worth in worths)
    return Evaluation(tuple(worths), cost, tuple(loads), tuple(wire_loads))


def _wire_loads(problem: Problem, placement: Placement) -> list[Load]:
    network = problem.network
    loads = list(problem.wire_loads)
    if not network.has_queues:
        return loads
    for flow in problem.flows:
        own, taps = own_hosts(problem, placement, flow), tap_hosts(problem, placement, flow)
        for _, origin, target, stream in crossings(network, flow, own, taps):
            if math.isfinite(network.delays_ms[origin, target]):
                for wire in network.route(origin, target):
                    loads[wire] = loads[wire].plus(stream.load(network.wire_bandwidths[wire]))
    return loads
