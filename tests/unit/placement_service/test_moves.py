"""Moves that people ask for, and moves that are overtaken or given up."""

from typing import Any

import msgspec
import pytest

from tests.unit.registry_messages import move_record


def test_a_persons_move_is_answered_and_made(office: Any, pick: Any, segment: str) -> None:
    """Of one partition only; the others stay."""
    office.running_on("a")
    office.wish("r1", "move", segment=segment, partitions=(1,), host="b")
    written = office.look()
    assert [("accepted", "somebody asked for it")] == pick["decisions"](written)
    assert [(1, "a", "b", "r1")] == [
        (each.partition, each.origin, each.target, each.request) for each in office.view.moves.values()
    ]
    office.wish("r2", "move", segment=segment, partitions=(1,), host="c")
    assert [("refused", f"{segment}/1 is moving already")] == pick["decisions"](office.look())
    (refused,) = (each for each in office.view.decisions.values() if each.request == "r2")
    assert {"moving": f"{segment}/1"} == refused.evidence


def test_who_warmed_up_for_a_move_that_was_overtaken_follows_no_longer(office: Any, pick: Any, segment: str) -> None:
    """Nobody would ever tell it to stop. Whom a person lets follow goes on."""
    office.running_on("a")
    given = msgspec.structs.replace(office.view.placements[segment, 0], standbys=("c",))
    office.view.take(given)
    office.plan("b", epoch=2)
    office.look()
    warming = office.view.placements[segment, 0]
    assert ("c", "b") == warming.standbys
    office.view.take(msgspec.structs.replace(warming, epoch=2))
    assert ["abandoned"] == [kind for kind, _ in pick["decisions"](office.look())]
    assert [("c",), ("b",)] == [each.standbys for _, each in sorted(office.view.placements.items())]
    assert [("a", 2), ("a", 1)] == office.owners()


def test_whom_a_person_lets_follow_does_so_after_a_move_to_it_was_given_up(office: Any, segment: str) -> None:
    """Also if another instance gives it up: it stands in the record."""
    office.partitions = 1
    office.running_on("a")
    office.view.take(msgspec.structs.replace(office.view.placements[segment, 0], standbys=("b",)))
    office.plan("b", epoch=2)
    office.look()
    office.another_instance()
    office.now_ms += office.params.moves.warming_ms_max
    office.look()
    assert {"abandoned"} == {each.phase for each in office.view.moves.values()}
    assert ("b",) == office.view.placements[segment, 0].standbys


def test_a_proposed_move_that_was_overtaken_never_begins(office: Any, pick: Any, segment: str) -> None:
    """It would write into an entry that somebody else has made since."""
    office.running_on("a")
    about = {"origin": "a", "target": "b", "phase": "proposed", "since_ms": office.now_ms}
    office.view.take(move_record("shop", segment, **about))
    office.view.take(msgspec.structs.replace(office.view.placements[segment, 0], host="c", epoch=2))
    office.another_instance()
    written = office.look()
    assert ["abandoned"] == [each.phase for each in pick["moves"](written)]
    assert [] == pick["placements"](written)


def test_an_old_word_of_a_target_hands_nothing_over(office: Any) -> None:
    """It may have started again since, with nothing read; who lives says again and again that it is ready."""
    office.partitions = 1
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    office.follows("b", 0)
    office.now_ms += 6_000
    assert [] == office.look()
    office.follows("b", 0)
    office.look()
    assert [("b", 2)] == office.owners()


def test_a_plan_whose_move_was_given_up_is_tried_once_more_after_the_window(office: Any, pick: Any) -> None:
    """Not at every look, nor never: what kept it then may be over."""
    office.partitions = 1
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    office.now_ms += office.params.moves.warming_ms_max
    assert ["abandoned"] == [each.phase for each in pick["moves"](office.look())]
    office.now_ms += office.params.schedule.window_ms - 1
    assert [] == office.look()
    office.now_ms += 1
    office.look()
    assert ["proposed", "warming"] == [each.phase for each in pick["moves"](office.look())]


@pytest.mark.parametrize("dies", [False, True])
def test_another_revision_that_goes_elsewhere_lets_the_one_before_drain(office: Any, segment: str, dies: bool) -> None:
    """It was cut off: in at_least_once, what it had done since its last commit was done again. Nobody had crashed."""
    office.partitions = 2
    office.running_on("a")
    for partition in range(2):
        office.view.take(msgspec.structs.replace(office.view.placements[segment, partition], revision=0))
    office.plan("b", epoch=2)
    office.look()
    assert [("b", "a"), ("b", "a")] == [(each.host, each.origin) for each in office.view.placements.values()]
    assert [] == office.look(), "it waits"
    if dies:
        office.lost_since_ms = {"a": office.now_ms}
    else:
        office.says("b", 0, 2)
        office.says("b", 1, 2)
    office.look()
    assert [("b", None), ("b", None)] == [(each.host, each.origin) for each in office.view.placements.values()]
    assert [] == office.look()


def test_another_revision_waits_for_nobody_where_it_stays_or_where_nobody_lives(office: Any, segment: str) -> None:
    """A host drains what it runs itself; who is dead drains nothing."""
    office.partitions = 2
    office.running_on("a")
    at_b = msgspec.structs.replace(office.view.placements[segment, 1], host="c", revision=0)
    office.view.take(msgspec.structs.replace(office.view.placements[segment, 0], host="b", revision=0))
    office.view.take(at_b)
    office.live -= {"c"}
    office.plan("b", epoch=2)
    office.look()
    assert [("b", None), ("b", None)] == [(each.host, each.origin) for each in office.view.placements.values()]


@pytest.mark.parametrize(
    ("target", "news", "drains"),
    [("c", "", "a"), ("b", "", "a"), ("a", "", "b"), ("c", "b runs", "b"), ("b", "b runs", None), ("c", "a dies", "b")],
)
def test_another_revision_in_the_middle_of_a_move_lets_the_one_drain_that_still_works(
    office: Any, segment: str, target: str, news: str, drains: str | None
) -> None:
    """The move's target, which only waits, said at once that it had drained, and its origin was cut off in a batch."""
    office.partitions = 1
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    office.follows("b", 0)
    office.look()
    handed = office.view.placements[segment, 0]
    assert ("b", 2, "a") == (handed.host, handed.epoch, handed.origin)
    office.view.take(msgspec.structs.replace(handed, revision=0))
    if news == "b runs":
        office.says("b", 0, 2)
    elif news == "a dies":
        office.lost_since_ms = {"a": office.now_ms}
    office.plan(target, epoch=3)
    office.look()
    after = office.view.placements[segment, 0]
    assert (target, 3, drains) == (after.host, after.epoch, after.origin)


def test_a_former_owner_that_nobody_waits_for_is_let_go(office: Any, pick: Any, segment: str) -> None:
    """`stigmergy assign` that was killed left its name: each start of the new owner would wait for its word again."""
    office.running_on("a")
    handed = msgspec.structs.replace(office.view.placements[segment, 0], host="b", epoch=2, origin="a")
    office.view.take(handed)
    assert [] == office.look(), "it has not taken over yet"
    office.says("b", 0, 2)
    assert [msgspec.structs.replace(handed, origin=None)] == pick["placements"](office.look())
    assert [] == office.look()
