"""The leader of a flow that is to stay where it runs: it looks and tells, and books nothing."""

from placement.ants.enforcement import Cancellation, Enforced, EnforcementAnt
from placement.ants.measuring import Measured
from placement.leader_attempt import Reason
from placement.leader_damping import FROZEN
from placement.leader_events import HostLost, HotSpotAhead, MovesFrozen, Propose, Proposed, Published, Stayed
from placement.leader_phases import Phase
from tests.unit.ants.leader_stage import Stage


def frozen() -> Stage:
    """Where it runs it costs 100 ms."""
    stage = Stage().placed("x", "x")
    stage.tell(MovesFrozen(True))
    return stage


def test_no_room_is_booked_where_nothing_will_run() -> None:
    """Nobody would carry the plan out; the leader would release where the flow runs, and others be refused for room
    that is kept for nobody."""
    stage = frozen()
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    (stayed,) = stage.found(Stayed)
    assert (FROZEN, 100.0, 60.0) == (stayed.why, stayed.now_cost_ms, stayed.best_cost_ms)
    assert ([], {0: "x", 1: "x"}, 1) == (stage.sent(EnforcementAnt), stage.leader.running, stage.leader.epoch)


def test_nor_before_a_hot_spot() -> None:
    """It would be warned, and carried out, as little."""
    stage = frozen()
    stage.tell(HotSpotAhead("x"))
    stage.tell(Measured(stage.round, 100.0, 100.0))
    stage.ants_return(2)
    stage.report("y", "y", cost_ms=60.0)
    stage.report("y", "y", cost_ms=60.0)
    assert ([FROZEN], []) == ([stayed.why for stayed in stage.found(Stayed)], stage.sent(EnforcementAnt))


def test_what_has_other_reasons_to_stay_says_those() -> None:
    """Whoever lifts the policy wants to know what would come of it."""
    stage = frozen()
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=99.0)
    assert "not better than" in stage.found(Stayed)[0].why


def test_a_person_who_asks_is_told_what_would_be_done() -> None:
    """Approving it is their right under every policy."""
    stage = frozen()
    stage.tell(Propose())
    stage.tell(Measured(stage.round, 100.0, 100.0))
    stage.ants_return(2)
    stage.report("y", "y", cost_ms=60.0)
    stage.report("y", "y", cost_ms=60.0)
    assert [FROZEN] == [proposed.objection for proposed in stage.found(Proposed)]


def test_what_is_being_booked_for_a_better_place_is_given_up() -> None:
    """The policy comes between the search and the ant's return."""
    stage = Stage().placed("x", "x")
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    stage.tell(MovesFrozen(True))
    assert [("f", 2)] == [(each.flow, each.epoch) for each in stage.sent(Cancellation)]
    assert Phase.RESTING is stage.leader.phase
    stage.tell(Enforced(2, committed=True))
    assert ([], {0: "x", 1: "x"}) == (stage.found(Published), stage.leader.running)


def test_what_a_lost_host_ran_is_placed_all_the_same() -> None:
    """Also if the word comes while that is being booked."""
    stage = frozen()
    stage.tell(HostLost("x"))
    attempt = stage.leader.course.attempt
    assert attempt is not None
    assert Reason.LOST is attempt.reason
    stage.ants_return()
    stage.report("y", "y")
    stage.report("y", "y")
    assert [] == stage.tell(MovesFrozen(True))
    stage.tell(Enforced(2, committed=True))
    assert {0: "y", 1: "y"} == stage.leader.running


def test_once_it_may_move_again_it_does() -> None:
    """Nothing is remembered against the place."""
    stage = frozen()
    stage.tell(MovesFrozen(False))
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    assert 1 == len(stage.sent(EnforcementAnt))
