"""A plan that corrects the one before says what runs: nothing moves for it, and the one before is not tried again."""

from typing import Any

import pytest

from services.host.cell.carried_out import PlacedAnew, compared, placed_anew
from tests.unit.registry_messages import move_record
from topics.messages import MoveRecord, Placement


@pytest.mark.parametrize("policy", ["auto", "approve", "freeze"])
def test_it_is_carried_out_as_things_are_whatever_the_policy(office: Any, policy: str) -> None:
    """It asks for nothing that a person would have to agree to."""
    office.running_on("a")
    office.rule("flow", "shop", policy)
    office.plan("a", epoch=3, corrects="hash-2")
    written = office.look()
    assert {Placement} == {type(each) for each in written}, "no move, and nothing for history to tell"
    assert [("a", 1), ("a", 1)] == office.owners()
    assert {"hash-3"} == {each.plan for each in office.view.placements.values()}
    assert [] == office.look()


def test_partitions_that_are_elsewhere_stay_there(office: Any, segment: str) -> None:
    """A leader knows one host for each segment; what a person has moved is not moved back for a correction."""
    office.running_on("a")
    first = office.view.placements[segment, 0]
    office.view.take(Placement(**{name: getattr(first, name) for name in first.__struct_fields__} | {"host": "c"}))
    office.plan("a", epoch=3, corrects="hash-2")
    office.look()
    assert [("c", 1), ("a", 1)] == office.owners()
    assert {} == office.view.moves


def test_a_move_that_was_given_up_is_told_and_after_the_correction_nobody_tries_it_again(
    office: Any, pick: Any, segment: str
) -> None:
    """The placement service forgets after an hour what it has tried, and the plan would still stand."""
    office.running_on("a")
    plan = office.plan("b", epoch=2)
    office.look()
    assert compared(office.view, plan, "auto", live=office.live, now_ms=office.now_ms) is None
    office.now_ms += office.params.moves.warming_ms_max
    office.look()
    news = compared(office.view, plan, "auto", live=office.live, now_ms=office.now_ms)
    assert news is not None
    assert ((segment, "a"),) == news.where
    assert "to b: warming took longer than 300 s" in news.why
    correction = office.plan("a", epoch=3, corrects=plan.hash)
    office.look()
    office.now_ms += 2 * office.params.schedule.window_ms
    office.look()
    assert {"abandoned"} == {each.phase for each in office.view.moves.values()}
    assert 2 == len(office.view.moves)
    assert compared(office.view, correction, "auto", live=office.live, now_ms=office.now_ms) is None


def test_a_move_that_has_begun_meanwhile_goes_to_its_end_and_is_not_taken_back(office: Any, segment: str) -> None:
    """Leader and service may decide at the same moment. The leader hears of the end, too; nothing goes to and fro."""
    office.running_on("a")
    plan = office.plan("b", epoch=2)
    office.look()
    correction = office.plan("a", epoch=3, corrects=plan.hash)
    for partition in range(2):
        office.follows("b", partition)
    office.look()
    for partition in range(2):
        office.drained("a", partition, 1)
        office.says("b", partition, 2)
    office.look()
    assert ({"done"}, [("b", 2), ("b", 2)]) == ({each.phase for each in office.view.moves.values()}, office.owners())
    for _ in range(3):
        assert [] == [each for each in office.look() if isinstance(each, MoveRecord)]
    assert compared(office.view, correction, "auto", live=office.live, now_ms=office.now_ms) is None, "not yet"
    late_ms = office.now_ms + 60_000
    news = compared(office.view, correction, "auto", live=office.live, now_ms=late_ms)
    assert news is not None
    assert ((segment, "b"),) == news.where


def test_an_instance_that_takes_over_moves_nothing_for_it_either(office: Any, segment: str) -> None:
    """What was tried stands in the records, what counts in the plan."""
    office.running_on("a")
    office.view.take(move_record("shop", segment, origin="a", target="b", phase="abandoned", plan="hash-2"))
    office.plan("a", epoch=3, corrects="hash-2")
    office.another_instance()
    office.look()
    assert ([("a", 1), ("a", 1)], 1) == (office.owners(), len(office.view.moves))


def test_what_was_lost_meanwhile_is_left_to_those_who_take_over(office: Any, segment: str) -> None:
    """A correction says where the flow ran a moment ago; what has died since goes where its state is, not there."""
    office.running_on("a")
    first = office.view.placements[segment, 0]
    office.view.take(Placement(**{name: getattr(first, name) for name in first.__struct_fields__} | {"host": "c"}))
    office.plan("a", epoch=3, corrects="hash-2")
    office.lost_since_ms["c"] = office.now_ms
    office.look()
    assert [("c", 1), ("a", 1)] == office.owners()
    office.now_ms += 60_000
    office.look()
    assert "c" not in {host for host, _ in office.owners()}


def test_what_failover_has_placed_stays_there_when_its_leader_says_so(office: Any, segment: str) -> None:
    """A leader that found no place after a loss tells what runs: partitions are put under it where they are."""
    office.running_on("a")
    plan = office.plan("a", epoch=2)
    office.look()
    office.lost_since_ms = {"a": office.now_ms}
    assert placed_anew(office.view, plan, live={"b", "c"}) is None
    office.now_ms += 1_000
    office.look()
    spread = office.owners()
    assert {"b", "c"} == {host for host, _ in spread}
    assert PlacedAnew({segment: "b"}) == placed_anew(office.view, plan, live={"b", "c"})
    correction = office.plan("b", epoch=3, corrects=plan.hash)
    office.look()
    assert (spread, {}) == (office.owners(), office.view.moves)
    assert compared(office.view, correction, "auto", live={"b", "c"}, now_ms=office.now_ms + 60_000) is None
