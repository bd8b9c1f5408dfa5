"""What the active instance decides: plans, moves, lost hosts, policies and wishes, look by look."""

from typing import Any

import msgspec
import pytest

from services.placement.conductor import Conductor
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
    office.conductor = Conductor(office.params, office.view)
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


def test_an_approval_carries_out_exactly_the_plan_that_it_names(office: Any, pick: Any) -> None:
    """And is refused, with what changed, once there is another one."""
    office.rule("flow", "shop", "approve")
    office.plan("a")
    assert [] == office.look()
    office.wish("r1", "approve", hash="hash-0")
    (answer,) = pick["decisions"](office.look())
    assert ("refused", "the plan is hash-1 by now (test); look at it with stigmergy plan shop") == answer
    office.wish("r2", "approve", hash="hash-1")
    assert ["placed", "approved"] == [kind for kind, _ in pick["decisions"](office.look())]
    assert [("a", 1), ("a", 1)] == office.owners()
    assert [] == office.look()


def test_a_plan_of_a_former_leader_is_not_carried_out_after_a_takeover(office: Any, pick: Any) -> None:
    """It was on its way when its leader lost the lease: only what the new one says counts, be it the same plan."""
    office.running_on("a")
    office.leader_terms["shop"] = 7
    late = office.plan("b", epoch=2, term=1)
    assert [] == office.look()
    office.rule("flow", "shop", "approve")
    office.wish("r-1", "approve", hash=late.hash)
    assert ["refused"] == [kind for kind, _ in pick["decisions"](office.look())]
    office.rule("flow", "shop", "auto")
    office.plan("b", epoch=2, term=7)
    assert 2 == len(pick["moves"](office.look())) / 2, "each is proposed and begins"


def test_an_approval_while_a_partition_moves_is_refused_and_works_afterwards(
    office: Any, pick: Any, segment: str
) -> None:
    """It was said to be approved, and the partition that just moved stayed where it was, for ever."""
    office.rule("flow", "shop", "approve")
    office.plan("a")
    office.wish("r1", "approve", hash="hash-1")
    office.look()
    for partition in range(2):
        office.says("a", partition, 1)
    office.wish("r2", "move", segment=segment, partitions=(0,), host="b")
    office.look()
    office.plan("c", epoch=2)
    office.wish("r3", "approve", hash="hash-2")
    ((kind, why),) = pick["decisions"](office.look())
    assert ("refused", f"{segment}/0 is moving just now; approve it again when that has ended") == (kind, why)
    office.follows("b", 0)
    office.look()
    office.drained("a", 0, 1)
    office.says("b", 0, 2)
    office.look()
    office.plan("c", epoch=3)
    office.wish("r4", "approve", hash="hash-3")
    assert "approved" in [kind for kind, _ in pick["decisions"](office.look())]
    wanted = {(each.segment, each.partition) for each in office.conductor._carriage.under_way().values()}
    assert {(segment, 0), (segment, 1)} == wanted


def test_an_approval_of_a_plan_for_another_world_is_refused(office: Any, pick: Any) -> None:
    """Too old, or for a host that is gone: a person who said yes did not say yes to that."""
    office.rule("flow", "shop", "approve")
    office.plan("a")
    office.now_ms += 1_000_000
    office.wish("r1", "approve", hash="hash-1")
    assert [("refused", "it was made 1000 s ago, and 900 s are the most")] == pick["decisions"](office.look())
    office.plan("b", epoch=2)
    office.lost_since_ms = {"b": office.now_ms}
    office.wish("r2", "approve", hash="hash-2")
    assert [("refused", "host b does not live")] == pick["decisions"](office.look())


def test_a_lost_hosts_partitions_wait_a_moment_for_their_leader_then_go_to_who_followed_them(
    office: Any, pick: Any, segment: str
) -> None:
    """The leader knows better; without it, whoever has the state takes over first."""
    office.running_on("a")
    followed = msgspec.structs.replace(office.view.placements[segment, 1], standbys=("c",))
    office.view.take(followed)
    office.lost_since_ms = {"a": office.now_ms}
    assert [] == office.look()
    office.now_ms += 1_000
    written = office.look()
    assert [("b", 2), ("c", 2)] == office.owners()
    assert ["failed_over", "failed_over"] == [kind for kind, _ in pick["decisions"](written)]
    told = [each.evidence["silent_ms"] for each in written if isinstance(each, Decision)]
    assert [6_000.0, 6_000.0] == told, "of the silence, not only of what came after its first five seconds"


def test_the_leaders_next_plan_comes_before_the_rule(office: Any) -> None:
    """It places anew at once: there is nobody to drain."""
    office.running_on("a")
    office.lost_since_ms = {"a": office.now_ms}
    office.plan("c", epoch=2)
    office.look()
    assert [("c", 2), ("c", 2)] == office.owners()


def test_a_lost_host_sets_few_partitions_in_motion_at_once(office: Any) -> None:
    """With fifty partitions its heirs must not all recover at the same time."""
    office.partitions = 50
    office.running_on("a")
    office.lost_since_ms = {"a": office.now_ms - 10_000}
    office.look()
    per_host_max = office.params.recovering_per_host_max
    assert 2 * per_host_max == sum(host != "a" for host, _ in office.owners())
    for (_, partition), each in list(office.view.placements.items()):
        if each.host != "a":
            office.says(each.host, partition, each.epoch)
    office.look()
    assert 50 == sum(host != "a" for host, _ in office.owners())


def test_everything_leaves_a_drained_host_and_nothing_comes(office: Any, pick: Any) -> None:
    """Its partitions move, one after the other; a plan that wants it is refused once, not at every look."""
    office.running_on("a")
    office.rule("host", "a", "drained")
    office.look()
    assert {"a"} == {each.origin for each in office.view.moves.values()}
    assert 2 == len(office.view.moves)
    assert [] == office.look()
    office.plan("a", epoch=2)
    told = pick["decisions"](office.look())
    assert [("refused", "host a is drained; open it again with stigmergy drain --undo a")] == told
    assert [] == office.look()


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


def test_a_withdrawn_flow_runs_nowhere(office: Any) -> None:
    """Whoever wrote that it is withdrawn; its epochs go on."""
    office.running_on("a")
    office.state = "withdrawn"
    office.look()
    assert [(None, 2), (None, 2)] == office.owners()
    assert [] == office.look()
