"""The leader when things go wrong: refusals, lost ants and dead hosts, and what they teach its scouts."""

from dataclasses import replace

from placement.ants.effects import Send, SetTimer
from placement.ants.enforcement import Cancellation, Enforced, EnforcementAnt, Release
from placement.ants.host_view import HostView
from placement.ants.measuring import Measured, MeasuringAnt
from placement.ants.params import IMPROVED
from placement.ants.routing import RoutingAnt, RoutingAntReturned
from placement.ants.scouting import ScoutingAnt
from placement.leader_attempt import Reason
from placement.leader_events import (
    CutOff,
    GaveUp,
    Healed,
    HostLost,
    Place,
    Published,
    TimerFired,
)
from placement.leader_params import LIVE_LEADER, LeaderParams
from placement.leader_phases import Phase
from placement.model import Edge, Flow, Sink, Source, Task
from placement.queueing import Load
from tests.unit.ants.leader_stage import PARAMS, Stage


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


def test_after_a_refusal_ants_are_not_waited_for_any_longer_than_before() -> None:
    """A host that says no says so in time: among many rivals patience that doubles makes seconds of a few refusals."""

    def patience_after(news: Enforced | TimerFired, params: LeaderParams = PARAMS) -> float:
        stage = Stage(params=params)
        stage.tell(Place())
        stage.ants_return()
        (first,) = stage.found(SetTimer)
        stage.report("x", "x")
        stage.report("x", "x")
        stage.tell(news)
        stage.ants_return()
        (again,) = stage.found(SetTimer)
        return float(again.at_ms / first.at_ms)

    assert 1.0 == patience_after(Enforced(1, committed=False, why="too dear"))
    assert 2.0 == patience_after(TimerFired("patience"))  # this one was missed: the network may be slower than it was
    literal = replace(PARAMS, learn_patience=False)
    assert 2.0 == patience_after(Enforced(1, committed=False, why="too dear"), literal)


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


def test_of_a_plan_whose_ant_was_lost_hosts_hear_again_with_the_next_that_is_given_up() -> None:
    """One that was cut off meanwhile would keep room for it until that ran out, and never knows which plan may still be
    activated."""
    stage = Stage(params=replace(PARAMS, max_attempts=4))
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "y")
    stage.report("x", "y")
    stage.tell(TimerFired("patience"))
    for epoch in (2, 3):
        stage.ants_return()
        stage.report("x", "z")
        stage.report("x", "z")
        stage.tell(Enforced(epoch, committed=False, why="too dear"))
        told = [(each.to, each.message.epoch) for each in stage.found(Send) if isinstance(each.message, Cancellation)]
        assert [("x", 1), ("x", epoch), ("z", epoch)] == told, "of those that were refused their ants told"


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


def test_a_lost_host_starts_a_new_placement_at_once() -> None:
    """Whatever the leader was doing."""
    stage = Stage().placed("x", "y")
    stage.tell(HostLost("y"))
    assert stage.sent(RoutingAnt)
    stage.ants_return()
    (order,) = {ant.order.running for ant in stage.sent(ScoutingAnt)}
    assert order == (("x", 1),)


def test_a_flow_that_is_cut_off_is_placed_anew_at_once_and_elsewhere() -> None:
    """Its own rounds would tell, but not before the budget has paid for two of them: that may take hours."""
    stage = Stage(params=replace(PARAMS, budget_share=1e-9)).placed("x", "y")
    stage.tell(CutOff(("y",)))
    assert len(stage.sent(RoutingAnt)) == PARAMS.placing.routing_ants
    stage.ants_return()
    assert {(("y", 0b11),)} == {ant.order.barred for ant in stage.sent(ScoutingAnt)}
    stage.report("x", "x", cost_ms=500.0)
    stage.report("x", "x", cost_ms=500.0)
    assert stage.sent(EnforcementAnt), "whatever it costs: nothing arrives where it runs"
    stage.tell(Enforced(2, committed=True))
    assert stage.found(Published)
    assert stage.leader.standing.why_look() is Reason.WATCH


def test_a_leader_that_looks_for_a_cut_off_flow_does_not_begin_anew_with_every_fault() -> None:
    """It hears of the cut again whenever anything dies."""
    stage = Stage().placed("x", "y")
    stage.tell(CutOff(("y",)))
    assert [] == stage.tell(CutOff(("y",)))


def test_a_flow_that_is_whole_again_before_it_found_another_place_stays() -> None:
    """It never stopped; a move would only cost a pause."""
    stage = Stage().placed("x", "y")
    stage.tell(CutOff(("y",)))
    stage.tell(Healed())
    assert stage.leader.phase is Phase.RESTING
    assert [timer.name for timer in stage.found(SetTimer)] == ["rest"]
    stage.look_again(now_cost_ms=50.0)
    stage.report("x", "x", cost_ms=50.0)
    assert not stage.sent(EnforcementAnt)


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


def test_scouts_keep_away_from_where_two_enforcement_ants_vanished() -> None:
    """Nobody has noticed a death there yet, but the next ant would vanish too. One may just have been slow, or lost at
    the other host of its plan."""
    stage = Stage(params=replace(PARAMS, max_attempts=9))
    stage.tell(Place())
    barred = []
    for hosts in (("y", "z"), ("w", "y")):
        stage.ants_return()
        stage.report(*hosts)
        stage.report(*hosts)
        stage.tell(TimerFired("patience"))
        stage.ants_return()
        barred.append({scout.order.barred for scout in stage.sent(ScoutingAnt)})
    assert [{()}, {(("y", 0b11),)}] == barred


FAN_OUT = Flow(
    "f",
    (Source("in", "s", 0.01),),
    (Task("a", 4.0), Task("b", 4.0), Task("c", 4.0)),
    (Sink("out", "d"), Sink("out2", "d2")),
    tuple(Edge(*edge) for edge in (("in", "a"), ("a", "b"), ("b", "out"), ("a", "c"), ("c", "out2"))),
)
"""Its second chain begins where the first one put `a`."""


def branching(host: str, *, max_releases: int = PARAMS.max_releases) -> Stage:
    """A leader that has put `a` there, and waits for routing ants from there to d2."""
    stage = Stage(FAN_OUT, replace(PARAMS, max_attempts=9, max_releases=max_releases))
    stage.tell(Place())
    stage.ants_return()
    stage.report(host, "y")
    stage.report(host, "y")
    assert {(host, "d2")} == {(ant.trail.last, ant.destination) for ant in stage.sent(RoutingAnt)}
    return stage


def barred_after(stage: Stage, *, releases: int) -> set[tuple[tuple[str, int], ...]]:
    """Where the scouts of the next search must not look, if nobody comes back from so many releases."""
    for _ in range(releases):
        assert stage.leader.course.attempt is not None
        assert 1 == stage.leader.course.attempt.chain
        stage.tell(TimerFired("patience"))
    stage.ants_return()
    return {scout.order.barred for scout in stage.sent(ScoutingAnt)}


def test_scouts_keep_away_from_a_host_that_they_chose_and_from_which_no_ant_of_a_branch_came_back() -> None:
    """A dead host may cut others off that live, and of which cells further away still tell: every search chose the same
    one, and waited for ants that had not even begun."""
    assert {(("x", 0b111),)} == barred_after(branching("x"), releases=PARAMS.max_releases)


def test_one_release_that_is_missed_condemns_no_host() -> None:
    """As one enforcement ant does not."""
    stage = branching("x", max_releases=1)
    assert {()} == barred_after(stage, releases=1)
    stage.report("x", "y")
    stage.report("x", "y")
    assert {(("x", 0b111),)} == barred_after(stage, releases=1)


def test_a_host_from_which_an_ant_came_back_is_not_kept_away_from_though_no_scout_found_room() -> None:
    """Late, or in an earlier release: something leads there."""
    stage = branching("x")
    stage.tell(RoutingAntReturned(stage.round, "d2", 40.0, 30.0, 100.0))
    assert {()} == barred_after(stage, releases=1 + PARAMS.max_releases)


def test_a_leader_does_not_keep_away_from_its_own_host() -> None:
    """Whatever became of its ants, it was not there."""
    assert {()} == barred_after(branching("s"), releases=PARAMS.max_releases)


def test_an_enforcement_ant_is_waited_for_as_long_as_its_own_way_takes() -> None:
    """The ends of a flow may be neighbours, and the only host with room far from both."""

    def patience_ms(cost_ms: float) -> list[float]:
        stage = Stage(params=replace(PARAMS, max_attempts=9))
        stage.tell(Place())
        found = []
        for _ in range(3):
            stage.ants_return()
            stage.report("x", "x", cost_ms=cost_ms)
            stage.report("x", "x", cost_ms=cost_ms)
            (ant,), (timer,) = stage.sent(EnforcementAnt), stage.found(SetTimer)
            assert timer.at_ms == PARAMS.patience_for_ms(ant.trip_ms / 2 ** len(found)) * 2 ** len(found)
            found.append(timer.at_ms)
            stage.tell(TimerFired("patience"))
        return found

    near_ms, far_ms = patience_ms(48.0), patience_ms(2_008.0)
    assert PARAMS.patience_for_ms(2 * 40.0) == near_ms[0], "the host's price of 8 ms is no travel"
    assert PARAMS.patience_for_ms(2 * 2_000.0) == far_ms[0]
    assert [2.0, 4.0] == [later_ms / far_ms[0] for later_ms in far_ms[1:]], "twice as long after each that was missed"


def test_what_rivals_had_only_reserved_is_forgotten_when_nothing_else_is_left() -> None:
    """The rival may have been turned back itself: a host that it held for a moment is free again."""
    stage = Stage(params=replace(PARAMS, max_attempts=9))
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "x")
    stage.report("x", "x")
    seen = HostView("x", 1.0, Load(rate_per_ms=0.05, rho=0.9, square=5.0, burst=0.05, rate_squares=0.0025))
    stage.tell(Enforced(1, committed=False, why="dear", seen=seen))
    told = []
    for _ in range(PARAMS.max_releases + 1):
        stage.ants_return()
        told.append({scout.order.corrections for scout in stage.sent(ScoutingAnt)})
        stage.tell(TimerFired("patience"))
    assert [{(seen,)}] * PARAMS.max_releases + [{()}] == told


def test_a_leader_that_was_refused_to_the_end_rests_shorter_than_one_that_found_nothing() -> None:
    """There was a place, and rivals were faster: they are settled by the next look. The pause still doubles."""
    stage = Stage()
    stage.tell(Place())
    pauses = []
    for _ in range(2):
        for _ in range(PARAMS.max_attempts):
            stage.ants_return()
            stage.report("x", "x")
            stage.report("x", "x")
            stage.tell(Enforced(stage.leader.epoch, committed=False, why="full"))
        assert stage.found(GaveUp)
        pauses.append(stage.found(SetTimer)[0].at_ms)
        stage.tell(TimerFired("rest"))
    assert PARAMS.patience_ms / 2 <= pauses[0] <= PARAMS.patience_ms * 1.5 < PARAMS.retry_after_ms / 2
    assert 2.0 == pauses[1] / pauses[0]


def test_a_host_that_dies_under_an_enforcement_ant_is_no_failed_attempt() -> None:
    """Nobody refused anything: the leader begins anew at once, and the dead epoch is fenced."""
    stage = Stage(params=replace(PARAMS, max_attempts=1))
    stage.tell(Place())
    stage.ants_return()
    stage.report("x", "y")
    stage.report("x", "y")
    stage.tell(HostLost("y"))
    assert [1, 1] == [message.epoch for message in stage.sent(Cancellation)]
    assert stage.sent(RoutingAnt)


def test_searches_that_find_nothing_end_sooner_than_attempts_that_are_refused() -> None:
    """A flow that fits nowhere is refused at once; one that others were quicker than is worth another try."""
    stage = Stage(params=replace(PARAMS, max_attempts=9, max_failed_searches=1))
    stage.tell(Place())
    for _ in range(PARAMS.max_releases):
        stage.ants_return()
        stage.tell(TimerFired("patience"))
    assert [GaveUp] == [type(each) for each in stage.found(GaveUp)]


def test_a_flow_that_lost_a_host_and_finds_no_place_lets_go_of_its_room_and_looks_on() -> None:
    """What is left of it does not run, and another flow may wait for just that room."""
    stage = Stage(params=replace(PARAMS, max_attempts=9)).placed("x", "y")
    stage.tell(HostLost("y"))
    for _ in range(PARAMS.max_releases):
        assert not stage.sent(Release)
        stage.ants_return()
        stage.tell(TimerFired("patience"))
    assert [Release("f", 1)] * 2 == stage.sent(Release)
    assert stage.sent(RoutingAnt)
    assert stage.leader.plan is None
    stage.ants_return()
    assert {()} == {scout.order.running for scout in stage.sent(ScoutingAnt)}
    stage.report("x", "z")
    stage.report("x", "z")
    stage.tell(Enforced(2, committed=True))
    assert [2] == [published.plan.epoch for published in stage.found(Published)]


def test_a_live_flow_keeps_the_room_in_which_its_rest_goes_on() -> None:
    """On Kafka the tasks that are left take records in, and hold state: their room is not free."""
    assert not LIVE_LEADER.let_go
    stage = Stage(params=replace(PARAMS, let_go=False)).placed("x", "y")
    stage.tell(HostLost("y"))
    for _ in range(PARAMS.max_attempts * PARAMS.max_releases):
        stage.ants_return()
        stage.tell(TimerFired("patience"))
        assert not stage.sent(Release)
    assert stage.found(GaveUp)
    assert stage.leader.standing.why_look() is Reason.LOST
