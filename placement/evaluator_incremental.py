"""A ledger of running flows: loads and latencies kept up to date as flows come, move, change and go.

A change dirties the hosts and wires whose residents changed, and the flows that queue there; only those are
computed again, when somebody asks. A host's load is summed anew from its own residents rather than added to and
subtracted from, so the ledger never drifts: after any history its numbers are those of a ledger that was built at
once. `work` counts what was recomputed; tests hold it to be independent of the flows that a change doesn't touch.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from placement.evaluator_edges import edge_costs_ms
from placement.evaluator_paths import Latency, arrivals, end_to_end
from placement.evaluator_total import ExactTotal
from placement.model.flow import Flow
from placement.model.placement import Placement, Tap
from placement.model.problem import Network, Problem
from placement.model.residents import crossings, resident_load
from placement.queueing import IDLE, UTILISATION_CAP, Load, Stream, load_of, wait_ms

TapTarget = tuple[str, int]
"""(flow name, task index) that serves a tapped task."""


LOST = Latency(math.inf, math.inf)
"""What a task gives that taps a flow which is gone."""


@dataclass(slots=True)
class Work:
    """How often the ledger recomputed something."""

    hosts: int = 0
    wires: int = 0
    flows: int = 0


@dataclass(frozen=True, slots=True)
class Running:
    """One flow in the ledger: the host of each task (None: tapped, idle or not placed) and its taps."""

    flow: Flow
    own: tuple[int | None, ...]
    taps: Mapping[int, TapTarget] = field(default_factory=dict)


class Ledger:
    """Mutable; hosts and tasks are indices here."""

    def __init__(
        self,
        network: Network,
        *,
        background: Sequence[Load] = (),
        wire_background: Sequence[Load] = (),
        cap: float = UTILISATION_CAP,
    ) -> None:
        self.network = network
        self.cap = cap
        self.work = Work()
        self.running: dict[str, Running] = {}
        self._background = list(background or (IDLE,) * len(network.hosts))
        self._wire_background = list(wire_background or (IDLE,) * len(network.wire_delays_ms))
        self._residents: list[dict[str, int]] = [{} for _ in network.hosts]
        self._crossing: dict[int, dict[tuple[str, int], Stream]] = {}
        self._tappers: dict[str, set[str]] = {}
        self._loads = list(self._background)
        self._wire_loads = list(self._wire_background)
        self._waits = [wait_ms(load, cap) for load in self._loads]
        self._dirty_hosts: set[int] = set()
        self._dirty_wires: set[int] = set()
        self._latency: dict[str, tuple[Latency, dict[int, Latency]]] = {}
        self._changed: set[str] = set()
        self._total = ExactTotal()

    @classmethod
    def of(cls, problem: Problem, placement: Placement) -> "Ledger":
        """A ledger that holds a whole placement."""
        ledger = cls(
            problem.network,
            background=problem.host_loads,
            wire_background=problem.wire_loads,
            cap=problem.utilisation_cap,
        )
        for flow in problem.flows:
            own = tuple(
                None if host is None else problem.network.host_index[host]
                for host in (placement.host_of(flow.name, task.name) for task in flow.tasks)
            )
            taps = {}
            for name, task in flow.graph.task_index.items():
                tap = placement.tapped.get((flow.name, name))
                if tap:
                    taps[task] = (tap.to_flow, problem.flow_of[tap.to_flow].graph.task_index[tap.to_task])
            ledger.put(flow, own, taps)
        return ledger

    def put(self, flow: Flow, own: Sequence[int | None], taps: Mapping[int, TapTarget] | None = None) -> None:
        """Add a flow, or replace it: new hosts, new taps, new rates."""
        self.remove(flow.name)
        running = Running(flow, tuple(own), dict(taps or {}))
        assert len(running.own) == flow.graph.task_count, (flow.name, own)
        self.running[flow.name] = running
        for other, _ in running.taps.values():
            self._tappers.setdefault(other, set()).add(flow.name)
        for task, host in enumerate(running.own):
            if host is not None:
                here = self._residents[host]
                here[flow.name] = here.get(flow.name, 0) | 1 << task
                self._dirty_hosts.add(host)
        self._cross(running, add=True)
        self._forget(flow.name)

    def remove(self, name: str) -> None:
        """Take a flow out; nothing happens if it is not there."""
        running = self.running.get(name)
        if running is None:
            return
        self._cross(running, add=False)
        self._forget(name)
        for host in {host for host in running.own if host is not None}:
            self._residents[host].pop(name, None)
            self._dirty_hosts.add(host)
        for other, _ in running.taps.values():
            self._tappers[other].discard(name)
        del self.running[name]
        if self.network.has_queues:
            # Those who tapped it still send over their other edges.
            for tapper in sorted(self._tappers.get(name, ())):
                self._cross_alone(self.running[tapper], add=True)

    def move(self, name: str, task: int, host: int) -> None:
        """Put one task of a flow on another host; only the two hosts and the ways to and from them are touched."""
        running = self.running[name]
        own = list(running.own)
        left, own[task] = own[task], host
        if left == host:
            return
        self._cross(running, add=False)
        moved = Running(running.flow, tuple(own), running.taps)
        self.running[name] = moved
        if left is not None:
            rest = self._residents[left].pop(name) & ~(1 << task)
            if rest:
                self._residents[left][name] = rest
            self._dirty_hosts.add(left)
        self._residents[host][name] = self._residents[host].get(name, 0) | 1 << task
        self._dirty_hosts.add(host)
        self._cross(moved, add=True)
        self._forget(name)

    def set_background(self, host: int, load: Load) -> None:
        """Cross-traffic on a host changed."""
        self._background[host] = load
        self._dirty_hosts.add(host)

    def latency(self, name: str) -> Latency:
        """End to end, of one flow; infinite if it is not completely placed or a host is too full."""
        self._settle()
        return self._priced(name)[0]

    def age_ms(self, name: str, task: int) -> float:
        """How old messages of a flow are, on average, when they leave one of its tasks."""
        self._settle()
        return self._priced(name)[1][task].mean_ms

    def cost_ms(self) -> float:
        """Sum over flows of weight times mean latency."""
        self._settle()
        for name in sorted(self._changed):
            self._total.drop(name)
            if name in self.running:
                self._total.set(name, self.running[name].flow.weight * self._priced(name)[0].mean_ms)
        self._changed.clear()
        return self._total.value

    @property
    def loads(self) -> Sequence[Load]:
        """The load of each host now, all flows and the background. Read only; good until the next change."""
        self._settle()
        return self._loads

    @property
    def wire_loads(self) -> Sequence[Load]:
        """The load of each wire now. Read only; good until the next change."""
        self._settle()
        return self._wire_loads

    @property
    def waits_ms(self) -> Sequence[float]:
        """The wait in each host's queue now."""
        self._settle()
        return self._waits

    def residents(self, host: int) -> Mapping[str, int]:
        """Flow name to the mask of its tasks on that host."""
        return self._residents[host]

    def load_without(self, host: int, name: str) -> Load:
        """The load of a host as if one flow were not there: what its new placement is priced against."""
        self._settle()
        if name not in self._residents[host]:
            return self._loads[host]
        return self._sum_host(host, {other: mask for other, mask in self._residents[host].items() if other != name})

    def loads_without(self, name: str) -> list[Load]:
        """`load_without` for all hosts; only those that hold the flow are computed again."""
        self._settle()
        loads = list(self._loads)
        running = self.running.get(name)
        for host in {host for host in running.own if host is not None} if running else ():
            loads[host] = self.load_without(host, name)
        return loads

    def placement(self) -> Placement:
        """What the ledger holds, with names; a tap of a flow that has gone is left out, and so is incomplete."""
        hosts: dict[tuple[str, str], str] = {}
        taps: list[Tap] = []
        for name, running in self.running.items():
            for task, host in zip(running.flow.tasks, running.own, strict=True):
                if host is not None:
                    hosts[name, task.name] = self.network.hosts[host].name
            for index, (other, served) in running.taps.items():
                if other in self.running:
                    serving = self.running[other].flow.tasks[served].name
                    taps.append(Tap(name, running.flow.tasks[index].name, other, serving))
        return Placement.of(hosts, taps)

    def _cross(self, running: Running, *, add: bool) -> None:
        """Enter or strike out the wire streams of a flow and of those who tap it: their streams leave it too."""
        if not self.network.has_queues:
            return
        tappers = sorted(self._tappers.get(running.flow.name, ()))
        for each in [running, *(self.running[name] for name in tappers)]:
            self._cross_alone(each, add=add)

    def _cross_alone(self, running: Running, *, add: bool) -> None:
        for edge, origin, target, stream in crossings(
            self.network, running.flow, running.own, self._tap_hosts(running)
        ):
            if math.isinf(self.network.delays_ms[origin, target]):
                continue
            for wire in self.network.route(origin, target):
                streams = self._crossing.setdefault(wire, {})
                if add:
                    streams[running.flow.name, edge] = stream
                else:
                    streams.pop((running.flow.name, edge), None)
                self._dirty_wires.add(wire)

    def _tap_hosts(self, running: Running) -> dict[int, int]:
        found = {}
        for task, (other, served) in running.taps.items():
            host = self.running[other].own[served] if other in self.running else None
            if host is not None:
                found[task] = host
        return found

    def _forget(self, name: str) -> None:
        """A flow's latency, and that of all who tap it, is no longer known."""
        waiting = [name]
        while waiting:
            at = waiting.pop()
            self._latency.pop(at, None)
            self._changed.add(at)
            waiting += sorted(tapper for tapper in self._tappers.get(at, ()) if tapper in self._latency)

    def _settle(self) -> None:
        """Compute what is dirty: loads and waits of changed hosts and wires; forget the latencies they carry."""
        for wire in sorted(self._dirty_wires):
            self.work.wires += 1
            self._wire_loads[wire] = self._sum_wire(wire, self._crossing[wire])
            for name, _ in self._crossing[wire]:
                self._forget(name)
        for host in sorted(self._dirty_hosts):
            self.work.hosts += 1
            self._loads[host] = self._sum_host(host, self._residents[host])
            self._waits[host] = wait_ms(self._loads[host], self.cap)
            for name in self._residents[host]:
                self._forget(name)
        self._dirty_wires.clear()
        self._dirty_hosts.clear()

    def _sum_host(self, host: int, residents: Mapping[str, int]) -> Load:
        capacity = self.network.hosts[host].capacity
        return resident_load(capacity, self._background[host], residents, lambda name: self.running[name].flow.graph)

    def _sum_wire(self, wire: int, streams: Mapping[tuple[str, int], Stream]) -> Load:
        bandwidth = self.network.wire_bandwidths[wire]
        return load_of((streams[key] for key in sorted(streams)), bandwidth, self._wire_background[wire])

    def _priced(self, name: str) -> tuple[Latency, dict[int, Latency]]:
        known = self._latency.get(name)
        if known is None:
            running = self.running[name]
            taps = {
                task: self._priced(other)[1][served] if other in self.running else LOST
                for task, (other, served) in running.taps.items()
            }
            self.work.flows += 1
            costs = edge_costs_ms(
                self.network,
                running.flow,
                running.own,
                self._tap_hosts(running),
                wait_at=self._waits.__getitem__,
                wire_loads=self._wire_loads,
                cap=self.cap,
            )
            graph = running.flow.graph
            known = self._latency[name] = end_to_end(graph, costs, taps), arrivals(graph, costs, taps)
        return known
