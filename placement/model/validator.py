"""The one validator: every placement that somebody sees whole, from a strategy, a user or a file, passes here before
anything acts on it.

It asks whether a placement can run: everything known, everything placed, ends where they are pinned, no host or
wire overbooked by all flows together, every tap sound. How good a placement is (latency, slack) is the evaluator's
question.

Nobody sees whole what ants place. Each host's own ledger keeps it from being overbooked, and nobody books a wire
(decision 47): leaders that place at the same time can fill one together. The simulator's invariants and `ants/links`
ask here afterwards.
"""

import math
from dataclasses import dataclass
from enum import Enum

from placement.model.flow import Flow
from placement.model.placement import Placement, Tap
from placement.model.problem import Problem
from placement.model.residents import crossings, host_load, masks_by_host, own_hosts, tap_hosts
from placement.queueing import Load


class Rule(Enum):
    """What a placement can break."""

    UNKNOWN = "names a flow, task or host that is not in the problem"
    PINNED = "moves a source or sink from its host"
    INCOMPLETE = "leaves a task without a host"
    CAPACITY = "puts a task on a host that takes none"
    OVERBOOKED = "loads a host to its cap or beyond"
    UNREACHABLE = "joins two hosts with no way between them"
    WIRE = "loads a wire to its cap or beyond"
    REUSE = "taps a task that can't serve"
    IDLE = "runs a task that feeds only tapped ones"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: where, how much, and what to do next."""

    rule: Rule
    message: str
    flow: str = ""
    task: str = ""
    host: str = ""


def violations(problem: Problem, placement: Placement) -> tuple[Violation, ...]:
    """Everything wrong with a placement; empty means that it can run."""
    found = _unknown(problem, placement)
    for flow in problem.flows:
        found += _pinned(flow, placement)
        found += _complete(flow, placement)
    for tap in placement.taps:
        found += _reuse(problem, placement, tap)
    found += _tap_circles(placement)
    found += _hosts(problem, placement)
    found += _ways(problem, placement)
    return tuple(found)


def _unknown(problem: Problem, placement: Placement) -> list[Violation]:
    found = []
    for flow_name, task, host in placement.spots:
        flow = problem.flow_of.get(flow_name)
        where = {"flow": flow_name, "task": task, "host": host}
        if flow is None:
            found.append(Violation(Rule.UNKNOWN, f"no flow {flow_name!r} here; submit it first", **where))
        elif task not in flow.names:
            found.append(Violation(Rule.UNKNOWN, f"flow {flow_name} has no task {task!r}", **where))
        if host not in problem.network.host_index:
            found.append(Violation(Rule.UNKNOWN, f"no host {host!r}; choose a host that is up", **where))
    return found


def _pinned(flow: Flow, placement: Placement) -> list[Violation]:
    ends = [(source.name, source.host) for source in flow.sources] + [(sink.name, sink.host) for sink in flow.sinks]
    found = []
    for name, pinned in ends:
        host = placement.host_of(flow.name, name)
        if host is not None and host != pinned:
            message = f"{flow.name}/{name} is pinned to {pinned}, not {host}; leave ends out or where they are"
            found.append(Violation(Rule.PINNED, message, flow.name, name, host))
    return found


def _complete(flow: Flow, placement: Placement) -> list[Violation]:
    graph = flow.graph
    tapped = frozenset(task for name, task in graph.task_index.items() if (flow.name, name) in placement.tapped)
    needed = graph.needed(tapped)
    found = []
    for name, task in graph.task_index.items():
        host = placement.host_of(flow.name, name)
        if task in needed and host is None:
            found.append(Violation(Rule.INCOMPLETE, f"{flow.name}/{name} has no host; place it", flow.name, name))
        if task not in needed and host is not None:
            why = "is tapped" if task in tapped else "feeds only tapped tasks"
            message = f"{flow.name}/{name} {why} and still has a host; drop its spot"
            found.append(Violation(Rule.IDLE, message, flow.name, name, host))
    return found


def _reuse(problem: Problem, placement: Placement, tap: Tap) -> list[Violation]:
    flow, other = problem.flow_of.get(tap.flow), problem.flow_of.get(tap.to_flow)
    if flow is None or tap.task not in flow.graph.task_index:
        why = "there is no such task to replace"
    elif other is None or tap.to_task not in other.graph.task_index:
        why = "there is no such task to tap"
    else:
        mine = flow.tasks[flow.graph.task_index[tap.task]].identity
        theirs = other.tasks[other.graph.task_index[tap.to_task]].identity
        why = _unfit(placement, tap, mine, theirs)
    if not why:
        return []
    message = f"{tap.flow}/{tap.task} taps {tap.to_flow}/{tap.to_task}: {why}"
    return [Violation(Rule.REUSE, message, tap.flow, tap.task)]


def _unfit(placement: Placement, tap: Tap, mine: str, theirs: str) -> str:
    """Why a tap between two known tasks can't serve; empty if it can."""
    if tap.flow == tap.to_flow:
        return "a flow can't tap itself; draw an edge instead"
    if (tap.to_flow, tap.to_task) in placement.tapped:
        return "that one is tapped itself; tap where it really runs"
    if placement.host_of(tap.to_flow, tap.to_task) is None:
        return "that one runs nowhere; place it first"
    if not mine or mine != theirs:
        return f"identities {mine!r} and {theirs!r} differ or are empty; only equal results can be shared"
    return ""


def _tap_circles(placement: Placement) -> list[Violation]:
    """A flow that taps a flow that taps it back would wait for itself."""
    taps_of: dict[str, set[str]] = {}
    for tap in placement.taps:
        if tap.flow != tap.to_flow:
            taps_of.setdefault(tap.flow, set()).add(tap.to_flow)
    found = []
    for flow in sorted(taps_of):
        reached: set[str] = set()
        waiting = sorted(taps_of[flow])
        while waiting:
            at = waiting.pop()
            if at not in reached:
                reached.add(at)
                waiting += sorted(taps_of.get(at, ()))
        if flow in reached:
            found.append(Violation(Rule.REUSE, f"{flow} taps itself through other flows; run one of the tasks", flow))
    return found


def _hosts(problem: Problem, placement: Placement) -> list[Violation]:
    found = []
    for host, residents in sorted(masks_by_host(problem, placement).items()):
        name = problem.network.hosts[host].name
        if problem.network.hosts[host].capacity <= 0:
            flows = ", ".join(sorted(residents))
            found.append(Violation(Rule.CAPACITY, f"{name} takes no task, holds {flows}; move them", host=name))
            continue
        rho = host_load(problem, host, residents).rho
        if not rho < problem.utilisation_cap:
            message = f"{name}: utilisation {rho:.3f}, cap {problem.utilisation_cap:.3f}; move a task or add a host"
            found.append(Violation(Rule.OVERBOOKED, message, host=name))
    return found


def _ways(problem: Problem, placement: Placement) -> list[Violation]:
    network = problem.network
    found = []
    wires: dict[int, Load] = {}
    for flow in problem.flows:
        own, taps = own_hosts(problem, placement, flow), tap_hosts(problem, placement, flow)
        for edge, origin, target, stream in crossings(network, flow, own, taps):
            if math.isinf(network.delays_ms[origin, target]):
                a, b = network.hosts[origin].name, network.hosts[target].name
                head = flow.edges[edge].head
                message = f"{flow.name}/{head}: no way from {a} to {b}; move it to the same side"
                found.append(Violation(Rule.UNREACHABLE, message, flow.name, head, b))
            elif network.has_queues:
                for wire in network.route(origin, target):
                    load = wires.get(wire, problem.wire_loads[wire])
                    wires[wire] = load.plus(stream.load(network.wire_bandwidths[wire]))
    for wire, load in sorted(wires.items()):
        if not load.rho < problem.utilisation_cap:
            message = f"wire {wire}: utilisation {load.rho:.3f}, cap {problem.utilisation_cap:.3f}; keep tasks together"
            found.append(Violation(Rule.WIRE, message))
    return found
