"""Who sits where: a placement turned into masks of tasks by host, and the loads that follow from it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from placement.model.flow import Flow
from placement.model.graph import FlowGraph
from placement.model.placement import Placement
from placement.model.problem import Network, Problem
from placement.queueing import Load, Stream, wire_stream

Masks = dict[int, dict[str, int]]
"""Host index to flow name to the mask of that flow's tasks there."""


def masks_by_host(problem: Problem, placement: Placement) -> Masks:
    """Only what names a task of a flow and a host of this problem counts; the validator reports the rest."""
    masks: Masks = {}
    for flow_name, task_name, host_name in placement.spots:
        flow, host = problem.flow_of.get(flow_name), problem.network.host_index.get(host_name)
        task = flow.graph.task_index.get(task_name) if flow else None
        if host is None or task is None:
            continue
        here = masks.setdefault(host, {})
        here[flow_name] = here.get(flow_name, 0) | 1 << task
    return masks


def resident_load(
    capacity: float, base: Load, residents: Mapping[str, int], graph_of: Callable[[str], FlowGraph]
) -> Load:
    """A host's background plus its residents; flows in order of name, so that sums come out the same every time."""
    if residents and capacity <= 0.0:
        return base._replace(rho=math.inf)
    load = base
    for name in sorted(residents):
        load = load.plus_scaled(graph_of(name).demand(residents[name]).load, capacity)
    return load


def host_load(problem: Problem, host: int, residents: Mapping[str, int]) -> Load:
    """The load of one host of a problem with those residents."""
    capacity, base = problem.network.hosts[host].capacity, problem.host_loads[host]
    return resident_load(capacity, base, residents, lambda name: problem.flow_of[name].graph)


class Crossing(NamedTuple):
    """One edge of a flow whose messages go from one host to another."""

    edge: int
    origin: int
    target: int
    stream: Stream


def crossings(network: Network, flow: Flow, own: Sequence[int | None], taps: Mapping[int, int]) -> list[Crossing]:
    """The flow's edges between hosts: `own` is each task's host, `taps` the hosts where tapped tasks really run."""
    index = network.host_index
    found = []
    for edge in flow.graph.edges:
        origin = index[edge.tail_host] if edge.from_source else taps.get(edge.tail_task, own[edge.tail_task])
        target = index[edge.head_host] if edge.to_sink else own[edge.head_task]
        if origin is not None and target is not None and origin != target:
            found.append(Crossing(edge.index, origin, target, wire_stream(edge.rate_per_ms, edge.message_bytes)))
    return found


def own_hosts(problem: Problem, placement: Placement, flow: Flow) -> tuple[int | None, ...]:
    """The host index of each task that runs for this flow itself; None where it is tapped, idle or not placed."""
    names = (placement.host_of(flow.name, task.name) for task in flow.tasks)
    return tuple(None if name is None else problem.network.host_index.get(name) for name in names)


def tap_hosts(problem: Problem, placement: Placement, flow: Flow) -> dict[int, int]:
    """Task index to the host index where the tapped task really runs."""
    found = {}
    for name, task in flow.graph.task_index.items():
        tap = placement.tapped.get((flow.name, name))
        host = placement.host_of(tap.to_flow, tap.to_task) if tap else None
        if host in problem.network.host_index:
            found[task] = problem.network.host_index[host]
    return found
