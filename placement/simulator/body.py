"""The simulated body: carries messages between cells on a virtual clock and interprets what the brain asks for.

It knows the true network: which hosts and links live, how long messages take, what every placement costs. The brain
knows only what its ants tell it. What dies and returns, and who notices, is in faults.py. Everything that is random is
drawn from generators named after the seed and their user, so that a run does not depend on the order in which unrelated
things happen.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from placement.ants.effects import Home, Lost, Send, SetTimer
from placement.ants.order import Offer
from placement.ants.params import IMPROVED, AntParams
from placement.ants.sizes import ENVELOPE_BYTES
from placement.atlas import Atlas
from placement.cell import Cell
from placement.cell_ledger import Booking, State
from placement.chance import Chance, ChanceFor
from placement.evaluator_incremental import Ledger as TrueLedger
from placement.leader import Leader
from placement.leader_events import (
    FlowChanged,
    GaveUp,
    HotSpotAhead,
    Lingers,
    Place,
    Proposed,
    Published,
    Stayed,
    TimerFired,
    Withdraw,
    Withdrawn,
)
from placement.leader_params import IMPROVED_LEADER, LeaderParams
from placement.model import Flow, Network, OverlayNetwork, Placement, Plan
from placement.queueing import IDLE, Load, load_of
from placement.simulator.damage import Damage
from placement.simulator.kernel import Kernel
from placement.simulator.measured import delay_ms, links_ms
from placement.simulator.message_sizes import size_bytes
from placement.simulator.traffic import Traffic

Decision = Published | Proposed | GaveUp | Stayed | Lingers | Withdrawn
"""What leaders tell the world."""

Observer = Callable[[float, str, Any], None]
"""Told of everything that happens: time, where, what."""

Scales = Callable[[str, Sequence[Any], int], None]
"""Shown every envelope that crosses links: whom it is for, what is in it, over how many links."""


class Body:
    """One simulated system."""

    def __init__(
        self,
        network: Network,
        *,
        chance: ChanceFor,
        ants: AntParams = IMPROVED,
        leaders: LeaderParams = IMPROVED_LEADER,
        background: Sequence[Load] = (),
        wire_background: Sequence[Load] = (),
        observer: Observer | None = None,
        watchman: Callable[[str], None] | None = None,
        scales: Scales | None = None,
    ) -> None:
        """`watchman` is called with a host's name after anything happened there.

        `traffic` counts the compact form that ants count of themselves; `scales` may weigh another one beside it.
        """
        self.kernel = Kernel()
        self.network = network
        self.ants = ants
        self.traffic = Traffic()
        self.damage = Damage(network, tuple(wire_background))
        self.truth = TrueLedger(network, background=background, wire_background=wire_background)
        self.leaders: dict[str, Leader] = {}
        self.decisions: list[tuple[float, Decision]] = []
        self.lost_messages = 0
        self._chance = chance
        self._leader_params = leaders
        self._observer = observer
        self.watchman = watchman
        self._scales = scales
        self._rngs: dict[str, Chance] = {}
        self._timers: dict[tuple[str, str], int] = {}
        self._drawn: tuple[Network, Atlas] | None = None
        self._direct = isinstance(network, OverlayNetwork)
        self._fastest = max(host.capacity for host in network.hosts)
        self._background = {host.name: load for host, load in zip(network.hosts, background, strict=False)}
        self.published_ms: dict[str, float] = {}
        """flow -> when its newest plan was published."""
        self.epochs: dict[str, int] = {}
        """flow -> newest epoch of a flow whose leader is gone."""
        self._seniority: dict[str, int] = {}
        """flow -> its place in the order of submission, the first time."""
        self.fallen: set[str] = set()
        """Flows that stopped because a host died, and do not run again yet."""
        self.cells: dict[str, Cell] = {host.name: self.new_cell(host.name) for host in network.hosts}

    # What an experiment does.

    def acquaint(self) -> None:
        """Let all hosts tell their surroundings of themselves, as they do when a system starts."""
        for host in sorted(self.cells):
            self.carry_out(host, self.cells[host].tell(always=True))
        self.run_for(2_000.0)

    def submit(self, flow: Flow) -> None:
        """A user asks for a flow to be placed, or again for one that is known."""
        if flow.name not in self.leaders:
            self.leaders[flow.name] = self._new_leader(flow, last_epoch=self.epochs.get(flow.name, 0))
        self.tell_leader(flow.name, Place())

    def take_over(self, flow: Flow, hosts: Mapping[str, str]) -> None:
        """A flow runs, each task on its host, as a registry says: its leader goes on from there."""
        placement = Placement.of({(flow.name, task): host for task, host in hosts.items()})
        plan = Plan(flow.name, 1, placement, ())
        leader = self.leaders[flow.name] = self._new_leader(flow, last_epoch=plan.epoch, running=plan)
        for host in sorted(set(leader.running.values())):
            cell = self.cells[host]
            mask = sum(1 << task for task, at in leader.running.items() if at == host)
            load = load_of((stream for _, stream in flow.graph.streams(mask)), cell.capacity)
            cell.ledger.restore(Booking(flow.name, plan.epoch, mask, load, State.ACTIVE, math.inf, leader.host))
            self.carry_out(host, cell.tell())
        self._enter(leader)
        self._set_timer(SetTimer(flow.name, "rest", self.kernel.now_ms + self._leader_params.watch_every_ms))

    def _new_leader(self, flow: Flow, *, last_epoch: int, running: Plan | None = None) -> Leader:
        return Leader(
            flow,
            self._leader_params,
            self.ants,
            fastest_capacity=self._fastest,
            now_ms=self.kernel.now_ms,
            last_epoch=last_epoch,
            seniority=self._seniority.setdefault(flow.name, len(self._seniority)),
            running=running,
        )

    def resubmit(self, flow: Flow) -> None:
        """A user asks again for a flow; if it runs, for a better place."""
        if self.leaders.get(flow.name) is None and flow.sources[0].host in self.damage.hosts:
            return
        self.submit(flow)

    def withdraw(self, name: str) -> None:
        """A user ends a flow."""
        self.tell_leader(name, Withdraw())

    def background(self) -> tuple[Load, ...]:
        """The load of what no flow causes, host by host."""
        return tuple(self._background.get(host.name, IDLE) for host in self.network.hosts)

    def set_background(self, host: str, load: Load) -> None:
        """Cross-traffic on a host changed."""
        self._background[host] = load
        self.truth.set_background(self.network.host_index[host], load)
        if host not in self.damage.hosts:
            self.carry_out(host, self.cells[host].measure(load, now_ms=self.kernel.now_ms))

    def believe(self, flow: Flow) -> None:
        """A flow's leader and hosts are told these rates, measured or forecast, whatever is true."""
        self.tell_leader(flow.name, FlowChanged(flow))
        for host in sorted(set(self.leaders[flow.name].running.values())):
            if host not in self.damage.hosts:
                self.carry_out(host, self.cells[host].flow_changed(flow))

    def warn(self, flow: str, warning: HotSpotAhead) -> None:
        """A flow breaks its bound, or the models foresee it: its leader hears of it."""
        self.tell_leader(flow, warning)

    def change_flow(self, flow: Flow) -> None:
        """A flow's rates changed; its hosts and its leader measure it."""
        self.believe(flow)
        if flow.name in self.truth.running:
            running = self.truth.running[flow.name]
            self.truth.put(flow, running.own, running.taps)

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
        return delay_ms(self.network, self.truth.wire_loads, origin, target)

    def _atlas(self) -> Atlas:
        """What the registry of an overlay tells every host."""
        if self._drawn is None or self._drawn[0] is not self.network:
            names = tuple(host.name for host in self.network.hosts)
            self._drawn = (self.network, Atlas(names, self.network.capacities, self.network.delays_ms))
        return self._drawn[1]

    def rewire(self) -> None:
        """What has died or changed shows in the network, and in what everything that runs costs."""
        self.network, wires = self.damage.left()
        running = self.truth.running
        self.truth = TrueLedger(self.network, background=self.background(), wire_background=wires)
        for _, flow in sorted(running.items()):
            self.truth.put(flow.flow, flow.own, flow.taps)

    def latency_ms(self, flow: str) -> float:
        """Mean end-to-end latency of a running flow; infinite if it does not run."""
        return self.truth.latency(flow).mean_ms if flow in self.truth.running else math.inf

    def age_ms(self, flow: str, task: str) -> float | None:
        """How old messages are when they leave a task of a flow that runs; None if it does not."""
        running = self.truth.running.get(flow)
        return None if running is None else self.truth.age_ms(flow, running.flow.graph.task_index[task])

    def placement(self) -> Placement:
        """All that runs now."""
        plans = [leader.plan.placement for leader in self.leaders.values() if leader.plan]
        return Placement(
            tuple(spot for plan in plans for spot in plan.spots), tuple(tap for plan in plans for tap in plan.taps)
        )

    def new_cell(self, host: str, *, born: int = 0) -> Cell:
        """A cell that knows its host and links, and nothing else yet."""
        place = self.network.host_index[host]
        return Cell(
            host,
            self.network.hosts[place].capacity,
            links_ms(self.network, self.truth.wire_loads, place),
            self.ants,
            delay=self.delay_ms,
            direct=self._direct,
            background=self._background.get(host, IDLE),
            age=self.age_ms,
            atlas=self._atlas if self._direct else None,
            born=born,
        )

    # Interpreting effects.

    def rng(self, user: str) -> Chance:
        """The generator of one user, which nobody else draws from."""
        found = self._rngs.get(user)
        if found is None:
            found = self._rngs[user] = self._chance(user)
        return found

    def carry_out(self, host: str, effects: Sequence[Any]) -> None:
        """What somebody at a host asks for happens."""
        bundles: dict[tuple[str, bool], list[Any]] = {}
        for effect in effects:
            if isinstance(effect, Send):
                bundles.setdefault((effect.to, effect.queued), []).append(effect.message)
            elif isinstance(effect, Home):
                self.tell_leader(effect.flow, effect.news)
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
            hops, delay_ms = self._way(host, to)
            if math.isinf(delay_ms):
                self.lost_messages += len(messages)
                return
            for message in messages:
                self.traffic.count(type(message).__name__, size_bytes(message), hops)
            self.traffic.count("envelope", ENVELOPE_BYTES, hops)
            if self._scales is not None:
                self._scales(to, messages, hops)
            if queued:
                delay_ms += self.cells[to].queue_wait_ms()
        self.kernel.after(delay_ms, self._arrive, to, messages)

    def _way(self, host: str, to: str) -> tuple[int, float]:
        """Links and delay of a message between two hosts; infinite if nothing leads there."""
        link_ms = self.cells[host].links_ms.get(to)
        if link_ms is not None and self.damage.none:
            return 1, link_ms
        index = self.network.host_index
        a, b = index[host], index[to]
        delay_ms = float(self.network.delays_ms[a, b])
        if math.isinf(delay_ms):
            return 0, delay_ms
        return (1, link_ms) if link_ms is not None else (len(self.network.route(a, b)), delay_ms)

    def _arrive(self, host: str, messages: list[Any]) -> None:
        if host in self.damage.hosts:
            self.lost_messages += len(messages)
            return
        cell, rng = self.cells[host], self.rng(host)
        effects: list[Any] = []
        for message in messages:
            if self._observer is not None:
                self._observer(self.kernel.now_ms, host, message)
            effects += cell.hear(message, now_ms=self.kernel.now_ms, rng=rng)
        if self.watchman is not None:
            self.watchman(host)
        self.carry_out(host, effects)

    def tell_leader(self, flow: str, event: Any) -> None:
        """Something that a leader should know, if it lives."""
        leader = self.leaders.get(flow)
        if leader is None or leader.host in self.damage.hosts:
            return
        if self._observer is not None:
            self._observer(self.kernel.now_ms, f"leader of {flow}", event)
        self.carry_out(leader.host, leader.step(event, now_ms=self.kernel.now_ms, rng=self.rng(f"leader/{flow}")))

    def _set_timer(self, timer: SetTimer) -> None:
        key = (timer.flow, timer.name)
        self._timers[key] = self._timers.get(key, 0) + 1
        self.kernel.at(timer.at_ms, self._fire, key, self._timers[key])

    def _fire(self, key: tuple[str, str], generation: int) -> None:
        if self._timers.get(key) == generation:
            self.tell_leader(key[0], TimerFired(key[1]))

    def _decided(self, decision: Decision) -> None:
        self.decisions.append((self.kernel.now_ms, decision))
        if self._observer is not None:
            self._observer(self.kernel.now_ms, "decision", decision)
        if isinstance(decision, Published):
            leader = self.leaders[decision.plan.flow]
            self.published_ms[decision.plan.flow] = self.kernel.now_ms
            self._enter(leader)
            self.fallen.discard(decision.plan.flow)
        elif isinstance(decision, Withdrawn):
            self.retire(decision.flow)
            tapped = {other for running in self.truth.running.values() for other, _ in running.taps.values()}
            if decision.flow not in tapped:  # else a fault still explains why nobody serves its tappers
                self.fallen.discard(decision.flow)

    def retire(self, flow: str) -> None:
        """A leader is gone, and its flow does not run any more."""
        self.epochs[flow] = self.leaders.pop(flow).epoch
        self.truth.remove(flow)

    def _enter(self, leader: Leader) -> None:
        """What a leader says runs is true."""
        index, running = self.network.host_index, leader.running
        own = [index[running[task]] if task in running else None for task in range(leader.flow.graph.task_count)]
        taps = {task: (offer.flow, self._served_task(offer)) for task, offer in leader.standing.taps.items()}
        self.truth.put(leader.flow, own, taps)

    def _served_task(self, offer: Offer) -> int:
        return self.leaders[offer.flow].flow.graph.task_index[offer.task]
