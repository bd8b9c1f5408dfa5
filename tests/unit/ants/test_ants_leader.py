"""The leader: whom it waits for, what it decides, and what it does when nobody comes back."""

import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from placement.ants.effects import Send, SetTimer
from placement.ants.enforcement import Activation, Cancellation, Enforced, EnforcementAnt, Release
from placement.ants.host_view import HostView
from placement.ants.measuring import Measured, MeasuringAnt
from placement.ants.order import ScoutReport
from placement.ants.params import IMPROVED
from placement.ants.routing import RoutingAnt, RoutingAntReturned
from placement.ants.scouting import ScoutingAnt
from placement.leader import Leader
from placement.leader_events import (
    Crowded,
    GaveUp,
    Healed,
    HostLost,
    Place,
    Published,
    Stayed,
    TimerFired,
    Withdraw,
    Withdrawn,
)
from placement.leader_params import IMPROVED_LEADER, LeaderParams
from placement.leader_params import Release as AntRelease
from placement.leader_phases import Phase
from placement.model import Edge, Flow, Sink, Source, Task, chain
from placement.queueing import Load

FLOW = chain("f", Source("in", "s", 0.01, message_bytes=1000.0), (Task("a", 4.0), Task("b", 4.0)), Sink("out", "d"))
PARAMS = replace(
    IMPROVED_LEADER,
    placing=AntRelease(routing_ants=3, enough_routing_ants=2, scouts=3, enough_reports=2),
    watching=AntRelease(routing_ants=2, enough_routing_ants=1, scouts=1, enough_reports=1),
    max_releases=2,
    max_attempts=2,
)


class Stage:
    """A leader with everything it was told and asked for."""

    def __init__(self, flow: Flow = FLOW, params: LeaderParams = PARAMS) -> None:
        self.leader = Leader(flow, params, IMPROVED, fastest_capacity=1.0)
        self.effects: list[Any] = []
        self.now_ms = 0.0

    def tell(self, event: Any) -> list[Any]:
        self.effects = self.leader.step(event, now_ms=self.now_ms, rng=Random(1))
        return self.effects

    def sent(self, kind: type) -> list[Any]:
        return [e.message for e in self.effects if isinstance(e, Send) and isinstance(e.message, kind)]

    def found(self, kind: type) -> list[Any]:
        return [e for e in self.effects if isinstance(e, kind)]

    @property
    def round(self) -> int:
        return self.leader._round

    def ants_return(self, count: int = 2, distance_ms: float = 30.0) -> None:
        for _ in range(count):
            self.tell(RoutingAntReturned(self.round, "d", 40.0, distance_ms, 100.0))

    def report(self, *hosts: str, cost_ms: float = 50.0, chain_number: int = 0) -> list[Any]:
        prices = tuple((host, 8.0) for host in dict.fromkeys(hosts))
        return self.tell(
            ScoutReport(
                "f", self.round, chain_number, hosts, cost_ms, cost_ms, cost_ms, prices, hops=5, byte_hops=500.0
            )
        )

    def placed(self, *hosts: str) -> "Stage":
        self.tell(Place())
        self.ants_return()
        self.report(*hosts)
        self.report(*hosts)
        self.tell(Enforced(self.leader.epoch, committed=True))
        return self

    def look_again(self, now_cost_ms: float) -> None:
        self.tell(TimerFired("rest"))
        self.tell(Measured(self.round, now_cost_ms, now_cost_ms))
        self.ants_return(1)


def test_it_waits_for_enough_routing_ants_before_it_sends_scouts() -> None:
    """Ants 3.7: scouts follow pheromone that routing ants have laid."""
    stage = Stage()
    stage.tell(Place())
    assert len(stage.sent(RoutingAnt)) == 3
    stage.ants_return(1)
    assert stage.sent(ScoutingAnt) == []
    stage.ants_return(1)
    assert len(stage.sent(ScoutingAnt)) == 3


def test_it_takes_the_best_of_enough_reports() -> None:
    """Ants 3.8."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "x", cost_ms=90.0)
    assert stage.sent(EnforcementAnt) == []
    stage.report("y", "y", cost_ms=70.0)
    (ant,) = stage.sent(EnforcementAnt)
    assert ["y"] == [stop.host for stop in ant.stops]


def test_an_outstanding_report_is_taken_at_once() -> None:
    """Ants 3.8; outstanding: within 2 % of the straight way plus the work on the fastest host."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return(distance_ms=30.0)
    stage.report("x", "x", cost_ms=38.5)
    assert len(stage.sent(EnforcementAnt)) == 1


def test_it_sends_more_ants_when_too_few_come_back_in_time() -> None:
    """Ants 3.8: on a time-out, more scouts; the leader never waits for ever."""
    stage = Stage()
    stage.tell(Place())
    assert stage.found(SetTimer)
    stage.tell(TimerFired("patience"))
    assert len(stage.sent(RoutingAnt)) == 3
    stage.ants_return()
    stage.tell(TimerFired("patience"))
    assert {2} == {ant.round for ant in stage.sent(RoutingAnt)}  # two releases are used up: a new attempt
    assert stage.found(SetTimer)[0].at_ms == 2 * PARAMS.patience_ms  # on a slow network patience must grow
    assert stage.leader.phase is Phase.SEARCHING


def test_the_first_ant_that_is_back_tells_how_long_to_wait_for_the_others() -> None:
    """Near full hosts some ants take ten times as long; all of the patience would be most of the decision."""
    stage = Stage()
    stage.tell(Place())
    stage.now_ms = 40.0
    stage.ants_return(1)
    (timer,) = stage.found(SetTimer)
    assert timer.at_ms == 40.0 + PARAMS.patience_for_ms(40.0) < PARAMS.patience_ms
    literal = Stage(params=replace(PARAMS, learn_patience=False))
    literal.tell(Place())
    literal.ants_return(1)
    assert literal.found(SetTimer) == []


def test_a_time_out_with_some_reports_takes_the_best_of_them() -> None:
    """Some news is better than none."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "x")
    stage.tell(TimerFired("patience"))
    assert len(stage.sent(EnforcementAnt)) == 1


def test_it_gives_up_for_a_while_after_its_attempts_and_tries_again_later() -> None:
    """A flow for which there is no room must not fill the network with ants."""
    stage = Stage()
    stage.tell(Place())
    for _ in range(20):
        stage.tell(TimerFired("patience"))
        if stage.found(GaveUp):
            break
    pauses = []
    for _ in range(3):
        pauses.append(stage.found(SetTimer)[0].at_ms)
        stage.tell(TimerFired("rest"))
        assert stage.sent(RoutingAnt)
        while not stage.found(GaveUp):
            stage.tell(TimerFired("patience"))
    assert [10_000.0, 20_000.0, 40_000.0] == pauses


def test_after_giving_up_only_a_few_ants_look_for_room() -> None:
    """Where there is no room, full efforts without end would fill the network; a user's request is one again."""
    stage = Stage()
    stage.tell(Place())
    while not stage.found(GaveUp):
        stage.tell(TimerFired("patience"))
    stage.tell(TimerFired("rest"))
    assert len(stage.sent(RoutingAnt)) == PARAMS.watching.routing_ants
    stage.tell(TimerFired("patience"))
    assert stage.found(GaveUp)
    stage.tell(Place())
    assert len(stage.sent(RoutingAnt)) == PARAMS.placing.routing_ants


def test_a_leader_that_gave_up_wakes_when_the_network_heals() -> None:
    """Its pause may be minutes by then."""
    stage = Stage()
    stage.tell(Place())
    while not stage.found(GaveUp):
        stage.tell(TimerFired("patience"))
    stage.tell(Healed())
    assert stage.sent(RoutingAnt)
    assert Stage().placed("x", "x").tell(Healed()) == []


def test_a_committed_plan_is_activated_and_published() -> None:
    """Nothing runs before the enforcement ant is back."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "y")
    stage.report("x", "y")
    assert stage.found(Published) == []
    stage.tell(Enforced(1, committed=True))
    assert ["x", "y"] == [effect.to for effect in stage.effects if isinstance(effect, Send)]
    assert all(isinstance(message, Activation) for message in stage.sent(object))
    (published,) = stage.found(Published)
    assert {"x", "y"} == {host for _, _, host in published.plan.placement.spots}


def test_a_refused_plan_sends_fresh_ants() -> None:
    """Ants 3.8: the reports were stale."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "x")
    stage.report("x", "x")
    stage.tell(Enforced(1, committed=False, why="too dear"))
    assert stage.sent(Cancellation)
    assert stage.sent(RoutingAnt)


def test_a_lost_enforcement_ant_is_given_up_and_fenced() -> None:
    """It may have died on any host; its epoch must not come back to life."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "y")
    stage.report("x", "y")
    stage.tell(TimerFired("patience"))
    assert [1, 1] == [message.epoch for message in stage.sent(Cancellation)]
    assert stage.tell(Enforced(1, committed=True)) == []
    assert stage.leader.plan is None


def test_an_enforcement_ant_that_comes_back_too_late_does_not_count() -> None:
    """Its commitments may have run out somewhere."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "x")
    stage.report("x", "x")
    stage.now_ms = IMPROVED.enforcement.activation_ms
    stage.tell(Enforced(1, committed=True))
    assert stage.found(Published) == []


def test_news_of_an_earlier_round_is_ignored() -> None:
    """Late ants tell of a network that is no more."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    assert stage.tell(ScoutReport("f", 0, 0, ("x", "x"), 1.0, 1.0, 1.0, (("x", 1.0),))) == []


def test_after_placement_it_keeps_sending_ants_and_measures() -> None:
    """Ants 3.9: periodically, routing and scouting ants, and one along the running placement."""
    stage = Stage().placed("x", "x")
    assert [timer.name for timer in stage.found(SetTimer)] == ["rest"]
    stage.tell(TimerFired("rest"))
    assert len(stage.sent(MeasuringAnt)) == 1
    assert len(stage.sent(RoutingAnt)) == 2


def test_it_moves_when_a_report_is_better_by_the_factor_beta() -> None:
    """Ants 3.9."""
    stage = Stage().placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    assert len(stage.sent(EnforcementAnt)) == 1
    stage.tell(Enforced(2, committed=True))
    assert [("x", 1)] == [
        (e.to, e.message.epoch) for e in stage.effects if isinstance(getattr(e, "message", 0), Release)
    ]


def test_it_stays_when_the_gain_is_below_beta() -> None:
    """Hysteresis: 95 is not better than 100 by the factor 1.1."""
    stage = Stage().placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=95.0)
    (stayed,) = stage.found(Stayed)
    assert "1.1" in stayed.why


def test_no_task_goes_back_to_the_host_it_has_just_left() -> None:
    """No A -> B -> A inside the cool-down, however good A looks now."""
    stage = Stage().placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    stage.tell(Enforced(2, committed=True))
    stage.now_ms += PARAMS.watch_every_ms
    stage.look_again(now_cost_ms=100.0)
    stage.report("x", "x", cost_ms=50.0)
    assert "cool-down" in stage.found(Stayed)[0].why
    stage.now_ms += PARAMS.cool_down_rounds * PARAMS.watch_every_ms
    stage.look_again(now_cost_ms=100.0)
    stage.report("x", "x", cost_ms=50.0)
    assert stage.sent(EnforcementAnt)


def test_no_move_whose_pause_costs_more_than_it_gains() -> None:
    """A pause of 70 ms for two tasks is worth 0.08 ms a message over a minute; here the pause is long."""
    stage = Stage(params=replace(PARAMS, pause_ms=5_000.0)).placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    assert "pause" in stage.found(Stayed)[0].why


def test_a_user_may_ask_for_a_new_placement_at_any_time() -> None:
    """Ants 3.9, end: no beta, but never to a worse place."""
    stage = Stage().placed("x", "x")
    stage.tell(Place())
    stage.tell(Measured(stage.round, 100.0, 100.0))
    stage.ants_return()
    stage.report("y", "y", cost_ms=96.0)
    stage.report("y", "y", cost_ms=96.0)
    assert stage.sent(EnforcementAnt)


def test_a_lost_host_starts_a_new_placement_at_once() -> None:
    """Whatever the leader was doing."""
    stage = Stage().placed("x", "y")
    stage.tell(HostLost("y"))
    assert stage.sent(RoutingAnt)
    stage.ants_return()
    (order,) = {ant.order.running for ant in stage.sent(ScoutingAnt)}
    assert order == (("x", 1),)


def test_a_user_s_request_does_not_make_it_forget_a_lost_host() -> None:
    """What is asked of a returned host is what the flow would cost there, not that it runs: it must be placed anew."""
    stage = Stage().placed("x", "y")
    stage.tell(HostLost("y"))
    stage.tell(Place())
    stage.tell(Measured(stage.round, 50.0, 50.0))
    stage.ants_return()
    stage.report("x", "y")
    stage.report("x", "y")
    assert stage.sent(EnforcementAnt)


def test_a_lost_host_that_it_does_not_use_leaves_it_cold() -> None:
    """Hosts die all the time."""
    assert Stage().placed("x", "x").tell(HostLost("z")) == []


def test_withdrawal_ends_everything_everywhere() -> None:
    """Also what an enforcement ant is reserving just now."""
    stage = Stage().placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    stage.tell(Withdraw())
    assert ["x", "y"] == [effect.to for effect in stage.effects if isinstance(effect, Send)]
    assert stage.found(Withdrawn)
    assert stage.tell(Enforced(2, committed=True)) == []


def test_two_unmeasured_rounds_mean_that_the_placement_is_cut_off() -> None:
    """A measuring ant that never returns tells of a partition; the first time it may have been bad luck."""
    stage = Stage().placed("x", "x")
    for expected in (Stayed, EnforcementAnt):
        stage.now_ms += PARAMS.watch_every_ms
        stage.tell(TimerFired("rest"))
        stage.ants_return(1)
        stage.report("y", "y", cost_ms=60.0)
        assert stage.found(expected) or stage.sent(expected)


def test_chains_are_placed_one_after_the_other_and_enforced_together() -> None:
    """Fan-in: the branch's ants start at the other producer and walk to where the join was found."""
    fan_in = Flow(
        "f",
        (Source("p1", "s", 0.01), Source("p2", "s2", 0.01)),
        (Task("a", 4.0), Task("j", 4.0), Task("b", 4.0)),
        (Sink("c", "d"),),
        tuple(Edge(*edge) for edge in (("p1", "a"), ("a", "j"), ("j", "c"), ("p2", "b"), ("b", "j"))),
    )
    stage = Stage(fan_in)
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "y", cost_ms=90.0)
    stage.report("x", "y", cost_ms=90.0)
    assert stage.sent(EnforcementAnt) == []
    ants = stage.sent(RoutingAnt)
    assert {("s2", "y", "s")} == {(ant.trail.last, ant.destination, ant.home) for ant in ants}
    stage.ants_return()
    stage.report("y", cost_ms=40.0, chain_number=1)
    stage.report("y", cost_ms=40.0, chain_number=1)
    (ant,) = stage.sent(EnforcementAnt)
    assert {"x": 0b001, "y": 0b110} == {stop.host: stop.mask for stop in ant.stops}
    assert {"x": 8.0, "y": 16.0} == {stop.host: stop.price_ms for stop in ant.stops}


def test_a_round_that_has_not_been_earned_yet_waits() -> None:
    """Ants of a running flow may take a share of the data's byte-hops and no more."""
    poor = Stage(params=replace(PARAMS, budget_share=1e-6, budget_depth_ms=1.0)).placed("x", "x")
    (timer,) = poor.found(SetTimer)
    assert timer.at_ms > 100 * PARAMS.watch_every_ms
    rich = Stage(params=replace(PARAMS, budget_share=None)).placed("x", "x")
    rich.look_again(now_cost_ms=100.0)
    rich.report("x", "x", cost_ms=100.0)
    assert rich.found(SetTimer)[0].at_ms == PARAMS.watch_every_ms


def test_without_self_optimisation_it_rests_for_good() -> None:
    """The paper's comparison."""
    assert Stage(params=replace(PARAMS, watch=False)).placed("x", "x").found(SetTimer) == []


@pytest.mark.parametrize("wrong", [{"outstanding": 0.9}, {"patience_ms": 0.0}, {"budget_share": 2.0}])
def test_parameters_check_themselves(wrong: dict[str, float]) -> None:
    """Told at once."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LeaderParams(**wrong)


def test_an_infinite_present_cost_moves_whatever_the_damping_says() -> None:
    """A flow on a host that is too full must leave now."""
    stage = Stage(params=replace(PARAMS, pause_ms=1e6)).placed("x", "x")
    stage.look_again(now_cost_ms=math.inf)
    stage.report("y", "y", cost_ms=60.0)
    assert stage.sent(EnforcementAnt)


def test_scouts_after_a_refusal_know_what_the_enforcement_ant_saw() -> None:
    """And only those: a host that was full a minute ago may be free when the leader looks again."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "x")
    stage.report("x", "x")
    seen = HostView("x", 1.0, Load(rate_per_ms=0.05, rho=0.9, square=5.0, burst=0.05, rate_squares=0.0025))
    stage.tell(Enforced(1, committed=False, why="dear", seen=seen))
    stage.ants_return()
    assert {(seen,)} == {scout.order.corrections for scout in stage.sent(ScoutingAnt)}
    stage.report("y", "y")
    stage.report("y", "y")
    stage.tell(Enforced(2, committed=True))
    stage.look_again(60.0)
    assert {()} == {scout.order.corrections for scout in stage.sent(ScoutingAnt)}


def test_scouts_are_told_where_tasks_must_not_return_yet_even_from_an_overloaded_host() -> None:
    """Bursts would else throw a flow between two hosts; told so, scouts find a third one."""
    stage = Stage().placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    stage.tell(Enforced(2, committed=True))
    stage.now_ms += PARAMS.watch_every_ms
    stage.look_again(now_cost_ms=math.inf)
    assert {(("x", 0b11),)} == {scout.order.barred for scout in stage.sent(ScoutingAnt)}
    stage.report("x", "x", cost_ms=50.0)
    assert "cool-down" in stage.found(Stayed)[0].why


def test_a_flow_that_is_cut_off_may_return_at_once() -> None:
    """Nobody came back from where it runs, twice: that is a fault and no oscillation."""
    stage = Stage().placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    stage.tell(Enforced(2, committed=True))
    for _ in range(2):
        stage.now_ms += PARAMS.watch_every_ms / 2
        stage.tell(TimerFired("rest"))
        stage.ants_return(1)
        barred = {scout.order.barred for scout in stage.sent(ScoutingAnt)}
        stage.report("x", "x", cost_ms=50.0)
    assert {()} == barred
    assert stage.sent(EnforcementAnt)


def test_an_alarm_during_a_search_is_answered_right_after_it() -> None:
    """The search may have measured before the queue grew; waiting for the next round would cost seconds."""
    stage = Stage(params=replace(PARAMS, budget_share=None)).placed("x", "x")
    stage.look_again(now_cost_ms=50.0)
    stage.tell(Crowded("x"))
    stage.report("x", "x", cost_ms=50.0)
    (rest,) = stage.found(SetTimer)
    assert (rest.name, rest.at_ms) == ("rest", stage.now_ms)
    stage.look_again(now_cost_ms=50.0)
    stage.report("x", "x", cost_ms=50.0)
    (rest,) = stage.found(SetTimer)
    assert rest.at_ms == stage.now_ms + PARAMS.watch_every_ms


def test_a_refused_move_is_tried_again_at_once_with_what_the_refusal_taught() -> None:
    """The flow is no better off than before; scouts that know the host's load find another one."""
    stage = Stage(params=replace(PARAMS, budget_share=None)).placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    stage.tell(Enforced(2, committed=False, why="dear", seen=HostView("y", 1.0, Load())))
    assert stage.sent(RoutingAnt)
    assert stage.sent(MeasuringAnt)


def test_scouts_keep_away_from_a_dead_host_until_something_heals() -> None:
    """Cells far from it still tell of it as it was; the flow would be sent there again and again."""
    stage = Stage().placed("x", "x")
    stage.tell(HostLost("x"))
    stage.ants_return()
    assert {(("x", 0b11),)} == {scout.order.barred for scout in stage.sent(ScoutingAnt)}
    stage.tell(TimerFired("patience"))
    stage.tell(Healed())
    stage.tell(Place())
    stage.ants_return()
    assert {()} == {scout.order.barred for scout in stage.sent(ScoutingAnt)}


def test_scouts_keep_away_from_where_an_enforcement_ant_vanished() -> None:
    """Nobody has noticed a death there yet, but the next ant would vanish too."""
    stage = Stage()
    stage.tell(Place())
    stage.ants_return()
    stage.report("y", "z")
    stage.report("y", "z")
    stage.tell(TimerFired("patience"))
    stage.ants_return()
    assert {(("y", 0b11), ("z", 0b11))} == {scout.order.barred for scout in stage.sent(ScoutingAnt)}
