"""The simulated body: carries messages between cells on a virtual clock and interprets what the brain asks for.

It knows the true network: which hosts and links live, how long messages take, what every placement costs. The brain
knows only what its ants tell it. Everything that is random is drawn from generators named after the seed and their
user, so that a run does not depend on the order in which unrelated things happen.
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
    Healed,
    HostLost,
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
from placement.simulator.registry import ended_bookings, ended_taps, missed_activations, unserved_taps
from placement.simulator.severed import cut_off
from placement.simulator.traffic import Traffic

Decision = Published | Proposed | GaveUp | Stayed | Lingers | Withdrawn
"""What leaders tell the world."""

Observer = Callable[[float, str, Any], None]
"""Told of everything that happens: time, where, what."""

Scales = Callable[[str, Sequence[Any], int], None]
"""Shown every envelope that crosses links: whom it is for, what is in it, over how many links."""

DETECTION_MS = 1_000.0
"""How long neighbours and leaders need to notice that a host or link is gone or back."""


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
        self._damage = Damage(network, tuple(wire_background))
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
        self._published_ms: dict[str, float] = {}
        self._epochs: dict[str, int] = {}
        """flow -> newest epoch of a flow whose leader is gone."""
        self._seniority: dict[str, int] = {}
        """flow -> its place in the order of submission, the first time."""
        self.fallen: set[str] = set()
        """Flows that stopped because a host died, and do not run again yet."""
        self.cells: dict[str, Cell] = {host.name: self._new_cell(host.name) for host in network.hosts}

    # What an experiment does.

    def acquaint(self) -> None:
        """Let all hosts tell their surroundings of themselves, as they do when a system starts."""
        for host in sorted(self.cells):
            self._carry_out(host, self.cells[host].tell(always=True))
        self.run_for(2_000.0)

    def submit(self, flow: Flow) -> None:
        """A user asks for a flow to be placed, or again for one that is known."""
        if flow.name not in self.leaders:
            self.leaders[flow.name] = self._new_leader(flow, last_epoch=self._epochs.get(flow.name, 0))
        self._tell_leader(flow.name, Place())

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
            self._carry_out(host, cell.tell())
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
        if self.leaders.get(flow.name) is None and flow.sources[0].host in self._damage.hosts:
            return
        self.submit(flow)

    def withdraw(self, name: str) -> None:
        """A user ends a flow."""
        self._tell_leader(name, Withdraw())

    def background(self) -> tuple[Load, ...]:
        """The load of what no flow causes, host by host."""
        return tuple(self._background.get(host.name, IDLE) for host in self.network.hosts)

    def set_background(self, host: str, load: Load) -> None:
        """Cross-traffic on a host changed."""
        self._background[host] = load
        self.truth.set_background(self.network.host_index[host], load)
        if host not in self._damage.hosts:
            self._carry_out(host, self.cells[host].measure(load, now_ms=self.kernel.now_ms))

    def believe(self, flow: Flow) -> None:
        """A flow's leader and hosts are told these rates, measured or forecast, whatever is true."""
        self._tell_leader(flow.name, FlowChanged(flow))
        for host in sorted(set(self.leaders[flow.name].running.values())):
            if host not in self._damage.hosts:
                self._carry_out(host, self.cells[host].flow_changed(flow))

    def warn(self, flow: str, warning: HotSpotAhead) -> None:
        """A flow breaks its bound, or the models foresee it: its leader hears of it."""
        self._tell_leader(flow, warning)

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

    def _new_cell(self, host: str, *, born: int = 0) -> Cell:
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

    def _rng(self, user: str) -> Chance:
        found = self._rngs.get(user)
        if found is None:
            found = self._rngs[user] = self._chance(user)
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
        if link_ms is not None and self._damage.none:
            return 1, link_ms
        index = self.network.host_index
        a, b = index[host], index[to]
        delay_ms = float(self.network.delays_ms[a, b])
        if math.isinf(delay_ms):
            return 0, delay_ms
        return (1, link_ms) if link_ms is not None else (len(self.network.route(a, b)), delay_ms)

    def _arrive(self, host: str, messages: list[Any]) -> None:
        if host in self._damage.hosts:
            self.lost_messages += len(messages)
            return
        cell, rng = self.cells[host], self._rng(host)
        effects: list[Any] = []
        for message in messages:
            if self._observer is not None:
                self._observer(self.kernel.now_ms, host, message)
            effects += cell.hear(message, now_ms=self.kernel.now_ms, rng=rng)
        if self.watchman is not None:
            self.watchman(host)
        self._carry_out(host, effects)

    def _tell_leader(self, flow: str, event: Any) -> None:
        leader = self.leaders.get(flow)
        if leader is None or leader.host in self._damage.hosts:
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

    def _decided(self, decision: Decision) -> None:
        self.decisions.append((self.kernel.now_ms, decision))
        if self._observer is not None:
            self._observer(self.kernel.now_ms, "decision", decision)
        if isinstance(decision, Published):
            leader = self.leaders[decision.plan.flow]
            self._published_ms[decision.plan.flow] = self.kernel.now_ms
            self._enter(leader)
            self.fallen.discard(decision.plan.flow)
        elif isinstance(decision, Withdrawn):
            self._epochs[decision.flow] = self.leaders.pop(decision.flow).epoch
            self.truth.remove(decision.flow)
            self.fallen.discard(decision.flow)

    def _enter(self, leader: Leader) -> None:
        """What a leader says runs is true."""
        index, running = self.network.host_index, leader.running
        own = [index[running[task]] if task in running else None for task in range(leader.flow.graph.task_count)]
        taps = {task: (offer.flow, self._served_task(offer)) for task, offer in leader.standing.taps.items()}
        self.truth.put(leader.flow, own, taps)

    def _served_task(self, offer: Offer) -> int:
        return self.leaders[offer.flow].flow.graph.task_index[offer.task]

    # Faults. Neighbours, leaders and the registry notice after DETECTION_MS.

    def lose_host(self, host: str) -> None:
        """A host dies with everything on it: its tasks, its cell, the leaders that live there."""
        if host in self._damage.hosts:
            return
        self._damage.lose_host(host, now_ms=self.kernel.now_ms)
        self._rewire()
        for flow, leader in sorted(self.leaders.items()):
            if leader.host == host:
                self._orphan(flow, leader)
            elif host in leader.running.values():
                self.truth.remove(flow)
                self.fallen.add(flow)
        self.kernel.after(DETECTION_MS, self._notice_host_loss, host, self.kernel.now_ms)

    def return_host(self, host: str) -> None:
        """A host comes back, empty."""
        if host not in self._damage.hosts:
            return
        self._damage.return_host(host, now_ms=self.kernel.now_ms)
        self._rewire()
        # Its news must not be taken for older than what the cell before it told; live, it counts from the clock too.
        self.cells[host] = self._new_cell(host, born=math.ceil(self.kernel.now_ms))
        self.kernel.after(DETECTION_MS, self._notice_return)

    def lose_link(self, a: str, b: str) -> None:
        """A link dies; messages take other ways, or none."""
        self._damage.lose_link(a, b, now_ms=self.kernel.now_ms)
        self._rewire()
        self.kernel.after(DETECTION_MS, self._notice_link_loss)

    def return_link(self, a: str, b: str) -> None:
        """A link works again."""
        self._damage.return_link(a, b, now_ms=self.kernel.now_ms)
        self._rewire()
        self.kernel.after(DETECTION_MS, self._notice_return)

    def change_link(self, a: str, b: str, delay_ms: float) -> None:
        """A link of a routed network becomes slower or faster."""
        self._damage.change_link(a, b, delay_ms)
        self._rewire()
        self.kernel.after(DETECTION_MS, self._notice_links)

    @property
    def down_hosts(self) -> frozenset[str]:
        """Hosts that are dead now."""
        return frozenset(self._damage.hosts)

    @property
    def lately_dead(self) -> frozenset[str]:
        """Hosts that died within the time that a commitment lasts; they may be back, empty."""
        return self._damage.died_since(self.kernel.now_ms - self.ants.enforcement.activation_ms)

    @property
    def unharmed_ms(self) -> float:
        """How long nothing has been dead; 0 while something is."""
        return self._damage.unharmed_ms(self.kernel.now_ms)

    @property
    def whole(self) -> bool:
        """Whether nothing is dead now."""
        return self._damage.none

    def _rewire(self) -> None:
        self.network, wires = self._damage.left()
        running = self.truth.running
        self.truth = TrueLedger(self.network, background=self.background(), wire_background=wires)
        for _, flow in sorted(running.items()):
            self.truth.put(flow.flow, flow.own, flow.taps)

    def _orphan(self, flow: str, leader: Leader) -> None:
        """A flow whose leader died: its source is gone, so it ends until its user submits it again."""
        self._epochs[flow] = leader.epoch
        del self.leaders[flow]
        self.truth.remove(flow)
        self.fallen.add(flow)

    def _notice_host_loss(self, host: str, died_ms: float) -> None:
        """Also if the host is back already: what ran there does not run any more."""
        self._notice_links()
        for flow in sorted(self.leaders):
            if self._published_ms.get(flow, -math.inf) <= died_ms:
                self._tell_leader(flow, HostLost(host))
            elif self._has_forgotten(host, flow):
                self.truth.remove(flow)
                self.fallen.add(flow)
                self._tell_leader(flow, HostLost(host))
        self._notice_cuts()

    def _has_forgotten(self, host: str, flow: str) -> bool:
        """Whether a plan should run at a host that died between its commitment and the leader's word."""
        leader = self.leaders[flow]
        if leader.plan is None or host not in leader.running.values():
            return False
        booked = {(booking.flow, booking.epoch) for booking in self.cells[host].ledger.bookings()}
        return host in self._damage.hosts or (flow, leader.plan.epoch) not in booked

    def _notice_link_loss(self) -> None:
        self._notice_links()
        self._notice_cuts()

    def _notice_return(self) -> None:
        self._notice_links()
        for flow in sorted(self.leaders):
            self._tell_leader(flow, Healed())
        self._notice_cuts()

    def _notice_cuts(self) -> None:
        """The host from which data do not get further says so."""
        for flow, news in list(cut_off(self.leaders, self.network, self._damage.hosts)):
            self._tell_leader(flow, news)

    def _notice_links(self) -> None:
        """Every living cell compares its links with the network, and its promises with the registry."""
        index = self.network.host_index
        for host in sorted(self.cells):
            if host in self._damage.hosts:
                continue
            cell = self.cells[host]
            place = index[host]
            links = links_ms(self.network, self.truth.wire_loads, place)
            for neighbour in sorted(set(cell.links_ms) - set(links)):
                self._carry_out(host, cell.link_lost(neighbour))
            for neighbour in sorted(links):
                if cell.links_ms.get(neighbour) != links[neighbour]:
                    self._carry_out(host, cell.link_changed(neighbour, links[neighbour]))
            # What has ended or moved elsewhere ends here too, and what runs here is no mere promise.
            bookings = cell.ledger.bookings()
            for news in (
                *ended_bookings(host, bookings, self.leaders, self._epochs),
                *missed_activations(host, bookings, self.leaders),
            ):
                self._carry_out(host, cell.hear(news, now_ms=self.kernel.now_ms, rng=self._rng(host)))
        for flow, released in list(ended_taps(self.leaders)):
            self._tell_leader(flow, released)
        for flow, ending in list(unserved_taps(self.leaders)):
            self._tell_leader(flow, ending)
