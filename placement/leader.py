"""Leader: places one flow and keeps watching it (Ants 3.8, 3.9).

A state machine at the host of the flow's first source. It searches for a complete placement, sends the enforcement
ant, and activates the plan once that ant is back and every flow that is to serve has agreed. After that it keeps
sending a few ants and moves the flow when a report is better by the factor beta. A leader never holds one host while
it waits for another, and everything it waits for has a time-out.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from placement.ants.effects import Send, SetTimer
from placement.ants.enforcement import Cancellation, Enforced, EnforcementAnt, Release
from placement.ants.measuring import Measured
from placement.ants.order import Offer, ScoutReport
from placement.ants.params import AntParams
from placement.ants.routing import RoutingAntReturned
from placement.ants.scouting import ScoutFailed
from placement.chance import Chance
from placement.leader_attempt import Attempt, Reason
from placement.leader_events import (
    Crowded,
    CutOff,
    FlowChanged,
    GaveUp,
    Healed,
    HostLost,
    HotSpotAhead,
    Lingers,
    PauseTold,
    Place,
    Propose,
    Proposed,
    Published,
    ServedFrom,
    ServingEnds,
    Stayed,
    TapAnswered,
    TapAsked,
    TimerFired,
    Withdraw,
    Withdrawn,
)
from placement.leader_lessons import Lessons
from placement.leader_params import LeaderParams
from placement.leader_phases import WAITS_FOR, Phase
from placement.leader_purse import Purse
from placement.leader_release import measuring_ant
from placement.leader_rounds import Rounds
from placement.leader_search import Means, Search, Stage
from placement.leader_standing import Standing
from placement.leader_taps import Enforcing, answer
from placement.leader_weighing import COMPARED, OPTIONAL, Weighed, Weighing
from placement.model import Flow, Plan

LeaderEffect = Send | SetTimer | Published | Proposed | GaveUp | Stayed | Lingers | Withdrawn


class Leader:
    """The leader of one flow. `step` takes one event and gives the effects that follow."""

    def __init__(
        self,
        flow: Flow,
        params: LeaderParams,
        ants: AntParams,
        *,
        fastest_capacity: float,
        now_ms: float = 0.0,
        last_epoch: int = 0,
        seniority: int = 0,
        running: Plan | None = None,
        home: str | None = None,
    ) -> None:
        """`fastest_capacity` of any host bounds from below what a placement can cost.

        `last_epoch` is the newest epoch the registry knows of this flow: a leader that comes back counts on from it.
        `running` is the plan that the registry says runs: a leader that takes over begins with it.
        `seniority` is the flow's place in the order of submission (smaller is older): flows tap only older ones.
        `home` is the host where it lives, if that is not the host of the flow's first source.
        """
        self.flow = flow
        self.host = home or flow.sources[0].host
        self.params = params
        self.ants = ants
        self.phase = Phase.RESTING
        self.standing = Standing(flow, running)
        self.epoch = last_epoch
        self.purse = Purse(params)
        self._means = Means(self.host, params, ants, fastest_capacity, self.purse)
        self._seniority = seniority
        self._weighing = Weighing(params)
        self._rounds = Rounds(flow, params, self.purse)
        self._search: Search | None = None
        self._failures = 0
        """Attempts that failed in a row."""
        self._gave_up = 0
        """How often in a row."""
        self._round = 0
        self._lessons = Lessons(params.shun_ms)
        self._now_ms = now_ms
        self._reacts: dict[type, Callable[[Any, Chance], list[LeaderEffect]]] = {
            Place: self._on_place,
            Propose: self._on_propose,
            Withdraw: self._on_withdraw,
            HostLost: self._on_host_lost,
            CutOff: self._on_cut_off,
            FlowChanged: self._on_flow_changed,
            PauseTold: self._on_pause_told,
            Crowded: self._on_crowded,
            HotSpotAhead: self._on_hot_spot_ahead,
            Healed: self._on_healed,
            TimerFired: self._on_timer,
            RoutingAntReturned: self._on_ant_home,
            ScoutReport: self._on_ant_home,
            ScoutFailed: lambda news, rng: [],
            Measured: self._on_measured,
            Enforced: self._on_enforced,
            TapAnswered: self._on_tap_answered,
            TapAsked: self._on_tap_asked,
            Release: self._on_tap_ended,
            Cancellation: self._on_tap_ended,
            ServingEnds: self._on_serving_ends,
            ServedFrom: self._on_served_from,
        }
        if running is not None:
            self._earn()

    @property
    def plan(self) -> Plan | None:
        """The plan that runs."""
        return self.standing.plan

    @property
    def running(self) -> dict[int, str]:
        """Task -> host of the plan that runs."""
        return self.standing.running

    def step(self, event: Any, *, now_ms: float, rng: Chance) -> list[LeaderEffect]:
        """Take one event."""
        self._now_ms = now_ms
        if isinstance(event, RoutingAntReturned | ScoutReport | ScoutFailed):
            self.purse.learn(event)
        if self.phase not in WAITS_FOR[type(event)]:
            return []
        return self._reacts[type(event)](event, rng)

    # What a leader is told.

    def _on_place(self, _: Place, rng: Chance) -> list[LeaderEffect]:
        if self.standing.enforcing is not None:
            return []
        self._failures = self._gave_up = 0
        if self.phase is Phase.LINGERING:
            return self._rest([])  # its user wants it again, and it never stopped
        reason = self.standing.why_look()
        return self._begin(Reason.USER if reason is Reason.WATCH else reason, rng)

    def _on_propose(self, _: Propose, rng: Chance) -> list[LeaderEffect]:
        """Only what runs well enough to be asked about can be compared with something else."""
        if self.standing.why_look() is not Reason.WATCH:
            return []
        self._failures = 0
        return self._begin(Reason.PROPOSE, rng)

    def _on_withdraw(self, _: Withdraw, rng: Chance) -> list[LeaderEffect]:
        """End the flow; a flow that others tap runs on until they have found another way."""
        if not self.standing.grants.tappers:
            return self._end()
        abandoned = self._abandon_enforcement()
        self.phase, self._search = Phase.LINGERING, None
        told = self.standing.grants.tell_ending(self.flow.name)
        return [*abandoned, *told, Lingers(self.flow.name, self.standing.grants.tappers)]

    def _end(self) -> list[LeaderEffect]:
        self.phase, self._search = Phase.WITHDRAWN, None
        return [*self.standing.end(self.epoch), Withdrawn(self.flow.name)]

    def _on_host_lost(self, event: HostLost, rng: Chance) -> list[LeaderEffect]:
        """Whatever the leader was doing, what it found may include the dead host: start again if it matters."""
        self.standing.grants.forget(event.host)
        self._lessons.shun(event.host, now_ms=self._now_ms)
        if self.phase is Phase.LINGERING:
            serving = self.standing.grants.tappers and event.host not in self.running.values()
            return [] if serving else self._end()
        if event.host in self.running.values():
            self.standing.dead.add(event.host)
            self._failures = 0
            return [*self._abandon_enforcement(), *self._begin(Reason.LOST, rng)]
        # The leader of a flow that it taps died, and that flow with it.
        gone = {offer.flow for offer in self._all_taps() if offer.home == event.host}
        if gone:
            return [effect for flow in sorted(gone) for effect in self._on_serving_ends(ServingEnds(flow), rng)]
        enforcing = self.standing.enforcing
        if enforcing is not None and any(stop.host == event.host for stop in enforcing.ant.stops):
            return [*self._abandon_enforcement(), *self._try_again(f"{event.host} was lost", rng)]
        attempt = self._attempt
        if attempt is not None and event.host in attempt.where.values():
            return self._begin(attempt.reason, rng)
        return []

    def _on_cut_off(self, event: CutOff, rng: Chance) -> list[LeaderEffect]:
        """Its own rounds would tell, but a flow that earns little may wait hours for two of them (decision 235)."""
        self._lessons.shun(*event.beyond, now_ms=self._now_ms)
        looks = self.standing.why_look() is not Reason.WATCH
        self.standing.cut = event
        if looks:
            return []
        self._failures = 0
        return [*self._abandon_enforcement(), *self._begin(Reason.CUT_OFF, rng)]

    def _on_flow_changed(self, event: FlowChanged, rng: Chance) -> list[LeaderEffect]:
        """The flow weighs something else now. If it is much else, look at once: a host that was right may be full."""
        same = [(edge.tail, edge.head) for edge in event.flow.edges] == [(e.tail, e.head) for e in self.flow.edges]
        assert same, "a changed graph is a new flow: withdraw the old one, submit the new"
        self.flow = self.standing.flow = event.flow
        if self.plan is not None:
            self._earn()
        watching = self.phase is Phase.RESTING and self.standing.why_look() is Reason.WATCH
        if not watching or not self._rounds.has_drifted(self.flow) or not self._is_round_free:
            return []
        self._failures = 0
        return self._begin(Reason.WATCH, rng)

    def _on_pause_told(self, event: PauseTold, _: Chance) -> list[LeaderEffect]:
        self._weighing.damping.pause_ms = event.pause_ms
        return []

    def _on_healed(self, _: Healed, rng: Chance) -> list[LeaderEffect]:
        """A leader that gave up need not sleep on, nor wait for ants that found no way."""
        self._lessons.healed()
        was_cut, self.standing.cut = self.standing.why_look() is Reason.CUT_OFF, None
        if was_cut:
            # It never stopped, and may be whole again; if it is not, the leader hears so.
            self._failures = self._gave_up = 0
            return self._rest([])
        searching = self._search is not None and self._search.stage is Stage.SCOUTING
        if searching or self.standing.why_look() is Reason.WATCH:
            return []
        self._failures = self._gave_up = 0
        return self._begin(self.standing.why_look(), rng)

    def _on_crowded(self, event: Crowded, rng: Chance) -> list[LeaderEffect]:
        """A host of the flow got a longer queue: look for a better place now, if the budget allows.

        A search that is under way may have measured and priced before that: then look again right after it.
        """
        if not (self.params.watch and self.params.heed_alarms) or event.host not in self.running.values():
            return []
        if self.phase is not Phase.RESTING:
            self._rounds.alarmed = True
            return []
        if not self._is_round_free:
            return []
        self._failures = 0
        return self._begin(self.standing.why_look(), rng)

    def _on_hot_spot_ahead(self, event: HotSpotAhead, rng: Chance) -> list[LeaderEffect]:
        """The bound is about to break: send ants now, on credit, but not more often than rounds go."""
        if not self.params.watch or event.host not in self.running.values():
            return []
        if self.phase is not Phase.RESTING:
            self._rounds.alarmed = True
            return []
        watching = self.standing.why_look() is Reason.WATCH
        if not watching or not self._rounds.heed_warning(self.flow, now_ms=self._now_ms):
            return []
        self._failures = 0
        return self._begin(Reason.HOT, rng)

    def _on_timer(self, event: TimerFired, rng: Chance) -> list[LeaderEffect]:
        if event.name == "rest" and self.phase is Phase.RESTING:
            self._failures = 0
            return self._begin(self.standing.why_look(), rng)
        if event.name != "patience":
            return []
        if self.phase is Phase.ENFORCING:
            assert self.standing.enforcing is not None
            stops = {stop.host for stop in self.standing.enforcing.ant.stops}
            self._lessons.shun(*sorted(stops - set(self.running.values())), now_ms=self._now_ms)
            return [*self._abandon_enforcement(), *self._try_again("the enforcement ant did not come back", rng)]
        return self._on_ant_home(event, rng) if self.phase is Phase.SEARCHING else []

    def _on_ant_home(self, news: RoutingAntReturned | ScoutReport | TimerFired, rng: Chance) -> list[LeaderEffect]:
        """The search goes on; where it ends, the leader decides."""
        search = self._search
        assert search is not None
        effects = search.step(news, now_ms=self._now_ms, rng=rng) if search.stage is not Stage.FOUND else []
        if search.stage is Stage.FOUND:
            waits = self._weighing.awaits_measure(search.attempt.reason) and not isinstance(news, TimerFired)
            return [] if waits else self._decide(rng)
        return self._try_again(search.why, rng) if search.stage is Stage.FAILED else [*effects]

    def _on_measured(self, news: Measured, rng: Chance) -> list[LeaderEffect]:
        if news.round != self._round:
            return []
        self._weighing.measured = news
        found = self._search is not None and self._search.stage is Stage.FOUND
        return self._decide(rng) if found else []

    def _on_enforced(self, news: Enforced, rng: Chance) -> list[LeaderEffect]:
        enforcing = self.standing.enforcing
        if enforcing is None or news.epoch != enforcing.plan.epoch:
            return []
        late = self._now_ms - enforcing.sent_ms > self.ants.enforcement.activation_ms / 2
        if news.committed and not late:
            enforcing.committed = True
            return self._activate() if enforcing.complete else []
        if self.params.heed_refusals:
            self._lessons.learn(news)
        why = "the enforcement ant came back too late" if news.committed else news.why
        return [*self._abandon_enforcement(), *self._try_again(why, rng)]

    def _on_tap_answered(self, news: TapAnswered, rng: Chance) -> list[LeaderEffect]:
        enforcing = self.standing.enforcing
        if enforcing is None or news.epoch != enforcing.plan.epoch:
            return []
        if news.why_not:
            self.standing.avoided.add(news.flow)
            return [*self._abandon_enforcement(), *self._try_again(f"{news.flow}: {news.why_not}", rng)]
        enforcing.granted.add(f"{news.flow}/{news.task}")
        return self._activate() if enforcing.complete else []

    def _on_tap_asked(self, asked: TapAsked, _: Chance) -> list[LeaderEffect]:
        """Another flow wants to tap: from the consent on, the task must not stop."""
        ending = self.phase in (Phase.LINGERING, Phase.WITHDRAWN)
        why_not = self.standing.refusal(asked, ending=ending)
        if not why_not:
            self.standing.grants.add(asked)
        return [answer(asked, self.flow.name, why_not)]

    def _on_tap_ended(self, news: Release | Cancellation, _: Chance) -> list[LeaderEffect]:
        self.standing.grants.end(news)
        return self._end() if self.phase is Phase.LINGERING and not self.standing.grants.tappers else []

    def _on_serving_ends(self, news: ServingEnds, rng: Chance) -> list[LeaderEffect]:
        """A flow that this one taps is ending: find another way, and stay until there is one."""
        self.standing.avoided.add(news.flow)
        if any(offer.flow == news.flow for offer in self.standing.taps.values()):
            self._failures = 0
            return [*self._abandon_enforcement(), *self._begin(self.standing.why_look(), rng)]
        if any(offer.flow == news.flow for offer in self.standing.enforced_taps.values()):
            return [*self._abandon_enforcement(), *self._try_again(f"{news.flow} is ending", rng)]
        attempt = self._attempt
        if attempt is not None and any(offer.flow == news.flow for offer in attempt.taps.values()):
            return self._begin(attempt.reason, rng)
        return []

    def _on_served_from(self, news: ServedFrom, _: Chance) -> list[LeaderEffect]:
        self.standing.served_from(news)
        return []

    # What a leader does.

    @property
    def _attempt(self) -> Attempt | None:
        return self._search.attempt if self._search is not None else None

    def _all_taps(self) -> list[Offer]:
        attempt = self._attempt.taps if self._attempt is not None else {}
        return [*self.standing.taps.values(), *self.standing.enforced_taps.values(), *attempt.values()]

    def _begin(self, reason: Reason, rng: Chance) -> list[LeaderEffect]:
        """Start to look for a complete placement."""
        self._round += 1
        self._rounds.begin(self.flow)
        barred = self._weighing.barred(reason, now_ms=self._now_ms)
        bounds = replace(self.standing.bounds(self._seniority), barred=barred)
        bounds = self._lessons.taught(bounds, self.flow.graph.task_count, now_ms=self._now_ms)
        self.phase = Phase.SEARCHING
        self._search = Search(
            self.flow,
            reason,
            self._round,
            bounds,
            self._means,
            tries=self._failures,
            paid=self.plan is not None,
            probing=self._gave_up > 0,
        )
        self._weighing.measured = None
        route: list[LeaderEffect] = [*self._search.begin(now_ms=self._now_ms)]
        if reason not in COMPARED:
            return route
        social = self.ants.scouting.social
        measure = measuring_ant(
            self.flow, self.running, self.standing.taps, number=self._round, home=self.host, social=social
        )
        return [measure, *route]

    def _try_again(self, why: str, rng: Chance) -> list[LeaderEffect]:
        """The attempt failed: begin anew with fresh ants, or rest for a while."""
        search = self._search
        assert search is not None
        attempt = search.attempt
        self._failures += 1
        watching = attempt.reason in OPTIONAL
        # A refused move is tried again at once, with what the refusal taught, as long as the budget pays for it.
        affordable = not watching or (bool(self._lessons) and self._is_round_free)
        # After giving up once, a look that finds nothing is not worth another: ants without end would fill the network.
        tired = self._gave_up > 0 or self._failures >= self.params.max_failed_searches
        hopeless = tired and search.stage is Stage.FAILED
        if affordable and self._failures < self.params.max_attempts and not hopeless:
            return self._begin(attempt.reason, rng)
        if watching:
            return self._rest([Stayed(self.flow.name, math.nan, attempt.cost_ms, why)])
        pause_ms = min(self.params.retry_after_ms * 2**self._gave_up, self.params.retry_at_most_ms)
        self._gave_up += 1
        # What can't be placed can't serve either.
        told = self.standing.grants.tell_ending(self.flow.name) if attempt.reason is Reason.LOST else []
        return self._rest([*told, GaveUp(self.flow.name, why)], after_ms=pause_ms)

    def _decide(self, rng: Chance) -> list[LeaderEffect]:
        """All chains are found: carry the placement out, or stay where the flow is."""
        attempt = self._attempt
        assert attempt is not None
        stopped = self.standing.stopped_by(attempt)
        if stopped:
            return self._try_again(f"{stopped[0]} was tapped meanwhile and must run", rng)
        if attempt.own_ms >= self.flow.latency_bound_ms:
            # Scouts hold each chain to the bound; together the chains may still break it.
            whole = f"the whole flow would take {attempt.own_ms:.1f} ms, its bound is {self.flow.latency_bound_ms:g} ms"
            return self._try_again(whole, rng)
        if self._weighing.can_compare(attempt.reason):
            moves = self.standing.moves_to(attempt)
            weighed = self._weighing.weigh(attempt, moves, beta=self.flow.beta, now_ms=self._now_ms)
            if attempt.reason is Reason.PROPOSE and moves:
                return self._propose(attempt, weighed)
            if weighed.objection is not None:
                self._rounds.learned()
                stayed = Stayed(
                    self.flow.name, weighed.now_cost_ms, attempt.cost_ms, weighed.objection, weighed.now_own_ms
                )
                return self._rest([stayed])
        return self._enforce()

    def _propose(self, attempt: Attempt, weighed: Weighed) -> list[LeaderEffect]:
        """Tell what was found. Its epoch is the next one, and stays free: a proposal binds nobody."""
        plan = Plan.between(self.flow.name, self.epoch + 1, self.standing.placement, attempt.placement(self.flow))
        proposed = Proposed(
            plan,
            attempt.cost_ms,
            attempt.own_ms,
            weighed.now_cost_ms,
            weighed.now_own_ms,
            weighed.objection,
            tuple(attempt.alternatives),
        )
        return self._rest([proposed])

    def _enforce(self) -> list[LeaderEffect]:
        attempt = self._attempt
        assert attempt is not None
        self.phase = Phase.ENFORCING
        self.epoch += 1
        plan = Plan.between(self.flow.name, self.epoch, self.standing.placement, attempt.placement(self.flow))
        stops, social = attempt.stops(), self.ants.scouting.social
        trip_ms = 2 * attempt.longest_trip_ms * len(stops)
        ant = EnforcementAnt(self.flow, self.epoch, self.host, stops, trip_ms, social, seniority=self._seniority)
        enforcing = self.standing.enforcing = Enforcing(plan, ant, dict(attempt.taps), self._now_ms)
        return [Send(stops[0].host, ant), *enforcing.ask(), self._patience(self.params.patience_for_ms(trip_ms))]

    def _abandon_enforcement(self) -> list[LeaderEffect]:
        """Give an enforcement up: its epoch is dead, wherever its ant may still be."""
        enforcing, self.standing.enforcing = self.standing.enforcing, None
        return [] if enforcing is None else [*enforcing.cancel()]

    def _activate(self) -> list[LeaderEffect]:
        """The plan is committed everywhere: let it run, and end what ran before."""
        attempt = self._attempt
        assert attempt is not None
        told, left = self.standing.switch(home=self.host)
        self._gave_up = 0
        self._weighing.damping.left(left, now_ms=self._now_ms)
        self._rounds.learned(hops=attempt.hops)
        self._earn()
        assert self.plan is not None
        published = Published(
            self.plan,
            attempt.cost_ms,
            attempt.reason.value,
            own_ms=attempt.own_ms,
            alternatives=tuple(attempt.alternatives),
            now_cost_ms=self._weighing.now_cost_ms,
            now_own_ms=self._weighing.now_own_ms,
        )
        return self._rest([*told, published])

    def _rest(self, effects: list[LeaderEffect], *, after_ms: float | None = None) -> list[LeaderEffect]:
        """Wait for the next round: as soon as the interval and the budget allow."""
        self.phase, self._search = Phase.RESTING, None
        self._lessons.rest()
        if after_ms is not None:
            return [*effects, SetTimer(self.flow.name, "rest", self._now_ms + after_ms)]
        if self.plan is None or not self.params.watch:
            return effects
        at_ms = self._rounds.next_at_ms(self.flow, now_ms=self._now_ms)
        return effects if math.isinf(at_ms) else [*effects, SetTimer(self.flow.name, "rest", at_ms)]

    def _earn(self) -> None:
        self._rounds.earn(self.flow, self.standing.where, now_ms=self._now_ms)

    @property
    def _is_round_free(self) -> bool:
        return self._rounds.are_free(self.flow, now_ms=self._now_ms)

    def _patience(self, wait_ms: float) -> SetTimer:
        return SetTimer(self.flow.name, "patience", self._now_ms + wait_ms)
