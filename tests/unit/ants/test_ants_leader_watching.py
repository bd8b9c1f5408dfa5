"""The leader of a flow that runs: when it looks, when it moves, and when it had better stay."""

import math
from dataclasses import replace

from placement.ants.effects import SetTimer
from placement.ants.enforcement import Enforced, EnforcementAnt, Release
from placement.ants.measuring import Measured, MeasuringAnt
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt
from placement.leader_damping import UNASKED
from placement.leader_events import (
    Crowded,
    PauseTold,
    Place,
    Stayed,
    TimerFired,
)
from tests.unit.ants.leader_stage import FLOW, PARAMS, Stage


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
    assert stage.sent(EnforcementAnt) == []
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
    assert stage.sent(EnforcementAnt) == []
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
    assert stage.sent(EnforcementAnt) == []
    assert "pause" in stage.found(Stayed)[0].why


def test_a_pause_that_was_measured_counts_instead_of_the_one_that_was_assumed() -> None:
    """What moves really cost here decides, not what they cost on some machine once."""
    for pause_ms, moves in ((5_000.0, False), (50.0, True)):
        stage = Stage(params=replace(PARAMS, pause_ms=1_000.0)).placed("x", "x")
        stage.tell(PauseTold(pause_ms))
        stage.look_again(now_cost_ms=100.0)
        stage.report("y", "y", cost_ms=60.0)
        assert moves is bool(stage.sent(EnforcementAnt)), pause_ms


def test_a_weight_does_not_change_what_a_pause_is_worth() -> None:
    """Costs carry the flow's weight, the pause did not: a heavy flow moved for what a light one stayed for."""
    params = replace(PARAMS, pause_ms=1_200.0)
    for weight in (1.0, 10.0):
        for gain_ms, moves in ((20.0, False), (40.0, True)):
            stage = Stage(replace(FLOW, weight=weight), params).placed("x", "x")
            stage.look_again(now_cost_ms=100.0 * weight)
            stage.report("y", "y", cost_ms=(100.0 - gain_ms) * weight)
            assert moves is bool(stage.sent(EnforcementAnt)), (weight, gain_ms)


def test_no_move_for_a_gain_that_nobody_can_measure() -> None:
    """Delays are measured on busy machines: a millisecond less elsewhere may be chance."""
    stage = Stage(params=replace(PARAMS, gain_ms_min=3.0)).placed("x", "x")
    stage.look_again(now_cost_ms=10.0)
    stage.report("y", "y", cost_ms=7.5)
    (stayed,) = stage.found(Stayed)
    assert "by less than 3 ms" in stayed.why
    assert 10.0 == stayed.own_ms


def test_a_user_may_ask_for_a_new_placement_at_any_time() -> None:
    """Ants 3.9, end: no beta, but never to a worse place."""
    stage = Stage().placed("x", "x")
    stage.tell(Place())
    stage.tell(Measured(stage.round, 100.0, 100.0))
    stage.ants_return()
    stage.report("y", "y", cost_ms=96.0)
    stage.report("y", "y", cost_ms=96.0)
    assert stage.sent(EnforcementAnt)


def test_two_unmeasured_rounds_mean_that_the_placement_is_cut_off() -> None:
    """A measuring ant that never returns tells of a partition; the first time it may have been bad luck."""
    stage = Stage().placed("x", "x")
    for expected in (Stayed, EnforcementAnt):
        stage.now_ms += PARAMS.watch_every_ms
        stage.tell(TimerFired("rest"))
        stage.ants_return(1)
        stage.report("y", "y", cost_ms=60.0)
        stage.tell(TimerFired("patience"))
        assert stage.found(expected) or stage.sent(expected)
        assert [] == [each.why for each in stage.found(Stayed) if each.why != UNASKED]


def test_what_was_found_waits_for_the_ant_that_asks_what_the_present_place_costs() -> None:
    """Scouts of a flow that begins and ends on one host are home first: without it, any place would seem better."""
    stage = Stage().placed("x", "x")
    stage.tell(TimerFired("rest"))
    stage.ants_return(1)
    assert [] == stage.report("y", "y", cost_ms=60.0)
    assert [] == stage.tell(Measured(stage.round - 1, 100.0, 100.0)), "an ant of the round before"
    stage.tell(Measured(stage.round, 61.0, 61.0))
    assert "not better than 61.00 ms" in stage.found(Stayed)[0].why


def test_a_round_that_has_not_been_earned_yet_waits() -> None:
    """Ants of a running flow may take a share of the data's byte-hops and no more."""
    poor = Stage(params=replace(PARAMS, budget_share=1e-6, budget_depth_ms=1.0)).placed("x", "x")
    (timer,) = poor.found(SetTimer)
    assert timer.at_ms > 100 * PARAMS.watch_every_ms
    assert timer.at_ms == poor.leader.debt_ms(now_ms=0.0), "and it can tell for how long"
    rich = Stage(params=replace(PARAMS, budget_share=None)).placed("x", "x")
    assert 0 == rich.leader.debt_ms(now_ms=0.0)
    rich.look_again(now_cost_ms=100.0)
    rich.report("x", "x", cost_ms=100.0)
    assert rich.found(SetTimer)[0].at_ms == PARAMS.watch_every_ms


def test_the_burst_of_a_first_placement_is_not_paid_from_the_budget() -> None:
    """It is counted apart: a new flow has earned nothing, and would watch over nothing until its debt is paid."""
    stage = Stage().placed("x", "x")
    assert 0.0 == stage.leader._purse.budget.spent
    stage.tell(TimerFired("rest"))
    assert stage.leader._purse.budget.spent > 0.0


def test_without_self_optimisation_it_rests_for_good() -> None:
    """The paper's comparison."""
    assert Stage(params=replace(PARAMS, watch=False)).placed("x", "x").found(SetTimer) == []


def test_an_infinite_present_cost_moves_whatever_the_damping_says() -> None:
    """A flow on a host that is too full must leave now."""
    stage = Stage(params=replace(PARAMS, pause_ms=1e6)).placed("x", "x")
    stage.look_again(now_cost_ms=math.inf)
    stage.report("y", "y", cost_ms=60.0)
    assert stage.sent(EnforcementAnt)


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
        stage.tell(TimerFired("patience"))
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


def test_an_alarm_is_heeded_on_credit_and_the_credit_ends() -> None:
    """A flow that moves little earns a round in hours, and its host may be full within seconds."""
    poor = replace(PARAMS, budget_share=1e-9, retainer_per_ms=0.0, owed_rounds_max=3)
    stage = Stage(params=poor).placed("x", "x")
    looks = 0
    while stage.tell(Crowded("x")):
        looks += 1
        stage.tell(Measured(stage.round, 50.0, 50.0))
        stage.ants_return(1)
        stage.report("x", "x")
        assert looks <= poor.owed_rounds_max, "alarms without end must not fill the network with ants"
    assert poor.owed_rounds_max - 1 <= looks


def test_a_flow_that_does_not_get_through_where_it_runs_looks_again_after_the_interval() -> None:
    """Its host is full and nobody found another: waiting for money would leave it there for hours."""
    poor = replace(PARAMS, budget_share=1e-9, retainer_per_ms=0.0, max_attempts=1)

    def rests_ms(now_cost_ms: float) -> float:
        stage = Stage(params=poor).placed("x", "x")
        stage.tell(Crowded("x"))
        stage.tell(Measured(stage.round, now_cost_ms, now_cost_ms))
        for _ in range(PARAMS.max_releases):
            stage.ants_return(1)
            stage.tell(TimerFired("patience"))
        return min((rest.at_ms for rest in stage.found(SetTimer)), default=math.inf) - stage.now_ms

    assert PARAMS.watch_every_ms == rests_ms(math.inf)
    assert rests_ms(50.0) > 3_600_000.0
