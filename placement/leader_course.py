"""Course: how a leader gets from a reason to look for a place to a plan that runs, and to rest again (Ants 3.8, 3.9).

A search finds a complete placement, which is weighed against what runs. An enforcement ant carries it out, and it is
activated once that ant is back and every flow that is to serve has agreed. What fails on the way is tried again a few
times, then the flow rests. What turns a course, users, faults and other flows, is for the leader to say (leader.py).
"""

import math
from collections import deque
from collections.abc import Set
from dataclasses import replace

from placement.ants.effects import Send, SetTimer
from placement.ants.enforcement import Enforced, EnforcementAnt
from placement.ants.measuring import Measured
from placement.ants.order import Offer, ScoutReport
from placement.ants.routing import RoutingAntReturned
from placement.ants.scouting import ScoutFailed
from placement.chance import Chance
from placement.leader_attempt import Attempt, Reason
from placement.leader_events import (
    Corrected,
    GaveUp,
    LeaderEffect,
    NotCarriedOut,
    Proposed,
    Published,
    Stayed,
    TapAnswered,
    TimerFired,
)
from placement.leader_lessons import Lessons
from placement.leader_phases import Phase
from placement.leader_release import measuring_ant
from placement.leader_rounds import Rounds
from placement.leader_search import Means, Search, Stage
from placement.leader_standing import Standing
from placement.leader_taps import Enforcing
from placement.leader_weighing import COMPARED, OPTIONAL, Weighed, Weighing
from placement.model import Flow, Plan

CourseNews = TimerFired | RoutingAntReturned | ScoutReport | ScoutFailed | Measured | Enforced | TapAnswered
"""What a course waits for: its own timers and ants, and the answers to what it asked."""

_PAUSE_SPREAD = 0.5
"""A pause after giving up is drawn from half of it to one and a half."""

_UNHEARD_MAX = 4
"""A leader that tries every few seconds has no older ones whose room has not run out."""


class Course:
    """Of one flow. `phase` says how far it is."""

    def __init__(self, standing: Standing, means: Means, *, last_epoch: int, seniority: int) -> None:
        self.phase = Phase.RESTING
        self.epoch = last_epoch
        self.round = 0
        """Of the ants in the field."""
        self.lessons = Lessons(means.params.shun_ms)
        self.rounds = Rounds(standing.flow, means.params, means.purse)
        self.weighing = Weighing(means.params)
        self._standing = standing
        self._means = means
        self._seniority = seniority
        self._search: Search | None = None
        self._failures = 0
        """Attempts that failed in a row."""
        self._missed = 0
        """Of these, those that failed because ants did not come back in time."""
        self._gave_up = 0
        """How often in a row."""
        self._unheard: deque[Enforcing] = deque(maxlen=_UNHEARD_MAX)
        """The last that were given up and whose ants were never heard of."""

    @property
    def attempt(self) -> Attempt | None:
        """What has been found so far, and may be carried out already; none at rest."""
        return self._search.attempt if self._search is not None else None

    @property
    def is_promising(self) -> bool:
        """Whether a search is under way in which nobody was waited for in vain yet, or scouts have found a way."""
        search = self._search
        return search is not None and (search.stage is not Stage.ROUTING or search.attempt.releases == 1)

    @property
    def all_taps(self) -> list[Offer]:
        """What the flow taps, is about to tap, or may decide to tap."""
        attempt = self.attempt.taps if self.attempt is not None else {}
        return [*self._standing.taps.values(), *self._standing.enforced_taps.values(), *attempt.values()]

    # How it begins and ends.

    def begin(self, reason: Reason, *, now_ms: float) -> list[LeaderEffect]:
        """Start to look for a complete placement, whatever was under way."""
        self._failures = self._missed = 0
        return self._begin(reason, now_ms=now_ms)

    def begin_again(self, *, now_ms: float) -> list[LeaderEffect]:
        """What was found so far is worth nothing any more; nobody failed."""
        assert self.attempt is not None
        return self._begin(self.attempt.reason, now_ms=now_ms)

    def _fail(
        self, why: str, *, now_ms: float, rng: Chance, missed: bool = False, refused: bool = False
    ) -> list[LeaderEffect]:
        """The attempt failed: begin anew with fresh ants, or rest for a while. `missed`: ants were waited for in vain.

        Only then is it worth waiting longer for the next ones. A host that refused was quick to say so (decision 263).
        `refused`: by somebody who knows better than scouts; there was a place, and a rival may have been faster.
        """
        abandoned = self._abandon_enforcement()
        search, params = self._search, self._means.params
        assert search is not None
        attempt = search.attempt
        self._failures += 1
        self._missed += missed or not params.learn_patience
        if search.stage is Stage.FAILED:
            # With all that it was taught nothing is left: what rivals had only reserved may be free again.
            self.lessons.forget()
            if attempt.reason is Reason.LOST and params.let_go:
                abandoned += self._let_go()
        watching = attempt.reason in OPTIONAL
        # A refused move is tried again at once, with what the refusal taught, as long as the budget pays for it.
        affordable = not watching or (bool(self.lessons) and self.rounds.are_free(self._flow, now_ms=now_ms))
        # After giving up once, a look that finds nothing is not worth another: ants without end would fill the network.
        tired = self._gave_up > 0 or self._failures >= params.max_failed_searches
        hopeless = tired and search.stage is Stage.FAILED
        if affordable and self._failures < params.max_attempts and not hopeless:
            reason = attempt.reason if self._standing.plan is not None else Reason.FIRST
            return [*abandoned, *self._begin(reason, now_ms=now_ms)]
        if watching:
            stayed = Stayed(self._flow.name, math.nan, attempt.cost_ms, why)
            return self.rest([*abandoned, stayed], now_ms=now_ms)
        first_ms = params.patience_ms if refused else params.retry_after_ms
        pause_ms = min(first_ms * 2**self._gave_up, params.retry_at_most_ms)
        # Leaders that one fault has hit, or that turned each other back, must not come back at the same moment.
        pause_ms *= rng.uniform(1.0 - _PAUSE_SPREAD, 1.0 + _PAUSE_SPREAD)
        self._gave_up += 1
        lost = self._standing.why_look() is Reason.LOST
        told = self._standing.grants.tell_ending(self._flow.name) if lost else []
        gave_up = GaveUp(self._flow.name, why)
        return self.rest([*abandoned, *told, gave_up], now_ms=now_ms, after_ms=pause_ms)

    def _let_go(self) -> list[LeaderEffect]:
        """Give up the room that the flow has left: who waits for a place holds none that another waits for (313).

        What can't be placed can't serve either.
        """
        standing = self._standing
        return [*standing.grants.tell_ending(self._flow.name), *standing.let_go(self.epoch)]

    def take_heart(self) -> None:
        """What made it give up may be over: the next look is worth as many ants as the first."""
        self._gave_up = 0

    def rest(self, effects: list[LeaderEffect], *, now_ms: float, after_ms: float | None = None) -> list[LeaderEffect]:
        """Wait for the next round: as soon as the interval and the budget allow."""
        self.phase, self._search = Phase.RESTING, None
        self.lessons.forget()
        flow = self._flow
        if after_ms is not None:
            return [*effects, SetTimer(flow.name, "rest", now_ms + after_ms)]
        if self._standing.plan is None or not self.rounds.watch:
            return effects
        at_ms = self.rounds.next_at_ms(flow, now_ms=now_ms, stuck=math.isinf(self.weighing.now_cost_ms))
        return effects if math.isinf(at_ms) else [*effects, SetTimer(flow.name, "rest", at_ms)]

    def correct(self, news: NotCarriedOut, *, now_ms: float) -> list[LeaderEffect]:
        """What runs is what the registry says, under an epoch of its own, so that all who go by plans know it too."""
        standing, index = self._standing, self._flow.graph.task_index
        self.epoch += 1
        told, missed = standing.correct({index[task]: host for task, host in news.where}, self.epoch)
        self.weighing.damping.stayed(standing.running, missed, now_ms=now_ms, longest=news.by_person)
        self.rounds.earn(self._flow, standing.where, now_ms=now_ms)
        assert standing.plan is not None
        return self.rest([*told, Corrected(standing.plan, news.why)], now_ms=now_ms)

    def stay(self, *, now_ms: float) -> list[LeaderEffect]:
        """What is being carried out is given up, unless the flow needs another place."""
        assert self.attempt is not None
        optional = self.weighing.can_compare(self.attempt.reason)
        return self.rest(self._abandon_enforcement(), now_ms=now_ms) if optional else []

    def linger(self) -> list[LeaderEffect]:
        """The flow runs on unchanged for those who tap it."""
        self.phase, self._search = Phase.LINGERING, None
        return self._abandon_enforcement()

    def end(self) -> list[LeaderEffect]:
        """Nothing of the flow runs any more."""
        self.phase, self._search = Phase.WITHDRAWN, None
        return [*self._standing.end(self.epoch)]

    # What it waits for.

    def step(self, news: CourseNews, *, now_ms: float, rng: Chance) -> list[LeaderEffect]:
        """Take news in a phase that waits for it."""
        match news:
            case TimerFired():
                return self._on_timer(news, now_ms=now_ms, rng=rng)
            case RoutingAntReturned() | ScoutReport():
                return self._on_ant_home(news, now_ms=now_ms, rng=rng)
            case ScoutFailed():
                return []
            case Measured():
                return self._on_measured(news, now_ms=now_ms, rng=rng)
            case Enforced():
                return self._on_enforced(news, now_ms=now_ms, rng=rng)
            case TapAnswered():
                return self._on_tap_answered(news, now_ms=now_ms, rng=rng)

    def _on_timer(self, timer: TimerFired, *, now_ms: float, rng: Chance) -> list[LeaderEffect]:
        if timer.name == "rest" and self.phase is Phase.RESTING:
            return self.begin(self._standing.why_look(), now_ms=now_ms)
        if timer.name != "patience":
            return []
        if self.phase is Phase.ENFORCING:
            assert self._standing.enforcing is not None
            self._missed_at({stop.host for stop in self._standing.enforcing.ant.stops}, now_ms=now_ms)
            return self._fail("the enforcement ant did not come back", now_ms=now_ms, rng=rng, missed=True)
        return self._on_ant_home(timer, now_ms=now_ms, rng=rng) if self.phase is Phase.SEARCHING else []

    def _on_ant_home(
        self, news: RoutingAntReturned | ScoutReport | TimerFired, *, now_ms: float, rng: Chance
    ) -> list[LeaderEffect]:
        """The search goes on; where it ends, the leader decides."""
        search = self._search
        assert search is not None
        effects = search.step(news, now_ms=now_ms, rng=rng) if search.stage is not Stage.FOUND else []
        if search.stage is Stage.FOUND:
            waits = self.weighing.awaits_measure(search.attempt.reason) and not isinstance(news, TimerFired)
            return [] if waits else self._decide(now_ms=now_ms, rng=rng)
        if search.stage is not Stage.FAILED:
            return [*effects]
        self._missed_at(search.silent, now_ms=now_ms, times=search.attempt.releases)
        return self._fail(search.why, now_ms=now_ms, rng=rng, missed=True)

    def _missed_at(self, hosts: Set[str], *, now_ms: float, times: int = 1) -> None:
        """Ants did not come back from these; of hosts where the flow runs the leader would hear that they are gone."""
        self.lessons.missed(*sorted(hosts - set(self._standing.running.values())), now_ms=now_ms, times=times)

    def _on_measured(self, news: Measured, *, now_ms: float, rng: Chance) -> list[LeaderEffect]:
        if news.round != self.round:
            return []
        self.weighing.measured = news
        found = self._search is not None and self._search.stage is Stage.FOUND
        return self._decide(now_ms=now_ms, rng=rng) if found else []

    def _on_enforced(self, news: Enforced, *, now_ms: float, rng: Chance) -> list[LeaderEffect]:
        enforcing = self._standing.enforcing
        if enforcing is None or news.epoch != enforcing.plan.epoch:
            return []
        enforcing.heard = True
        late = now_ms - enforcing.sent_ms > self._means.ants.enforcement.activation_ms / 2
        if news.committed and not late:
            assert self.attempt is not None
            longest_ms = self.attempt.longest_ms(self._flow, news.edges_ms) if news.edges_ms else 0.0
            if longest_ms >= self._flow.latency_bound_ms:
                why = (
                    f"its longest path would take {longest_ms:.1f} ms, the bound is {self._flow.latency_bound_ms:g} ms"
                )
                return self._fail(why, now_ms=now_ms, rng=rng)
            enforcing.committed = True
            return self._activate(now_ms=now_ms) if enforcing.complete else []
        if self._means.params.heed_refusals:
            self.lessons.learn(news)
        why = "the enforcement ant came back too late" if news.committed else news.why
        return self._fail(why, now_ms=now_ms, rng=rng, missed=news.committed, refused=not news.committed)

    def _on_tap_answered(self, news: TapAnswered, *, now_ms: float, rng: Chance) -> list[LeaderEffect]:
        enforcing = self._standing.enforcing
        if enforcing is None or news.epoch != enforcing.plan.epoch:
            return []
        if news.why_not:
            self._standing.avoided.add(news.flow)
            return self._fail(f"{news.flow}: {news.why_not}", now_ms=now_ms, rng=rng, refused=True)
        enforcing.granted.add(f"{news.flow}/{news.task}")
        return self._activate(now_ms=now_ms) if enforcing.complete else []

    # How it goes on.

    @property
    def _flow(self) -> Flow:
        return self._standing.flow

    def _begin(self, reason: Reason, *, now_ms: float) -> list[LeaderEffect]:
        abandoned = self._abandon_enforcement()
        standing, means, flow = self._standing, self._means, self._flow
        self.round += 1
        self.rounds.begin(flow)
        barred = self.weighing.barred(reason, now_ms=now_ms)
        bounds = replace(standing.bounds(self._seniority), barred=barred)
        bounds = self.lessons.taught(bounds, flow.graph.task_count, now_ms=now_ms)
        self.phase = Phase.SEARCHING
        self._search = Search(
            flow,
            reason,
            self.round,
            bounds,
            means,
            tries=self._missed,
            paid=standing.plan is not None,
            probing=self._gave_up > 1,  # what was in the way is often gone by the first look after giving up
        )
        self.weighing.measured = None
        route = self._search.begin(now_ms=now_ms)
        if reason not in COMPARED:
            return [*abandoned, *route]
        social = means.ants.scouting.social
        measure = measuring_ant(
            flow, standing.running, standing.taps, number=self.round, home=means.home, social=social
        )
        return [*abandoned, measure, *route]

    def _decide(self, *, now_ms: float, rng: Chance) -> list[LeaderEffect]:
        """All chains are found: carry the placement out, or stay where the flow is."""
        attempt, standing, flow = self.attempt, self._standing, self._flow
        assert attempt is not None
        stopped = standing.stopped_by(attempt)
        if stopped:
            return self._fail(f"{stopped[0]} was tapped meanwhile and must run", now_ms=now_ms, rng=rng)
        if attempt.own_ms >= flow.latency_bound_ms:
            # Scouts hold each chain to the bound; together the chains may still break it. This is the mean over paths:
            # where it breaks the bound the longest path does too. That is judged once the enforcement ant is back.
            whole = f"the whole flow would take {attempt.own_ms:.1f} ms, its bound is {flow.latency_bound_ms:g} ms"
            return self._fail(whole, now_ms=now_ms, rng=rng)
        if self.weighing.can_compare(attempt.reason):
            moves = standing.moves_to(attempt)
            weighed = self.weighing.weigh(attempt, moves, flow=flow, now_ms=now_ms)
            if attempt.reason is Reason.PROPOSE and moves:
                return self._propose(attempt, weighed, now_ms=now_ms)
            if weighed.objection is not None:
                self.rounds.learned()
                stayed = Stayed(flow.name, weighed.now_cost_ms, attempt.cost_ms, weighed.objection, weighed.now_own_ms)
                return self.rest([stayed], now_ms=now_ms)
        return self._enforce(attempt, now_ms=now_ms)

    def _plan(self, attempt: Attempt, epoch: int) -> Plan:
        return Plan.between(self._flow.name, epoch, self._standing.placement, attempt.placement(self._flow))

    def _propose(self, attempt: Attempt, weighed: Weighed, *, now_ms: float) -> list[LeaderEffect]:
        """Tell what was found. Its epoch is the next one, and stays free: a proposal binds nobody."""
        proposed = Proposed(
            self._plan(attempt, self.epoch + 1),
            attempt.cost_ms,
            attempt.own_ms,
            weighed.now_cost_ms,
            weighed.now_own_ms,
            weighed.objection,
            tuple(attempt.alternatives),
        )
        return self.rest([proposed], now_ms=now_ms)

    def _enforce(self, attempt: Attempt, *, now_ms: float) -> list[LeaderEffect]:
        means, flow = self._means, self._flow
        self.phase = Phase.ENFORCING
        self.epoch += 1
        stops, social = attempt.stops(flow), means.ants.scouting.social
        # It goes where the tasks go, which may be much further than from one end of the flow to the other.
        trip_ms = 2 * max(attempt.longest_trip_ms, attempt.way_ms) * len(stops)
        longer = 2 ** min(self._missed, 6)
        ant = EnforcementAnt(flow, self.epoch, means.home, stops, trip_ms * longer, social, seniority=self._seniority)
        enforcing = Enforcing(self._plan(attempt, self.epoch), ant, dict(attempt.taps), now_ms)
        self._standing.enforcing = enforcing
        patience = SetTimer(flow.name, "patience", now_ms + means.params.patience_for_ms(trip_ms) * longer)
        return [Send(stops[0].host, ant), *enforcing.ask(), patience]

    def _abandon_enforcement(self) -> list[LeaderEffect]:
        """Give an enforcement up, if there is one: its epoch is dead, wherever its ant may still be."""
        enforcing, self._standing.enforcing = self._standing.enforcing, None
        if enforcing is None:
            return []
        cancelled = enforcing.cancel(self._unheard)
        if not enforcing.heard:
            self._unheard.append(enforcing)
        return [*cancelled]

    def _activate(self, *, now_ms: float) -> list[LeaderEffect]:
        """The plan is committed everywhere: let it run, and end what ran before."""
        attempt, standing = self.attempt, self._standing
        assert attempt is not None
        told, left = standing.switch(home=self._means.home)
        self.take_heart()
        self.weighing.damping.left(left, now_ms=now_ms)
        self.rounds.learned(hops=attempt.hops)
        self.rounds.earn(self._flow, standing.where, now_ms=now_ms)
        assert standing.plan is not None
        published = Published(
            standing.plan,
            attempt.cost_ms,
            attempt.reason.value,
            own_ms=attempt.own_ms,
            alternatives=tuple(attempt.alternatives),
            now_cost_ms=self.weighing.now_cost_ms,
            now_own_ms=self.weighing.now_own_ms,
        )
        self.weighing.measured = None  # that was where it ran before
        return self.rest([*told, published], now_ms=now_ms)
