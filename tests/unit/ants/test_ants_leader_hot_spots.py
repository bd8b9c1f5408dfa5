"""The leader of a flow that is told of a hot spot ahead."""

from dataclasses import replace

from placement.ants.enforcement import EnforcementAnt
from placement.ants.measuring import Measured
from placement.ants.routing import RoutingAnt
from placement.leader_attempt import Reason
from placement.leader_events import FlowChanged, HotSpotAhead, Stayed
from placement.leader_params import LIVE_LEADER
from placement.leader_phases import Phase
from placement.model import Flow
from tests.unit.ants.leader_stage import FLOW, PARAMS, Stage

POOR = replace(PARAMS, budget_share=1e-6, budget_depth_ms=1.0)


def test_ants_leave_at_once_even_if_the_budget_is_spent() -> None:
    """A bound that is about to break is what ants are for."""
    stage = Stage(params=POOR).placed("x", "x")
    stage.tell(HotSpotAhead("x"))
    assert Phase.SEARCHING is stage.leader.phase
    assert stage.sent(RoutingAnt)


def test_a_better_place_is_taken_though_it_is_not_better_by_beta() -> None:
    """Beta is for gains; here a loss is to be avoided. A place that is worse is still refused."""
    for cost_ms, moves in ((46.0, True), (51.0, False)):
        stage = Stage(params=POOR).placed("x", "x")
        stage.tell(HotSpotAhead("x"))
        stage.tell(Measured(stage.round, 50.0, 50.0))
        stage.ants_return(2)
        stage.report("y", "y", cost_ms=cost_ms)
        stage.report("y", "y", cost_ms=cost_ms)
        assert moves is bool(stage.sent(EnforcementAnt)), cost_ms
        assert moves is not bool(stage.found(Stayed)), cost_ms


def test_a_look_without_need_gives_way_to_a_warning() -> None:
    """Rates that grow begin one, with few scouts and beta asked for: just then the warning comes."""
    stage = Stage(params=replace(PARAMS, look_at_drift=0.3)).placed("x", "x")
    assert stage.leader.plan is not None
    stage.tell(FlowChanged(times(2.0, stage.leader.flow)))
    assert stage.leader.course.attempt is not None
    assert Reason.WATCH is stage.leader.course.attempt.reason
    stage.tell(HotSpotAhead("x"))
    assert stage.leader.course.attempt is not None
    assert Reason.HOT is stage.leader.course.attempt.reason
    before = stage.round
    stage.tell(HotSpotAhead("x"))
    assert before == stage.round, "and that is not begun again at every word"


def test_a_warning_that_comes_too_soon_for_ants_is_remembered() -> None:
    """A look without need goes on then, and the next one follows it at once."""
    stage = Stage(params=replace(PARAMS, look_at_drift=0.3)).placed("x", "x")
    stage.tell(HotSpotAhead("x"))
    stage.tell(Measured(stage.round, 50.0, 50.0))
    stage.ants_return(2)
    stage.report("x", "x")
    stage.report("x", "x")
    assert Phase.RESTING is stage.leader.phase
    stage.tell(FlowChanged(times(0.5, stage.leader.flow)))
    assert Phase.SEARCHING is stage.leader.phase
    stage.now_ms = 1_000.0
    stage.tell(HotSpotAhead("x"))
    assert stage.leader.course.rounds.alarmed


def test_a_flow_that_is_warned_pays_for_one_look() -> None:
    """It is told what it weighs now, and then of the hot spot: the first alone would begin a look."""
    stage = Stage(params=replace(PARAMS, look_at_drift=0.3)).placed("x", "x")
    stage.tell(FlowChanged(times(2.0, stage.leader.flow), looks=False))
    assert Phase.RESTING is stage.leader.phase
    assert times(2.0, FLOW).sources[0].rate_per_ms == stage.leader.flow.sources[0].rate_per_ms


def times(factor: float, flow: Flow) -> Flow:
    """So much faster."""
    return replace(flow, sources=tuple(replace(each, rate_per_ms=factor * each.rate_per_ms) for each in flow.sources))


def warned_and_stays(stage: Stage) -> None:
    """A look for a hot spot that finds no better place."""
    assert stage.leader.course.attempt is not None
    assert Reason.HOT is stage.leader.course.attempt.reason
    stage.tell(Measured(stage.round, 50.0, 50.0))
    stage.ants_return(2)
    stage.report("x", "x")
    stage.report("x", "x")
    assert stage.found(Stayed)


def test_that_the_bound_is_broken_is_news_after_a_warning_that_ended_in_staying() -> None:
    """It locked that out for a whole interval: when the bound broke, a second later, nobody looked for a way out."""
    stage = Stage(params=POOR).placed("x", "x")
    stage.tell(HotSpotAhead("x"))
    warned_and_stays(stage)
    stage.now_ms = 1_000.0
    stage.tell(HotSpotAhead("x"))
    assert Phase.RESTING is stage.leader.phase
    stage.tell(HotSpotAhead("x", broken=True))
    warned_and_stays(stage)
    for now_ms, phase in ((2_000.0, Phase.RESTING), (1_000.0 + PARAMS.watch_every_ms, Phase.SEARCHING)):
        stage.now_ms = now_ms
        stage.tell(HotSpotAhead("x", broken=True))
        assert phase is stage.leader.phase, "but it is news only once"


def test_a_flow_that_comes_faster_than_at_the_last_warning_looks_again() -> None:
    """It was priced before the burst had grown, and could stay."""
    stage = Stage(params=replace(POOR, look_at_drift=None)).placed("x", "x")
    stage.tell(HotSpotAhead("x"))
    warned_and_stays(stage)
    stage.now_ms = 1_000.0
    for factor, phase in ((1.1, Phase.RESTING), (1.2, Phase.SEARCHING)):
        stage.tell(FlowChanged(times(factor, FLOW)))
        stage.tell(HotSpotAhead("x"))
        assert phase is stage.leader.phase, factor
    warned_and_stays(stage)
    stage.now_ms = 2_000.0
    stage.tell(HotSpotAhead("x"))
    assert Phase.RESTING is stage.leader.phase


def test_warnings_in_a_row_send_ants_once_a_round() -> None:
    stage = Stage(params=POOR).placed("x", "x")
    looks = 0
    for second in range(10):
        stage.now_ms = second * 1_000.0
        stage.tell(HotSpotAhead("x"))
        if stage.leader.phase is Phase.SEARCHING:
            looks += 1
            stage.tell(Measured(stage.round, 50.0, 50.0))
            stage.ants_return(2)
            stage.report("x", "x")
            stage.report("x", "x")
    assert 2 == looks


def test_warnings_without_end_send_ants_only_on_limited_credit() -> None:
    """A model that cries wolf must not fill the network with ants of a flow that pays for none."""
    stage = Stage(params=replace(POOR, hot_rounds_owed_max=4)).placed("x", "x")
    looks = 0
    for turn in range(20):
        stage.now_ms = turn * 2 * PARAMS.watch_every_ms
        stage.tell(HotSpotAhead("x"))
        if stage.leader.phase is Phase.SEARCHING:
            looks += 1
            stage.tell(Measured(stage.round, 50.0, 50.0))
            stage.ants_return(2)
            stage.report("x", "x")
            stage.report("x", "x")
    assert 1 <= looks <= 4
    assert LIVE_LEADER.hot_rounds_owed_max is not None


def test_a_hot_spot_where_the_flow_does_not_run_is_none_of_its_leaders_business() -> None:
    stage = Stage(params=POOR).placed("x", "x")
    assert [] == stage.tell(HotSpotAhead("elsewhere"))
