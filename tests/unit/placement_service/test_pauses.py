"""The pause of a move: predicted, kept within the flow's budget, and learned from."""

from typing import Any

import msgspec
import pytest

from services.placement.leader_pauses import MOVED
from services.registry.decisions import decision
from tests.unit.registry_messages import move_record


def test_a_hand_over_that_would_break_the_budget_waits_for_a_quieter_time(office: Any, pick: Any) -> None:
    """A busy hour leaves the standby behind: it follows on until little is left, and the origin works meanwhile."""
    office.partitions = 1
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    (begun,) = office.view.moves.values()
    office.follows("b", 0, lag=4_000_000)
    office.now_ms += 100
    assert [] == office.look(), "twenty seconds of reading, and ten are all that the flow allows"
    office.follows("b", 0, lag=200_000)
    office.look()
    (move,) = office.view.moves.values()
    assert [("b", 2)] == office.owners()
    assert (begun.predicted_pause_ms, 200_000) == (move.predicted_pause_ms, move.unread_changes), (
        "what decided is what is judged"
    )


def test_what_brokers_have_paused_a_partition_counts_for_its_moves_too(office: Any, segment: str) -> None:
    """A flow allows so much pause, whoever causes it."""
    office.partitions = 1
    office.running_on("a")
    evidence: dict[str, Any] = {"topic": "edge", "segment": segment, "partition": 0.0, "took_s": 3.0}
    office.now_ms = 10 * office.params.schedule.window_ms
    then_ms = office.now_ms - office.params.schedule.window_ms + 1_000
    for _ in range(15):
        _, told = decision(MOVED, "what", "why", by="p", now_ms=then_ms, flow="shop", evidence=evidence)
        office.view.take(told)
    office.plan("b", epoch=2)
    office.look()
    assert {"proposed"} == {each.phase for each in office.view.moves.values()}
    office.now_ms += 1_001
    office.look()
    assert {"warming"} == {each.phase for each in office.view.moves.values()}


def test_a_move_that_never_gets_its_quiet_time_is_given_up(office: Any, pick: Any) -> None:
    """The target need not follow for ever."""
    office.partitions = 1
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    office.now_ms += 300_000
    office.follows("b", 0, lag=4_000_000)
    assert [("abandoned", "warming took longer than 300 s")] == pick["decisions"](office.look())
    assert [("a", 1)] == office.owners()
    assert {()} == {each.standbys for each in office.view.placements.values()}


def test_a_move_that_was_never_let_begin_tells_what_it_waited_for(office: Any, pick: Any, segment: str) -> None:
    """That it took too long is no reason that anybody could do something about."""
    office.partitions = 1
    office.running_on("a")
    spent = {"partition": 0, "since_ms": office.now_ms + 1_000, "actual_pause_ms": 9_990.0, "plan": "hash-0"}
    office.view.take(move_record("shop", segment, phase="done", **spent))
    office.another_instance()
    office.plan("b", epoch=2)
    office.look()
    office.now_ms += office.params.moves.proposed_ms_max
    (told,) = pick["decisions"](office.look())
    assert (
        "abandoned",
        "proposed took longer than 600 s: a pause of 80 ms is predicted, and 10 of 10000 ms are left",
    ) == told


@pytest.mark.parametrize("takes_over", [False, True])
def test_what_was_left_to_read_is_no_part_of_the_takeover_that_is_learned(office: Any, takes_over: bool) -> None:
    """Also for the instance that becomes active in the midst of a move: it stands in the record."""
    office.partitions = 1
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    office.follows("b", 0, lag=200_000)
    office.look()
    if takes_over:
        office.another_instance()
    office.now_ms += 1_040
    office.drained("a", 0, 1)
    office.says("b", 0, 2)
    office.drained("a", 0, 1)
    office.look()
    (done,) = office.view.moves.values()
    assert ("done", 10.0) == (done.phase, done.actual_pause_ms)
    slow = msgspec.structs.replace(done, actual_pause_ms=1_050.0)
    office.view.take(slow)
    office.another_instance()
    office.plan("a", epoch=3)
    office.look()
    (next_move,) = (each for each in office.view.moves.values() if each.move != done.move)
    assert 50.0 == next_move.predicted_pause_ms, "a second of 1,050 ms went into reading 200,000 changes"


def test_a_move_of_which_nobody_knows_what_was_left_to_read_teaches_nothing(office: Any) -> None:
    """Records of an older version: a long pause may have been all reading."""
    office.partitions = 1
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    (move,) = office.view.moves.values()
    old = msgspec.structs.replace(move, phase="done", actual_pause_ms=5_000.0, since_ms=office.now_ms)
    office.view.take(old)
    office.another_instance()
    office.plan("c", epoch=3)
    office.look()
    (next_move,) = (each for each in office.view.moves.values() if each.move != move.move)
    assert office.params.pause.takeover_ms == next_move.predicted_pause_ms


def test_a_drain_of_an_idle_flow_leaves_predictions_as_they_were(office: Any) -> None:
    """Its last record was an hour ago, but nobody missed anything before the move."""
    office.partitions = 1
    office.running_on("a")
    office.rule("host", "a", "drained")
    office.look()
    office.follows("b", 0)
    office.look()
    office.now_ms += 80
    office.drained("a", 0, 1, idle_ms=3_600_000)
    office.says("b", 0, 2)
    office.look()
    (done,) = office.view.moves.values()
    assert ("done", 80.0) == (done.phase, done.actual_pause_ms)
    office.plan("c", epoch=2)
    office.look()
    (next_move,) = (each for each in office.view.moves.values() if each.move != done.move)
    assert office.params.pause.takeover_ms == 80.0 == next_move.predicted_pause_ms
