"""The simulated body: carries messages between cells on a virtual clock and interprets what the brain asks for.

It knows the true network: which hosts and links live, how long messages take, what every placement costs. The brain
knows only what its ants tell it. Everything that is random is drawn from generators named after the seed and their
user, so that a run does not depend on the order in which unrelated things happen.
"""

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from placement.ants.effects import Home, Lost, Send, SetTimer
from placement.ants.params import IMPROVED, AntParams
from placement.ants.sizes import ENVELOPE_BYTES, size_bytes
from placement.cell import Cell
from placement.evaluator_incremental import Ledger as TrueLedger
from placement.leader import Leader
from placement.leader_events import GaveUp, HostLost, Place, Published, Stayed, TimerFired, Withdraw, Withdrawn
from placement.leader_params import IMPROVED_LEADER, LeaderParams
from placement.model import Flow, Network, OverlayNetwork, Placement
from placement.queueing import Load
from placement.simulator.kernel import Kernel
from placement.simulator.traffic import Traffic

Observer = Callable[[float, str, Any], None]
"""Told of everything that happens: time, where, what."""

DETECTION_MS = 1_000.0
"""How long neighbours and leaders need to notice that a host or link is gone or back."""


class Body:
    """One simulated system."""

    def __init__(
        self,
        network: Network,
        *,
        seed: int | str,
        ants: AntParams = IMPROVED,
        leaders: LeaderParams = IMPROVED_LEADER,
        background: Sequence[Load] = (),
        observer: Observer | None = None,
    ) -> None:
        self.kernel = Kernel()
        self.network = network
        self.ants = ants
        self.traffic = Traffic()
        self.truth = TrueLedger(network, background=background)
        self.leaders: dict[str, Leader] = {}
        self.decisions: list[tuple[float, Published | GaveUp | Stayed | Withdrawn]] = []
        self.lost_messages = 0
        self._whole_network = network
        self._seed = seed
        self._leader_params = leaders
        self._observer = observer
        self._down_hosts: set[str] = set()
        self._down_links: set[tuple[str, str]] = set()
        self._rngs: dict[str, Random] = {}
        self._timers: dict[tuple[str, str], int] = {}
        self._direct = isinstance(network, OverlayNetwork)
        self._fastest = max(host.capacity for host in network.hosts)
        self.cells: dict[str, Cell] = {}
        for place, host in enumerate(network.hosts):
            links = {
                network.hosts[other].name: delay
                for other, delay in zip(network.neighbours[place], network.neighbour_delays_ms[place], strict=True)
            }
            load = background[place] if background else Load()
            self.cells[host.name] = Cell(
                host.name,
                host.capacity,
                links,
                ants,
                delay=self.delay_ms,
                direct=self._direct,
                background=load,
            )

    # What an experiment does.

    def acquaint(self) -> None:
        """Let all hosts tell their surroundings of themselves, as they do when a system starts."""
        for host in sorted(self.cells):
            self._carry_out(host, self.cells[host].tell(always=True))
        self.run_for(2_000.0)

    def submit(self, flow: Flow) -> None:
        """A user asks for a flow to be placed, or again for one that is known."""
        if flow.name not in self.leaders:
            self.leaders[flow.name] = Leader(
                flow, self._leader_params, self.ants, fastest_capacity=self._fastest, now_ms=self.kernel.now_ms
            )
        self._tell_leader(flow.name, Place())

    def withdraw(self, name: str) -> None:
        """A user ends a flow."""
        self._tell_leader(name, Withdraw())

    def set_background(self, host: str, load: Load) -> None:
        """Cross-traffic on a host changed."""
        self.truth.set_background(self.network.host_index[host], load)
        if host not in self._down_hosts:
            self._carry_out(host, self.cells[host].measure(load, now_ms=self.kernel.now_ms))

    def run_for(self, duration_ms: float) -> None:
        """Let the virtual clock go on."""
        self.kernel.run(until_ms=self.kernel.now_ms + duration_ms)

    def run_until_settled(self, *, limit_ms: float = 120_000.0) -> None:
        """Run until every flow has been placed or given up, or the limit."""
        waiting = {name for name, leader in self.leaders.items() if leader.plan is None}
        seen = len(self.decisions)

        def settled() -> bool:
            nonlocal seen
            while seen < len(self.decisions):
                _, decision = self.decisions[seen]
                seen += 1
                waiting.discard(decision.plan.flow if isinstance(decision, Published) else decision.flow)
            return not waiting

        if not settled():
            self.kernel.run(until_ms=self.kernel.now_ms + limit_ms, idle=settled)

    # What is true.

    def delay_ms(self, origin: str, target: str) -> float:
        """Delay of data between two hosts in the network as it is now."""
        index = self.network.host_index
        return float(self.network.delays_ms[index[origin], index[target]])

    def latency_ms(self, flow: str) -> float:
        """Mean end-to-end latency of a running flow; infinite if it does not run."""
        return self.truth.latency(flow).mean_ms if flow in self.truth.running else math.inf

    def placement(self) -> Placement:
        """All that runs now."""
        spots = [spot for leader in self.leaders.values() if leader.plan for spot in leader.plan.placement.spots]
        return Placement(tuple(spots))

    # Interpreting effects.

    def _rng(self, user: str) -> Random:
        found = self._rngs.get(user)
        if found is None:
            found = self._rngs[user] = Random(f"{self._seed}/{user}")
        return found

    def _carry_out(self, host: str, effects: Sequence[Any]) -> None:
        bundles: dict[tuple[str, bool], list[Any]] = {}
        for effect in effects:
            if isinstance(effect, Send):
                bundles.setdefault((effect.to, effect.queued), []).append(effect.message)
            elif isinstance(effect, Home):
                self._tell_leader(effect.flow, effect.news)
            elif isinstance(effect, SetTimer):
                self._set_timer(effect)
            elif isinstance(effect, Lost):
                self.lost_messages += 1
            else:
                self._decided(effect)
        # Ants to the same next hop travel together: one envelope.
        for (to, queued), messages in bundles.items():
            self._dispatch(host, to, messages, queued=queued)

    def _dispatch(self, host: str, to: str, messages: list[Any], *, queued: bool) -> None:
        delay_ms = 0.0
        if to != host:
            index = self.network.host_index
            a, b = index[host], index[to]
            delay_ms = float(self.network.delays_ms[a, b])
            if math.isinf(delay_ms):
                self.lost_messages += len(messages)
                return
            link_ms = self.cells[host].links_ms.get(to)
            hops = 1 if link_ms is not None else len(self.network.route(a, b))
            delay_ms = link_ms if link_ms is not None else delay_ms
            for message in messages:
                self.traffic.count(type(message).__name__, size_bytes(message), hops)
            self.traffic.count("envelope", ENVELOPE_BYTES, hops)
            if queued:
                delay_ms += self.cells[to].queue_wait_ms()
        self.kernel.after(delay_ms, self._arrive, to, messages)

    def _arrive(self, host: str, messages: list[Any]) -> None:
        if host in self._down_hosts:
            self.lost_messages += len(messages)
            return
        cell, rng = self.cells[host], self._rng(host)
        effects: list[Any] = []
        for message in messages:
            if self._observer is not None:
                self._observer(self.kernel.now_ms, host, message)
            effects += cell.hear(message, now_ms=self.kernel.now_ms, rng=rng)
        self._carry_out(host, effects)

    def _tell_leader(self, flow: str, event: Any) -> None:
        leader = self.leaders.get(flow)
        if leader is None or leader.host in self._down_hosts:
            return
        if self._observer is not None:
            self._observer(self.kernel.now_ms, f"leader of {flow}", event)
        self._carry_out(leader.host, leader.step(event, now_ms=self.kernel.now_ms, rng=self._rng(f"leader/{flow}")))

    def _set_timer(self, timer: SetTimer) -> None:
        key = (timer.flow, timer.name)
        self._timers[key] = self._timers.get(key, 0) + 1
        self.kernel.at(timer.at_ms, self._fire, key, self._timers[key])

    def _fire(self, key: tuple[str, str], generation: int) -> None:
        if self._timers.get(key) == generation:
            self._tell_leader(key[0], TimerFired(key[1]))

    def _decided(self, decision: Published | GaveUp | Stayed | Withdrawn) -> None:
        self.decisions.append((self.kernel.now_ms, decision))
        if self._observer is not None:
            self._observer(self.kernel.now_ms, "decision", decision)
        if isinstance(decision, Published):
            leader = self.leaders[decision.plan.flow]
            index = self.network.host_index
            running = leader.running
            own = [index[running[task]] for task in range(leader.flow.graph.task_count)]
            self.truth.put(leader.flow, own)
        elif isinstance(decision, Withdrawn):
            self.truth.remove(decision.flow)

    # Faults.

    def lose_host(self, host: str) -> None:
        """A host dies with everything on it; its neighbours and the leaders concerned notice a little later."""
        self._down_hosts.add(host)
        self._rewire()
        self.kernel.after(DETECTION_MS, self._noticed_loss, host)

    def return_host(self, host: str) -> None:
        """A host comes back, empty."""
        raise NotImplementedError

    def _rewire(self) -> None:
        self.network = self._whole_network.without(frozenset(self._down_hosts), frozenset(self._down_links))

    def _noticed_loss(self, host: str) -> None:
        for other in sorted(self.cells):
            if other not in self._down_hosts and host in self.cells[other].links_ms:
                self._carry_out(other, self.cells[other].link_lost(host))
        for flow in sorted(self.leaders):
            self._tell_leader(flow, HostLost(host))
