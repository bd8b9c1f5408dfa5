"""A leader whose plan was not carried out: it knows where its flow runs, and does not try the same again and again."""

from typing import Any

import pytest

from placement.ants.effects import SetTimer
from placement.ants.enforcement import Enforced, EnforcementAnt, Release
from placement.ants.measuring import Measured, MeasuringAnt
from placement.ants.scouting import ScoutingAnt
from placement.leader_events import Corrected, HostLost, NotCarriedOut, Propose, Proposed, Stayed, TimerFired
from placement.leader_phases import Phase
from tests.unit.ants.leader_stage import PARAMS, Stage

STAYED_ON_X = (("a", "x"), ("b", "x"))


def sent_to_y(stage: Stage) -> Stage:
    """It runs on x, and its leader has just committed a plan that moves all of it to y."""
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=60.0)
    stage.tell(Enforced(stage.leader.epoch, committed=True))
    assert {0: "y", 1: "y"} == stage.leader.running
    return stage


def in_vain(stage: Stage, **about: Any) -> list[Any]:
    """Nothing came of it."""
    assert stage.leader.plan is not None
    return stage.tell(NotCarriedOut(stage.leader.plan.epoch, STAYED_ON_X, "no such pause", **about))


def barred(stage: Stage) -> dict[str, int]:
    """Where the scouts of the next round must not look."""
    stage.look_again(now_cost_ms=100.0)
    found = dict(stage.sent(ScoutingAnt)[0].order.barred)
    stage.report("x", "x", cost_ms=100.0)
    assert Phase.RESTING is stage.leader.phase
    return found


def test_what_runs_is_what_the_registry_says_and_room_that_was_booked_in_vain_is_given_back() -> None:
    """Under an epoch of its own: those who go by plans, cells and the next leader, hear of it as of any plan."""
    stage = sent_to_y(Stage().placed("x", "x"))
    in_vain(stage)
    assert ({0: "x", 1: "x"}, 3, 3) == (stage.leader.running, stage.leader.plan.epoch, stage.leader.epoch)
    assert [("y", Release("f", 2))] == [(e.to, e.message) for e in stage.effects if hasattr(e, "message")]
    (told,) = stage.found(Corrected)
    assert (stage.leader.plan, "no such pause") == (told.plan, told.why)
    assert ["rest"] == [timer.name for timer in stage.found(SetTimer)]


def test_the_next_round_goes_on_from_where_the_flow_runs() -> None:
    """It would be priced at a host that it has never come to; and it may go to a third."""
    stage = sent_to_y(Stage().placed("x", "x"))
    in_vain(stage)
    stage.now_ms += PARAMS.watch_every_ms
    stage.tell(TimerFired("rest"))
    (ant,) = stage.sent(MeasuringAnt)
    assert {"x"} == {stop.host for stop in ant.stops if stop.mask}
    stage.tell(Measured(stage.round, 100.0, 100.0))
    stage.ants_return(1)
    stage.report("z", "z", cost_ms=60.0)
    (sent,) = stage.sent(EnforcementAnt)
    assert (4, ["z"]) == (sent.epoch, [stop.host for stop in sent.stops])


def test_only_tasks_that_are_elsewhere_are_corrected() -> None:
    """A plan may have been carried out in part: what has arrived has arrived."""
    stage = sent_to_y(Stage().placed("x", "x"))
    stage.tell(NotCarriedOut(2, (("b", "x"),), "no such pause"))
    assert {0: "y", 1: "x"} == stage.leader.running
    assert [] == stage.sent(Release), "something of it runs at y"
    stage.now_ms += PARAMS.watch_every_ms
    assert {"x": 0b01, "y": 0b10} == barred(stage), "a has left x just now, and b did not get to y"


def test_the_same_is_not_tried_again_for_a_time_that_doubles_up_to_a_bound() -> None:
    """What stood in its way may be gone in a minute, or stay for ever; nobody tells the leader which."""
    stage = Stage().placed("x", "x")
    wait_ms = PARAMS.retry_move_ms
    for _ in range(10):
        sent_to_y(stage)
        in_vain(stage)
        began_ms = stage.now_ms
        stage.now_ms = began_ms + wait_ms - 1.0
        assert {"y": 0b11} == barred(stage), "x, which it has never left, is not barred"
        stage.now_ms = began_ms + wait_ms + PARAMS.watch_every_ms
        assert {} == barred(stage)
        wait_ms = min(2 * wait_ms, PARAMS.retry_move_at_most_ms)
    assert PARAMS.retry_move_at_most_ms == wait_ms
    stage.now_ms += PARAMS.retry_move_at_most_ms
    sent_to_y(stage)
    in_vain(stage)
    stage.now_ms += PARAMS.retry_move_ms + PARAMS.watch_every_ms
    assert {} == barred(stage), "after a long time it begins anew"


def test_what_a_person_has_moved_is_left_there_for_the_longest_time() -> None:
    """They know why; ants would take it back within a minute."""
    stage = sent_to_y(Stage().placed("x", "x"))
    in_vain(stage, by_person=True)
    stage.now_ms += PARAMS.retry_move_at_most_ms - 1.0
    assert {"y": 0b11} == barred(stage)


def test_a_report_that_comes_of_other_ways_is_turned_down_with_the_time_that_is_left() -> None:
    """Scouts are told, but a leader must not rely on it."""
    stage = sent_to_y(Stage().placed("x", "x"))
    in_vain(stage)
    stage.now_ms += PARAMS.watch_every_ms
    stage.look_again(now_cost_ms=100.0)
    stage.report("y", "y", cost_ms=50.0)
    assert "task 0 did not get to y lately; that is tried again in 55 s" == stage.found(Stayed)[0].why


def test_a_person_who_asks_is_told_of_the_place_all_the_same() -> None:
    """They may approve it, and are then not held to the pause budget; the leader says why it would not do it."""
    stage = sent_to_y(Stage().placed("x", "x"))
    in_vain(stage)
    stage.now_ms += PARAMS.watch_every_ms
    stage.tell(Propose())
    stage.tell(Measured(stage.round, 100.0, 100.0))
    stage.ants_return()
    assert ((),) == tuple({ant.order.barred for ant in stage.sent(ScoutingAnt)})
    stage.report("y", "y", cost_ms=60.0)
    stage.report("y", "y", cost_ms=60.0)
    (proposed,) = stage.found(Proposed)
    assert "did not get to y" in str(proposed.objection)


@pytest.mark.parametrize("epoch", [1, 3])
def test_news_of_another_plan_changes_nothing(epoch: int) -> None:
    """It may be on its way while the leader commits the next one."""
    stage = sent_to_y(Stage().placed("x", "x"))
    assert [] == stage.tell(NotCarriedOut(epoch, STAYED_ON_X, "late"))
    assert ({0: "y", 1: "y"}, 2) == (stage.leader.running, stage.leader.epoch)


def test_who_looks_for_a_place_just_now_is_not_disturbed() -> None:
    """It is told again when it rests; and who has lost a host must find another place anyway."""
    stage = sent_to_y(Stage().placed("x", "x"))
    stage.tell(HostLost("y"))
    assert Phase.SEARCHING is stage.leader.phase
    assert [] == in_vain(stage)
    stage.leader.course.phase = Phase.RESTING
    assert [] == in_vain(stage), "the host is still lost"


def test_a_flow_of_which_nothing_runs_is_placed_anew() -> None:
    """A first plan that nobody approved in time can't be approved any more: there must be another one."""
    stage = Stage().placed("x", "x")
    stage.tell(NotCarriedOut(1, (), "nobody approved it in time"))
    assert (Phase.SEARCHING, None) == (stage.leader.phase, stage.leader.plan)
    assert [Release("f", 1)] == stage.sent(Release)
    stage.ants_return()
    stage.report("y", "y")
    stage.report("y", "y")
    stage.tell(Enforced(2, committed=True))
    assert {0: "y", 1: "y"} == stage.leader.running
