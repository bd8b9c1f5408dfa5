"""How the active instance carries out plans, look by look, and ends what is withdrawn."""

from typing import Any

import msgspec
import pytest

from topics import catalogue
from topics.messages import Decision


def test_a_new_flow_starts_where_its_plan_says_and_a_second_look_writes_nothing(office: Any, pick: Any) -> None:
    """It looks at what is, so what is done is not done again."""
    office.plan("a")
    written = office.look()
    assert [("a", 1), ("a", 1)] == office.owners()
    assert {"hash-1"} == {each.plan for each in pick["placements"](written)}
    assert ["placed"] == [kind for kind, _ in pick["decisions"](written)]
    assert [] == office.look()


def test_the_next_plan_moves_every_partition_to_its_end(office: Any, pick: Any) -> None:
    """Warm up, hand over with the next epoch, release; each step is written with the registry's entry."""
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    assert [("a", 1), ("a", 1)] == office.owners()
    assert {("b",)} == {each.standbys for each in office.view.placements.values()}
    for partition in range(2):
        office.follows("b", partition)
    office.look()
    assert {("b", 2, "a")} == {(each.host, each.epoch, each.origin) for each in office.view.placements.values()}
    office.now_ms += 50
    for partition in range(2):
        office.drained("a", partition, 1)
        office.says("b", partition, 2)
    written = office.look()
    assert {"done"} == {each.phase for each in office.view.moves.values()}
    assert {60.0 - 50.0} == {each.actual_pause_ms for each in office.view.moves.values()}
    assert {None} == {each.origin for each in office.view.placements.values()}
    assert {"hash-2"} == {each.plan for each in office.view.placements.values()}
    assert ["moved", "moved"] == [kind for kind, _ in pick["decisions"](written)]
    assert [] == office.look()


def test_another_instance_goes_on_where_the_last_one_ended(office: Any) -> None:
    """All that it needs is in the registry."""
    office.running_on("a")
    office.plan("b", epoch=2)
    office.look()
    office.another_instance()
    assert [] == office.look()
    office.follows("b", 0)
    office.look()
    assert [("b", 2), ("a", 1)] == office.owners()


def test_what_a_person_moved_is_not_moved_back_by_an_old_plan(office: Any, segment: str) -> None:
    """A plan is carried out once; the next one counts again."""
    office.running_on("a")
    moved = msgspec.structs.replace(office.view.placements[segment, 0], host="c", epoch=2)
    office.view.take(moved)
    assert [] == office.look()
    office.plan("b", epoch=2)
    office.look()
    assert {("a", "b"), ("c", "b")} == {(each.origin, each.target) for each in office.view.moves.values()}


@pytest.mark.parametrize(("policy", "moving"), [("auto", 2), ("approve", 0), ("freeze", 0)])
def test_a_flows_policy_decides_over_plans(office: Any, policy: str, moving: int) -> None:
    """Laid down by a person, it outranks the flow's file."""
    office.running_on("a")
    office.rule("flow", "shop", policy)
    office.plan("b", epoch=2)
    office.look()
    assert moving == len(office.view.moves)


def test_a_withdrawn_flow_runs_nowhere(office: Any) -> None:
    """Whoever wrote that it is withdrawn; its epochs go on."""
    office.running_on("a")
    office.state = "withdrawn"
    office.look()
    assert [(None, 2), (None, 2)] == office.owners()
    assert [] == office.look()


def test_a_plan_with_a_thousand_inputs_can_be_told(office: Any) -> None:
    """Where each came from is more than a decision holds: no instance could write it, and all ended."""
    office.plan("a", basis={f"a-source-with-a-long-name-{number}.rate_per_ms": "measured" for number in range(2_000)})
    (told,) = (each for each in office.look() if isinstance(each, Decision))
    assert catalogue.DECISIONS.codec.encode(told, topic=catalogue.DECISIONS.name)
