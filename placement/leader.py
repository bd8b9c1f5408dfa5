"""Leader: places one flow and keeps watching it (Ants 3.8, 3.9).

A state machine at the host of the flow's first source. How it searches for a place, carries a plan out and rests is
its course (leader_course.py). Here is what may turn that course, and for what reason: the flow's user, hosts and links
that die or return, alarms from where the flow runs, and other flows that tap it or that it taps. A leader never holds
one host while it waits for another, and everything it waits for has a time-out.
"""

import math
from collections.abc import Callable
from typing import Any

from placement.ants.enforcement import Cancellation, Release
from placement.ants.order import ScoutReport
from placement.ants.params import AntParams
from placement.ants.routing import RoutingAntReturned
from placement.ants.scouting import ScoutFailed
from placement.chance import Chance
from placement.leader_attempt import Reason
from placement.leader_course import Course
from placement.leader_events import (
    Crowded,
    CutOff,
    FlowChanged,
    Healed,
    HostLost,
    HotSpotAhead,
    LeaderEffect,
    Lingers,
    MovesFrozen,
    NotCarriedOut,
    PauseTold,
    Place,
    Propose,
    ServedFrom,
    ServingEnds,
    TapAsked,
    Withdraw,
    Withdrawn,
)
from placement.leader_params import LeaderParams
from placement.leader_phases import WAITS_FOR, Phase
from placement.leader_purse import Purse
from placement.leader_search import Means
from placement.leader_standing import Standing
from placement.leader_taps import answer
from placement.model import Flow, Plan


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
        self.host = home or flow.sources[0].host
        self.params = params
        self.standing = Standing(flow, running)
        self._purse = Purse(params)
        self._heartened_ms = -math.inf
        """When something that returned last let it look anew."""
        means = Means(self.host, params, ants, fastest_capacity, self._purse)
        self.course = Course(self.standing, means, last_epoch=last_epoch, seniority=seniority)
        self._turns: dict[type, Callable[[Any, float], list[LeaderEffect]]] = {
            Place: self._on_place,
            Propose: self._on_propose,
            Withdraw: self._on_withdraw,
            HostLost: self._on_host_lost,
            CutOff: self._on_cut_off,
            Healed: self._on_healed,
            FlowChanged: self._on_flow_changed,
            PauseTold: self._on_pause_told,
            MovesFrozen: self._on_moves_frozen,
            NotCarriedOut: self._on_not_carried_out,
            Crowded: self._on_crowded,
            HotSpotAhead: self._on_hot_spot_ahead,
            TapAsked: self._on_tap_asked,
            Release: self._on_tap_ended,
            Cancellation: self._on_tap_ended,
            ServingEnds: self._on_serving_ends,
            ServedFrom: self._on_served_from,
        }
        """What may turn its course; anything else is news that the course waits for."""
        if running is not None:
            self._earn(now_ms)

    @property
    def flow(self) -> Flow:
        """As it is now."""
        return self.standing.flow

    @property
    def phase(self) -> Phase:
        """What it waits for."""
        return self.course.phase

    @property
    def epoch(self) -> int:
        """Of its newest plan, whether that runs yet or not."""
        return self.course.epoch

    @property
    def plan(self) -> Plan | None:
        """The plan that runs."""
        return self.standing.plan

    @property
    def running(self) -> dict[int, str]:
        """Task -> host of the plan that runs."""
        return self.standing.running

    @property
    def is_frozen(self) -> bool:
        """Whether it has heard that the flow is to stay where it runs."""
        return self.course.weighing.damping.is_frozen

    def debt_ms(self, *, now_ms: float) -> float:
        """For how long the next round of ants is not earned yet: it is owed before only if something happens."""
        return max(0.0, self.course.rounds.free_at_ms(self.flow, now_ms=now_ms) - now_ms)

    def step(self, event: Any, *, now_ms: float, rng: Chance) -> list[LeaderEffect]:
        """Take one event."""
        if isinstance(event, RoutingAntReturned | ScoutReport | ScoutFailed):
            self._purse.learn(event)
        if self.phase not in WAITS_FOR[type(event)]:
            return []
        turn = self._turns.get(type(event))
        return self.course.step(event, now_ms=now_ms, rng=rng) if turn is None else turn(event, now_ms)

    # What its user wants.

    def _on_place(self, _: Place, now_ms: float) -> list[LeaderEffect]:
        if self.standing.enforcing is not None:
            return []
        self.course.take_heart()
        if self.phase is Phase.LINGERING:
            return self.course.rest([], now_ms=now_ms)  # its user wants it again, and it never stopped
        reason = self.standing.why_look()
        return self.course.begin(Reason.USER if reason is Reason.WATCH else reason, now_ms=now_ms)

    def _on_propose(self, _: Propose, now_ms: float) -> list[LeaderEffect]:
        """Only what runs well enough to be asked about can be compared with something else."""
        watching = self.standing.why_look() is Reason.WATCH
        return self.course.begin(Reason.PROPOSE, now_ms=now_ms) if watching else []

    def _on_withdraw(self, _: Withdraw, now_ms: float) -> list[LeaderEffect]:
        """End the flow; a flow that others tap runs on until they have found another way."""
        grants = self.standing.grants
        if not grants.tappers:
            return self._end()
        abandoned = self.course.linger()
        return [*abandoned, *grants.tell_ending(self.flow.name), Lingers(self.flow.name)]

    def _end(self) -> list[LeaderEffect]:
        return [*self.course.end(), Withdrawn(self.flow.name)]

    # What dies and returns.

    def _on_host_lost(self, event: HostLost, now_ms: float) -> list[LeaderEffect]:
        """Whatever the leader was doing, what it found may include the dead host: start again if it matters."""
        course, standing = self.course, self.standing
        standing.grants.forget(event.host)
        course.lessons.shun(event.host, now_ms=now_ms)
        if self.phase is Phase.LINGERING:
            serving = standing.grants.tappers and event.host not in self.running.values()
            return [] if serving else self._end()
        if event.host in self.running.values():
            standing.dead.add(event.host)
            return course.begin(Reason.LOST, now_ms=now_ms)
        # The leader of a flow that it taps died, and that flow with it.
        gone = {offer.flow for offer in course.all_taps if offer.home == event.host}
        if gone:
            return [effect for flow in sorted(gone) for effect in self._on_serving_ends(ServingEnds(flow), now_ms)]
        affected = course.attempt is not None and event.host in course.attempt.where.values()
        return course.begin_again(now_ms=now_ms) if affected else []

    def _on_cut_off(self, event: CutOff, now_ms: float) -> list[LeaderEffect]:
        """Its own rounds would tell, but a flow that earns little may wait hours for two of them (decision 235)."""
        self.course.lessons.shun(*event.beyond, now_ms=now_ms)
        looks = self.standing.why_look() is not Reason.WATCH
        self.standing.cut = event
        return [] if looks else self.course.begin(Reason.CUT_OFF, now_ms=now_ms)

    def _on_healed(self, _: Healed, now_ms: float) -> list[LeaderEffect]:
        """A leader that gave up need not sleep on, nor wait long for ants that found no way.

        But not at every return: one link that comes and goes would let no search end, and wake all that fit nowhere
        again and again (decision 284).
        """
        course, standing = self.course, self.standing
        course.lessons.healed()
        why = standing.why_look()
        if why is Reason.WATCH or now_ms - self._heartened_ms < self.params.retry_after_ms:
            return []
        self._heartened_ms = now_ms
        course.take_heart()
        standing.cut = None
        if why is Reason.CUT_OFF:
            # It never stopped, and may be whole again; if it is not, the leader hears so.
            return course.rest([], now_ms=now_ms)
        return [] if course.is_promising else course.begin(why, now_ms=now_ms)

    # What changes where it runs.

    def _on_flow_changed(self, event: FlowChanged, now_ms: float) -> list[LeaderEffect]:
        """The flow weighs something else now. If it is much else, look at once: a host that was right may be full."""
        same = [(edge.tail, edge.head) for edge in event.flow.edges] == [(e.tail, e.head) for e in self.flow.edges]
        assert same, "a changed graph is a new flow: withdraw the old one, submit the new"
        self.standing.flow = event.flow
        if self.plan is not None:
            self._earn(now_ms)
        watching = event.looks and self.phase is Phase.RESTING and self.standing.why_look() is Reason.WATCH
        if not watching or not self.course.rounds.has_drifted(self.flow) or not self._is_round_free(now_ms):
            return []
        return self.course.begin(Reason.WATCH, now_ms=now_ms)

    def _on_pause_told(self, event: PauseTold, _: float) -> list[LeaderEffect]:
        self.course.weighing.damping.pause_ms = event.pause_ms
        return []

    def _on_moves_frozen(self, event: MovesFrozen, now_ms: float) -> list[LeaderEffect]:
        """It goes on looking and tells what it finds, but books nothing: the room would be kept for nobody."""
        self.course.weighing.damping.is_frozen = event.frozen
        return self.course.stay(now_ms=now_ms) if event.frozen and self.phase is Phase.ENFORCING else []

    def _on_not_carried_out(self, event: NotCarriedOut, now_ms: float) -> list[LeaderEffect]:
        """Not of a plan before the present one; and who must find another place anyway needs no other reason to."""
        is_present = self.plan is not None and event.epoch == self.plan.epoch
        if not is_present or self.standing.why_look() is not Reason.WATCH:
            return []
        if event.where:
            return self.course.correct(event, now_ms=now_ms)
        released = self.standing.end(self.epoch)
        return [*released, *self.course.begin(self.standing.why_look(), now_ms=now_ms)]

    def _on_crowded(self, event: Crowded, now_ms: float) -> list[LeaderEffect]:
        """A host of the flow got a longer queue: look for a better place now, on credit.

        A search that is under way may have measured and priced before that: then look again right after it.
        """
        rounds = self.course.rounds
        if not (rounds.watch and self.params.heed_alarms) or event.host not in self.running.values():
            return []
        if self.phase is not Phase.RESTING:
            rounds.alarmed = True
            return []
        heeded = rounds.heed_alarm(self.flow, now_ms=now_ms)
        return self.course.begin(self.standing.why_look(), now_ms=now_ms) if heeded else []

    def _on_hot_spot_ahead(self, event: HotSpotAhead, now_ms: float) -> list[LeaderEffect]:
        """The bound is about to break: send ants now, on credit, but without news not more often than rounds go.

        A look that is under way without need gives way: it has few scouts, and who just noticed that the flow has grown
        began one.
        """
        rounds, attempt = self.course.rounds, self.course.attempt
        if not rounds.watch or event.host not in self.running.values():
            return []
        gives_way = self.phase is Phase.SEARCHING and attempt is not None and attempt.reason is Reason.WATCH
        if self.phase is not Phase.RESTING and not gives_way:
            rounds.alarmed = True
            return []
        watching = self.standing.why_look() is Reason.WATCH
        if not watching or not rounds.heed_warning(self.flow, broken=event.broken, now_ms=now_ms):
            rounds.alarmed = rounds.alarmed or gives_way
            return []
        return self.course.begin(Reason.HOT, now_ms=now_ms)

    def _earn(self, now_ms: float) -> None:
        self.course.rounds.earn(self.flow, self.standing.where, now_ms=now_ms)

    def _is_round_free(self, now_ms: float) -> bool:
        return self.course.rounds.are_free(self.flow, now_ms=now_ms)

    # What other flows want, and do.

    def _on_tap_asked(self, asked: TapAsked, _: float) -> list[LeaderEffect]:
        """Another flow wants to tap: from the consent on, the task must not stop."""
        ending = self.phase in (Phase.LINGERING, Phase.WITHDRAWN)
        why_not = self.standing.refusal(asked, ending=ending)
        if not why_not:
            self.standing.grants.add(asked)
        return [answer(asked, self.flow.name, why_not)]

    def _on_tap_ended(self, news: Release | Cancellation, _: float) -> list[LeaderEffect]:
        self.standing.grants.end(news)
        return self._end() if self.phase is Phase.LINGERING and not self.standing.grants.tappers else []

    def _on_serving_ends(self, news: ServingEnds, now_ms: float) -> list[LeaderEffect]:
        """A flow that this one taps is ending: find another way, and stay until there is one."""
        course, standing = self.course, self.standing
        standing.avoided.add(news.flow)
        if any(offer.flow == news.flow for offer in standing.taps.values()):
            return course.begin(standing.why_look(), now_ms=now_ms)
        attempt = course.attempt
        affected = attempt is not None and any(offer.flow == news.flow for offer in attempt.taps.values())
        return course.begin_again(now_ms=now_ms) if affected else []

    def _on_served_from(self, news: ServedFrom, _: float) -> list[LeaderEffect]:
        self.standing.served_from(news)
        return []
