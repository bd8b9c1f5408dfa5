"""The leader of a flow that is asked what it would do: it looks and tells, and changes nothing."""

from placement.ants.enforcement import EnforcementAnt
from placement.ants.measuring import Measured, MeasuringAnt
from placement.leader_events import Propose, Proposed, Published, Stayed
from placement.leader_phases import Phase
from tests.unit.ants.leader_stage import Stage


def asked(stage: Stage, *hosts: str, cost_ms: float) -> Stage:
    """What two scouts find when a flow that costs 50 ms is asked about."""
    stage.tell(Propose())
    assert stage.sent(MeasuringAnt), "what would be is compared with what is"
    stage.tell(Measured(stage.round, 50.0, 40.0))
    stage.ants_return(2)
    stage.report(*hosts, cost_ms=cost_ms)
    stage.report(*hosts, cost_ms=cost_ms)
    return stage


def test_a_better_place_is_told_and_nobody_is_sent_to_book_it() -> None:
    """The flow runs on where it was, under the same epoch: the next plan may use the proposal's."""
    stage = Stage().placed("x", "x")
    running, epoch = stage.leader.running, stage.leader.epoch
    asked(stage, "y", "y", cost_ms=45.0)
    (proposed,) = stage.found(Proposed)
    assert {"y"} == {host for _, _, host in proposed.plan.placement.spots}
    assert [("x", "y"), ("x", "y")] == [(move.origin, move.target) for move in proposed.plan.moves]
    assert (45.0, 50.0, 40.0, None) == (
        proposed.cost_ms,
        proposed.now_cost_ms,
        proposed.now_own_ms,
        proposed.objection,
    )
    assert (running, epoch, Phase.RESTING) == (stage.leader.running, stage.leader.epoch, stage.leader.phase)
    assert epoch + 1 == proposed.plan.epoch
    assert ([], []) == (stage.sent(EnforcementAnt), stage.found(Published))


def test_a_place_that_the_leader_would_not_take_is_told_with_its_objection() -> None:
    """A person may have reasons that a leader does not know; they decide with their eyes open."""
    stage = asked(Stage().placed("x", "x"), "y", "y", cost_ms=49.0)
    (proposed,) = stage.found(Proposed)
    assert "not better than 50.00 ms by the factor" in str(proposed.objection)


def test_where_nothing_would_move_there_is_nothing_to_propose() -> None:
    """It says so, as after any round of ants."""
    stage = asked(Stage().placed("x", "x"), "x", "x", cost_ms=50.0)
    (stayed,) = stage.found(Stayed)
    assert ("it is where the flow already runs", []) == (stayed.why, stage.found(Proposed))


def test_a_flow_without_a_place_has_nothing_to_compare_with() -> None:
    """Its leader looks for a place anyway."""
    assert [] == Stage().tell(Propose())
