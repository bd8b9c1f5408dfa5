"""Place tasks one after the other, each on the first host of its own preference that still has room.

A task's share of a host's utilisation is its rate times its service time whether it runs fused or not, so room is a
plain sum.
"""

from collections.abc import Callable, Iterable

from placement.model.flow import Flow
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.strategies.protocol import NoFeasibleHost

Preference = Callable[[Flow, int], Iterable[int]]
"""(flow, task index) to host indices, best first."""


def task_rho(flow: Flow, task: int) -> float:
    """A task's utilisation of a host of capacity 1."""
    arriving = sum(edge.rate_per_ms for edge in flow.graph.into[task])
    return arriving * flow.tasks[task].service_vwu


def fill(problem: Problem, preference: Preference) -> Placement:
    """All tasks of all flows, flows in order of name, tasks in order of the stream."""
    network = problem.network
    used = [load.rho for load in problem.host_loads]
    hosts: dict[tuple[str, str], str] = {}
    for flow in problem.flows:
        for task in flow.graph.order:
            need = task_rho(flow, task)
            chosen = _first_with_room(problem, used, need, preference(flow, task))
            if chosen is None:
                name = f"{flow.name}/{flow.tasks[task].name}"
                raise NoFeasibleHost(_explain(problem, used, name, need))
            used[chosen] += need / network.hosts[chosen].capacity
            hosts[flow.name, flow.tasks[task].name] = network.hosts[chosen].name
    return Placement.of(hosts)


def _first_with_room(problem: Problem, used: list[float], need: float, order: Iterable[int]) -> int | None:
    for host in order:
        capacity = problem.network.hosts[host].capacity
        if capacity > 0.0 and used[host] + need / capacity < problem.utilisation_cap:
            return host
    return None


def _explain(problem: Problem, used: list[float], name: str, need: float) -> str:
    rooms = [
        (max(0.0, problem.utilisation_cap - used[index]) * host.capacity, host.name)
        for index, host in enumerate(problem.network.hosts)
    ]
    room, host = max(rooms)
    return f"{name}: needs {need:.3f} VWU/ms, the emptiest host {host} has {room:.3f}; add a host or withdraw a flow"
