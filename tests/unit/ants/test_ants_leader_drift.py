"""The leader of a flow whose rates change: when it looks at once, and who pays."""

from dataclasses import replace

import pytest

from placement.ants.effects import SetTimer
from placement.ants.measuring import Measured, MeasuringAnt
from placement.ants.routing import RoutingAnt, RoutingAntReturned
from placement.ants.scouting import ScoutFailed
from placement.leader_events import FlowChanged, TimerFired
from placement.leader_params import LIVE_LEADER
from placement.leader_phases import Phase
from placement.leader_purse import Purse
from placement.model import Flow
from tests.unit.ants.leader_stage import PARAMS, Stage


def _risen(stage: Stage, factor: float) -> Flow:
    """The flow with so many times the records at its source."""
    flow = stage.leader.flow
    (source,) = flow.sources
    return replace(flow, sources=(replace(source, rate_per_ms=source.rate_per_ms * factor),))


def test_a_flow_that_has_become_much_heavier_is_looked_at_at_once() -> None:
    """On credit: a host that was right may be full, and what was earned with few records pays for no round."""
    poor = Stage(params=replace(PARAMS, budget_share=1e-6, budget_depth_ms=1.0, look_at_drift=0.3)).placed("x", "x")
    poor.tell(FlowChanged(_risen(poor, 1.2)))
    assert poor.sent(RoutingAnt) == []
    poor.tell(FlowChanged(_risen(poor, 1.5)))
    assert poor.leader.phase is Phase.SEARCHING
    (measure,) = poor.sent(MeasuringAnt)
    assert poor.leader.flow == measure.flow


@pytest.mark.parametrize(("owed_rounds_max", "fewest", "most"), [(2, 1, 2), (1_000, 6, 6)])
def test_credit_is_limited(owed_rounds_max: int, fewest: int, most: int) -> None:
    """A flow whose rates jump up and down all the time must not get ants all the time."""
    drift = replace(PARAMS, look_at_drift=0.3, owed_rounds_max=owed_rounds_max)
    stage = Stage(params=replace(drift, budget_share=1e-6, budget_depth_ms=1.0)).placed("x", "x")
    looks = 0
    for turn in range(6):
        stage.tell(FlowChanged(_risen(stage, 4.0 if turn % 2 == 0 else 0.25)))
        if stage.leader.phase is Phase.SEARCHING:
            looks += 1
            stage.tell(Measured(stage.round, 50.0, 50.0))
            stage.ants_return(1)
            stage.report("x", "x")
    assert fewest <= looks <= most


def test_a_search_that_began_before_the_flow_changed_is_followed_by_another() -> None:
    """It priced a flow that is no more."""
    stage = Stage(params=replace(PARAMS, budget_share=1e-6, budget_depth_ms=1.0, look_at_drift=0.3)).placed("x", "x")
    stage.tell(TimerFired("rest"))
    stage.tell(FlowChanged(_risen(stage, 4.0)))
    stage.ants_return(1)
    stage.tell(Measured(stage.round, 50.0, 50.0))
    stage.report("x", "x")
    (timer,) = stage.found(SetTimer)
    assert (timer.name, timer.at_ms) == ("rest", PARAMS.watch_every_ms)


def test_a_look_that_failed_is_made_again() -> None:
    """Ants that got lost in a busy moment have told nothing of the flow as it is now."""
    stage = Stage(params=replace(PARAMS, budget_share=1e-6, budget_depth_ms=1.0, look_at_drift=0.3)).placed("x", "x")
    stage.tell(FlowChanged(_risen(stage, 4.0)))
    for _ in range(1 + PARAMS.max_releases):  # the first time scouts leave: ants have told of the way before
        stage.tell(TimerFired("patience"))
    assert stage.leader.phase is Phase.RESTING
    (timer,) = stage.found(SetTimer)
    assert ("rest", PARAMS.watch_every_ms) == (timer.name, timer.at_ms)


def test_each_edge_through_a_broker_earns() -> None:
    """A flow that runs where its source is moves data all the same, and a leader that takes over earns at once."""
    flow = Stage().leader.flow
    stay = dict.fromkeys(range(flow.graph.task_count), "s")
    near = Purse(replace(PARAMS, budget_share=1e-3))
    near.earn(flow.graph, stay, hops=1, now_ms=0.0)
    through = Purse(replace(PARAMS, budget_share=1e-3, every_edge_travels=True))
    through.earn(flow.graph, stay, hops=1, now_ms=0.0)
    assert near.round_free_at_ms(1, now_ms=0.0) > through.round_free_at_ms(1, now_ms=0.0)
    kept = Purse(replace(PARAMS, budget_share=1e-9, retainer_per_ms=1.0))
    kept.earn(flow.graph, stay, hops=1, now_ms=0.0)
    assert kept.round_free_at_ms(1, now_ms=0.0) < 1e6


@pytest.mark.parametrize("home", [0, 1])
def test_a_first_look_of_a_live_flow_leaves_no_debt_that_bars_the_next(home: int) -> None:
    """A leader that took an outstanding report has seen no scout come home, or one: what the others cost is a guess."""
    flow, placing = Stage().leader.flow, LIVE_LEADER.placing
    purse = Purse(LIVE_LEADER)
    purse.earn(flow.graph, dict.fromkeys(range(flow.graph.task_count), "s"), hops=1, now_ms=0.0)

    def come_home(scouts: int) -> None:
        for _ in range(placing.routing_ants):
            purse.learn(RoutingAntReturned(1, "d", 4.0, 2.0, byte_hops=70.0))
        for _ in range(scouts):
            purse.learn(ScoutFailed(1, 0, byte_hops=80.0))

    come_home(home)
    purse.pay(routing_ants=placing.routing_ants, scouts=placing.scouts, now_ms=0.0)
    come_home(placing.scouts)
    next_ms, owed = LIVE_LEADER.watch_every_ms, LIVE_LEADER.hot_rounds_owed_max
    assert owed is not None
    assert next_ms == purse.round_free_at_ms(1, now_ms=next_ms, owed_rounds=owed)
