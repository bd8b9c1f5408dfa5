"""The leaders that live on this host: one for each flow whose first source stands here, while this host has its lease.

Who leads follows from the registry and from who lives: every host pins the flow's source to the same host. The lease
keeps two hosts that see the world differently from leading the same flow; plans carry its term. What a new leader
begins with is the concern of its succession.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

import structlog

from placement.admission import why_refused
from placement.leader import Leader
from placement.leader_events import (
    Corrected,
    FlowChanged,
    GaveUp,
    Healed,
    HostLost,
    HotSpotAhead,
    MovesFrozen,
    PauseTold,
    Proposed,
    Published,
    Stayed,
    Withdraw,
    Withdrawn,
)
from placement.leader_params import LIVE_LEADER, LeaderParams
from placement.leader_phases import Phase
from services.host.cell.body import CellBody, Decided, brain_ms
from services.host.cell.chronicle import Chronicle, Publish
from services.host.cell.corrections import Corrections
from services.host.cell.delays import Delays
from services.host.cell.flow_model import FlowModel, model_flow
from services.host.cell.known_models import KnownModels, is_warning
from services.host.cell.led import Led, Surface
from services.host.cell.pins import pin
from services.host.cell.plan_words import (
    Reckoned,
    Terms,
    ended_plan,
    plan_message,
    proposal_message,
)
from services.host.cell.predictions import Prediction
from services.host.cell.rows import RecentRows
from services.host.cell.seen_rates import Seen, priced
from services.host.cell.served import served_at, served_model
from services.host.cell.succession import Succession
from services.host.cell.taps import AreWhole, Taps
from services.host.cell.turns import Turns
from services.host.cell.wishes import Wishes
from services.host.graphs import compiled
from services.registry.lease import lease_of
from services.registry.pauses import pause_model
from services.registry.sharing_counts import fixed_taps
from services.registry.view import RegistryView
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError
from topics.messages import FlowRevision, HotSpotModel, Model, OperatorMetrics, SegmentTap

log = structlog.get_logger(__name__)

REMODEL_EVERY_MS = 5_000.0
WARNED_EVERY_MS = 1_000.0
DRIFT = 0.15
"""A flow whose numbers have changed by this share is told to its leader as changed."""


class Leases(Protocol):
    """What leaders ask of the keeper of leases."""

    def want(self, lease: str) -> None:
        """Try to get it from now on."""
        ...

    async def drop(self, lease: str) -> None:
        """Want it no longer."""
        ...

    def term(self, lease: str) -> int | None:
        """The term under which this process holds it at this moment; None if it does not."""
        ...


class Leaders:
    """`arrange` whenever the registry or the set of live hosts may have changed, and from time to time."""

    def __init__(
        self,
        body: CellBody,
        leases: Leases,
        *,
        fresh: Callable[[], Awaitable[None]],
        publish: Publish,
        now_ms: Callable[[], float],
        delays: Delays,
        are_whole: AreWhole,
        params: LeaderParams = LIVE_LEADER,
    ) -> None:
        """`fresh` waits until the registry has been read to its end."""
        self.rows = RecentRows()
        self.models = KnownModels()
        self._body = body
        self._leases = leases
        self._fresh = fresh
        self._now_ms = now_ms
        self._delays = delays
        self._view = RegistryView()
        self._taps = Taps(graph_of=self._graph, are_whole=are_whole)
        self._led: dict[str, Led] = {}
        self._graphs: dict[str, tuple[int, FlowGraph | None]] = {}
        self._surface = Surface({}, {}, False)
        self._unexplained: dict[str, GaveUp] = {}
        self._chronicle = Chronicle(body.host, publish, now_ms=now_ms)
        self._turns = Turns(body)
        self._succession = Succession(body, self._turns, self._chronicle, params, now_ms=now_ms)
        self._corrections = Corrections(
            body, self._turns, self._chronicle, self._succession, fresh=fresh, way_ms=delays.way_ms, now_ms=now_ms
        )
        self._wishes = Wishes(body, self._turns, self._chronicle, reckoned=self._reckoned, now_ms=now_ms)
        self._pauses_ms = -math.inf
        """When leaders were last told what moves cost."""

    @property
    def flows(self) -> tuple[str, ...]:
        """Flows that are led here."""
        return tuple(sorted(self._led))

    def heeds(self, model: Model) -> bool:
        """Whether a model concerns a flow that is led here."""
        body = model.body
        about = body.leavers if isinstance(body, HotSpotModel) else (getattr(body, "flow", None),)
        return not self._led.keys().isdisjoint(about)

    async def arrange(self, view: RegistryView, surface: Surface) -> None:
        """Lead what is to be led here, and nothing else."""
        lost = set(self._surface.regions) - set(surface.regions)
        found = set(surface.regions) - set(self._surface.regions or surface.regions)
        self._surface, self._view = surface, view
        for name in sorted(set(self._led) - set(view.flows)):
            await self._leave(name)
        for name, revision in sorted(view.flows.items()):
            if revision.state == "withdrawn":
                await self._end(name)
            else:
                await self._settle(revision, view)
        for flow in self.flows:
            for host in sorted(lost):
                self._turns.soon(flow, HostLost(host))
            if found:
                self._turns.soon(flow, Healed())
        self._tell_frozen(view)
        self._tell_pauses(view)
        self._wishes.take(view, self._led)
        self._turns.give()
        await self._explain_refusals()
        await self._chronicle.send(term_of=self._term)

    def decided(self, leader: Leader, decided: Decided) -> None:
        """What a leader decided is published at the next opportunity."""
        flow = leader.flow.name
        led = self._led.get(flow)
        if led is None:
            return
        now_ms = int(self._now_ms())
        if isinstance(decided, GaveUp) and led.taps and fixed_taps(self._view, flow) is None:
            self._taps.alone.add(flow)
        elif isinstance(decided, GaveUp):
            self._unexplained[flow] = decided
        elif isinstance(decided, Stayed):
            led.now_cost_ms = decided.now_cost_ms
            prediction = self._prediction(leader, led, decided.own_ms)
            self._chronicle.stayed(decided, prediction, debt_ms=leader.debt_ms(now_ms=brain_ms()))
        elif isinstance(decided, Published):
            led.now_cost_ms = decided.cost_ms
            led.predictions.moved(second=now_ms // 1_000)
            prediction = self._prediction(leader, led, decided.own_ms)
            terms = self._terms(leader, led, prediction, now_ms)
            message = plan_message(decided, led.model, self._reckoned(), terms)
            self._chronicle.committed(message, prediction, debt_ms=leader.debt_ms(now_ms=brain_ms()))
        elif isinstance(decided, Corrected):
            self._corrections.tell(leader, led, decided, self._view.plans[flow])
        elif isinstance(decided, Proposed):
            led.now_cost_ms = decided.now_cost_ms
            prediction = self._prediction(leader, led, decided.now_own_ms)
            terms = self._terms(leader, led, prediction, now_ms)
            self._chronicle.proposed(proposal_message(decided, led.model, self._reckoned(), terms), prediction)
        elif isinstance(decided, Withdrawn):
            self._chronicle.ended(ended_plan(leader, revision=led.revision, term=led.term, now_ms=now_ms))
        log.info("a leader decided", flow=flow, decision=type(decided).__name__, why=getattr(decided, "why", None))

    @property
    def has_news(self) -> bool:
        """Whether `arrange` has something to publish, or a leader whose turn has come."""
        return self._chronicle.has_plans or bool(self._unexplained) or self._turns.are_due

    def _reckoned(self) -> Reckoned:
        views = [self._body.cell.view(), *(view for view, _ in self._body.cell.near())]
        return Reckoned(
            self._delays.way_ms,
            "measured" if self._surface.delays_measured else "partly measured",
            {view.host: view.load.rho for view in views},
        )

    def _terms(self, leader: Leader, led: Led, prediction: Prediction, now_ms: int) -> Terms:
        return replace(led.terms(leader.host, now_ms), excess_ms=prediction.excess.ms)

    def _prediction(self, leader: Leader, led: Led, own_ms: float) -> Prediction:
        """The latency of the flow where it runs, with all that its hops cost and what was learnt there."""
        hops, graph, where = led.model.hops, leader.flow.graph, leader.running
        return led.predictions.made(own_ms + hops.total_ms, hops.beyond_ms(graph, where, self._delays.way_ms))

    def heard_row(self, row: OperatorMetrics, came_ms: float) -> None:
        """A host told what it measured of a flow that is led here."""
        second = int(came_ms / 1e3)
        self.rows.add(row, second=second)
        led, leader = self._led[row.flow], self._body.leaders[row.flow]
        host = leader.running.get(leader.flow.graph.task_index.get(row.segment, -1))
        led.predictions.heard(row, host, led.graph, second=second)

    def heard_model(self, model: Model) -> None:
        """The models say something new of a flow; if it is a hot spot ahead, leaders of who should leave send ants."""
        body = model.body
        if not isinstance(body, HotSpotModel):
            self.models.add(model)
        elif is_warning(model, now_s=self._now_ms() / 1e3) and not self._body.is_lagging():
            for flow in body.leavers:
                if flow in self._led:
                    self._warn(flow, self._led[flow], body)

    def _warn(self, flow: str, led: Led, spot: HotSpotModel) -> None:
        """Several flows that are in danger may name the same one that should leave: once a second is enough.

        By when they come: hosts warn of this second, the service seconds later of one before, and clocks are set back.
        """
        seen, is_broken = spot.rate_of(flow), spot.in_s == 0
        if seen is not None:
            led.seen = Seen(seen.segment, seen.per_s, brain_ms())
        if brain_ms() - led.warned_ms.get(is_broken, -math.inf) < WARNED_EVERY_MS:
            return
        led.warned_ms[is_broken] = brain_ms()
        log.info(
            "a hot spot is foreseen",
            leaving=flow,
            flow=spot.flow,
            host=spot.host,
            in_s=spot.in_s,
            sure=spot.probability,
        )
        led.modelled_ms = -math.inf
        self._remodel(flow, led, looks=False)  # ants are to price what is coming
        self._body.tell_leader(flow, HotSpotAhead(spot.host, broken=is_broken))
        if self._body.leaders[flow].phase is Phase.RESTING:
            self._body.tell_leader(flow, FlowChanged(led.model.flow))  # not heeded: then as any flow that has changed

    # Who leads.

    async def _settle(self, revision: FlowRevision, view: RegistryView) -> None:
        name = revision.flow
        graph = await self._graph(revision)
        if graph is None:
            return
        if not self._surface.regions:
            return  # nobody has reported yet, not even this host
        if pin(name, graph.spec.sources[0].at, self._surface.regions).host != self._body.host:
            await self._leave(name)
            return
        self._leases.want(lease_of(name))
        term = self._term(name)
        led = self._led.get(name)
        if term is None:
            self._retire(name)
        elif led is None or led.term != term:
            await self._fresh()
            taps = await self._taps.of(graph, view)
            if view.flows.get(name) is revision:  # else the next round sees to it
                begun = Led(revision.revision, term, graph, self._modelled(graph, taps), brain_ms(), taps)
                self._retire(name)
                self._led[name] = begun
                self._succession.begin(begun, view.plans.get(name), self._surface)
        elif led.revision != revision.revision or not self._taps.may_stay(led.taps, graph, view):
            taps = await self._taps.of(graph, view)
            changed = Led(revision.revision, led.term, graph, self._modelled(graph, taps), brain_ms(), taps)
            self._succession.replace(changed, self._surface)
            self._led[name] = changed
        else:
            self._succession.adopt(led, view.plans.get(name), self._surface)
            self._remodel(name, led)
            if name not in self._unexplained:
                await self._corrections.look(led, view, self._surface)

    async def _graph(self, revision: FlowRevision) -> FlowGraph | None:
        """The compiled flow; None if it can't be compiled, which is told once."""
        known = self._graphs.get(revision.flow)
        if known is None or known[0] != revision.revision:
            try:
                graph = await asyncio.to_thread(compiled, revision.text)
            except FlowError as error:
                log.warning("a flow can't be led", flow=revision.flow, error=str(error))
                graph = None
            known = self._graphs[revision.flow] = (revision.revision, graph)
        return known[1]

    async def _end(self, name: str) -> None:
        if name in self._led:
            self._body.tell_leader(name, Withdraw())
            await self._chronicle.send(term_of=self._term)
            if self._body.leaders[name].phase is not Phase.WITHDRAWN or not self._chronicle.is_told(name):
                return
        await self._leave(name)

    async def _leave(self, name: str) -> None:
        self._retire(name)
        self._succession.forget(name)
        self._taps.alone.discard(name)
        await self._leases.drop(lease_of(name))

    def _retire(self, name: str) -> None:
        self._succession.pause(name)
        self._led.pop(name, None)
        self._turns.forget(name)
        self._chronicle.forget(name)
        self._unexplained.pop(name, None)
        self.rows.forget(name)
        self.models.forget(name)

    # What the flow is like.

    def _modelled(self, graph: FlowGraph, taps: tuple[SegmentTap, ...]) -> FlowModel:
        """Without what others run: the leader places the rest, and what it reads of others comes as from sources."""
        name, surface = graph.spec.name, self._surface
        model = model_flow(
            graph,
            surface.regions,
            self.rows.measures(name, surface.capacities),
            models=self.models.of(name, surface.capacities, now_s=self._now_ms() / 1e3),
            hop_ms=self._delays.hop_ms,
            served=[tap.segment for tap in taps],
        )
        return served_model(model, self._served_at(taps), way_ms=self._delays.way_ms)

    def _served_at(self, taps: tuple[SegmentTap, ...]) -> dict[str, str]:
        return served_at(self._view, taps, live=self._surface.regions, otherwise=self._body.host)

    def _remodel(self, name: str, led: Led, *, looks: bool = True) -> None:
        """Let the leader know if the flow is another than it thinks: other rates, or ends on other hosts."""
        flow, spec = led.model.flow, led.graph.spec
        stand = {source.name: source.host for source in flow.sources} | {sink.name: sink.host for sink in flow.sinks}
        ends = {source.name: source.at for source in spec.sources} | {sink.name: sink.at for sink in spec.sinks}
        wanted = {end: pin(name, at, self._surface.regions).host for end, at in ends.items() if end in stand}
        moved = any(stand[end] != host for end, host in (wanted | self._served_at(led.taps)).items())
        if not moved and brain_ms() - led.modelled_ms < REMODEL_EVERY_MS:
            return
        led.modelled_ms = brain_ms()
        seen = led.seen if led.seen is not None and led.seen.is_fresh(led.modelled_ms) else None
        if not moved and seen is None and self.rows.measures(name, self._surface.capacities) is None:
            return
        model = self._modelled(led.graph, led.taps)
        model = model if seen is None else priced(model, seen)
        if moved or model.flow.drift_from(led.model.flow) > DRIFT:
            led.model = model
            self._body.tell_leader(name, FlowChanged(model.flow, looks))
        else:
            led.model = replace(led.model, hops=model.hops)  # brokers and hosts get quicker after their start

    def _tell_frozen(self, view: RegistryView) -> None:
        """Leaders book no room for what the placement service would not do."""
        for name, led in sorted(self._led.items()):
            is_frozen = led.policy(view) == "freeze"
            if self._body.leaders[name].is_frozen is not is_frozen:
                self._body.tell_leader(name, MovesFrozen(is_frozen))

    def _tell_pauses(self, view: RegistryView) -> None:
        """Leaders weigh a move by what moves have really cost lately; until there was one, by what is assumed."""
        if not self._led or brain_ms() - self._pauses_ms < REMODEL_EVERY_MS:
            return
        self._pauses_ms = brain_ms()
        model = pause_model(view)
        if model.seen:
            for flow in self.flows:
                self._body.tell_leader(flow, PauseTold(model.predict(None, None, None, unread_changes=0)))

    def _term(self, flow: str) -> int | None:
        return self._leases.term(lease_of(flow))

    async def _explain_refusals(self) -> None:
        """A flow that found no place is refused with what stands in the way, and what would do."""
        while self._unexplained:
            name, gave_up = self._unexplained.popitem()
            leader, cell = self._body.leaders[name], self._body.cell
            views = [view for view, _ in cell.near() if view.host in self._surface.regions]
            refusal = await asyncio.to_thread(
                why_refused,
                leader.flow,
                [*views, cell.view(without_flow=name)],
                self._delays.delay_ms,
                rng=self._body.chance("admission"),
                fixed_ms=self._led[name].model.held_ms,
            )
            log.warning("a flow is refused", flow=name, binding=refusal.binding, why=refusal.why)
            self._chronicle.refused(gave_up, refusal, leader.flow, bound_ms=self._led[name].graph.spec.qos.latency_ms)
