"""The problem and its answers, as values: frozen, sorted, hashable; names outside, integers inside.

How the parts fit, and how to build on them:

    hosts = (Host("h0", capacity=2.0), Host("h1"))
    network = RoutedNetwork(hosts, (Link("h0", "h1", delay_ms=3.0),))    # or OverlayNetwork.sparse(hosts, delays)
    flow = chain("f", Source("in", "h0", rate_per_ms=0.01), (Task("t", service_vwu=4.0),), Sink("out", "h1"))
    problem = Problem(network, (flow,), background=loads)                # loads: one Load a host, or nothing

- *Indices*: `network.host_index[name]`, `network.neighbours[i]`, `network.neighbour_delays_ms[i]`, and
  `network.delays_ms[i, j]` (routed: along the shortest way; overlay: direct). `network.without(hosts, links)` is the
  network after deaths; indices stay.
- *Tasks* are numbered as in `flow.tasks`; a set of tasks is a bit mask. `flow.graph` (FlowGraph) has `edges`, `into`,
  `out_of`, `order`; each GraphEdge knows its rate, message size and `path_share`. `graph.streams(mask)` are the
  streams that enter a host holding exactly these tasks of the flow: fused tasks queue once.
- *Load* (placement.queueing): six sums of a host or wire. `wait_ms(load)` is its queue; `graph.demand(mask).load` are
  the sums of a subset of tasks at capacity 1, and `load.plus_scaled(unit, capacity)` adds them to a host's.
- *Price* (placement.evaluator_pricing): `price_on_host(graph, mask, capacity, load)` for one cell, in constant time;
  `price_flow(network, flow, hosts, loads)` for a complete hypothetical placement, exactly. Loads exclude the flow
  itself (`Ledger.loads_without(name)`).
- *Placement* has names: `Placement.of({(flow, task): host}, taps)`. `Plan.between(flow, epoch, old, new)` has hash
  and moves.
- *Validator*: `violations(problem, placement)`, for every placement from anywhere. Empty means valid.
- *Evaluator* (placement.evaluator): `evaluate(problem, placement)` prices all flows from scratch; `Ledger`
  (placement.evaluator_incremental) keeps loads and latencies while flows come, move and go.
"""

from placement.model.errors import ModelError
from placement.model.flow import Edge, Flow, Sink, Source, Task, chain
from placement.model.graph import FlowGraph, GraphEdge
from placement.model.host import Host
from placement.model.overlay import OverlayNetwork, sparse_neighbours
from placement.model.placement import Placement, Tap, TaskKey
from placement.model.plan import Move, Plan
from placement.model.problem import Network, Problem
from placement.model.routed import Link, RoutedNetwork
from placement.model.validator import Rule, Violation, violations

__all__ = [
    "Edge",
    "Flow",
    "FlowGraph",
    "GraphEdge",
    "Host",
    "Link",
    "ModelError",
    "Move",
    "Network",
    "OverlayNetwork",
    "Placement",
    "Plan",
    "Problem",
    "RoutedNetwork",
    "Rule",
    "Sink",
    "Source",
    "Tap",
    "Task",
    "TaskKey",
    "Violation",
    "chain",
    "sparse_neighbours",
    "violations",
]
