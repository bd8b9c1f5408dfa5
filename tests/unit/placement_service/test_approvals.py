"""What people approve: exactly the plan that they saw, in the world that they saw it for."""

from typing import Any

import pytest


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


def test_an_approval_waits_until_its_flow_has_been_read(office: Any, pick: Any) -> None:
    """Flows are read aside. Who approves a plan right after submitting must not hear that there is none."""
    office.rule("flow", "shop", "approve")
    office.plan("a")
    office.has_read = False
    office.wish("r1", "approve", hash="hash-1")
    assert [] == office.look()
    office.has_read = True
    assert ["placed", "approved"] == [kind for kind, _ in pick["decisions"](office.look())]
    office.has_read = False
    office.wish("r2", "approve", hash="hash-1")
    assert [] == office.look()
    office.now_ms += 8_000
    assert [("refused", "flow shop has no plan, or can't be read")] == pick["decisions"](office.look())


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


@pytest.mark.parametrize("policy", ["auto", "approve", "freeze"])
def test_a_proposal_is_carried_out_only_when_a_person_approves_it(office: Any, pick: Any, policy: str) -> None:
    """A dry run changes nothing, under any policy; a yes carries out exactly what was shown, and that counts then."""
    office.running_on("a")
    office.rule("flow", "shop", policy)
    office.proposal("b", epoch=2)
    assert [] == office.look()
    office.wish("r1", "approve", hash="proposed-2")
    assert ["accepted", "approved"] == [kind for kind, _ in pick["decisions"](office.look())]
    assert {("a", "b", "proposed-2")} == {(each.origin, each.target, each.plan) for each in office.view.moves.values()}
    assert ("proposed-2", 2) == (office.view.plans["shop"].hash, office.view.plans["shop"].epoch)
    office.look()
    assert 2 == len(office.view.moves), "once for each partition"


def test_a_proposal_that_its_leader_has_overtaken_is_refused(office: Any, pick: Any) -> None:
    """It was made for a flow that ran elsewhere."""
    office.running_on("a")
    office.proposal("b", epoch=2)
    office.plan("c", epoch=2)
    office.look()
    office.wish("r1", "approve", hash="proposed-2")
    (answer,) = pick["decisions"](office.look())
    assert ("refused", "the plan is hash-2 by now (test); look at it with stigmergy plan shop") == answer


def test_an_approval_is_refused_with_what_changed_since_the_plan_was_made(office: Any, pick: Any) -> None:
    """By the word of the flow's leader, for which it waits; what changed little is the same world."""
    office.running_on("a")
    office.proposal("b", epoch=2, grounds={"orders.rate_per_s": 100.0, "b.busy_share": 0.1})
    office.wish("r1", "approve", hash="proposed-2")
    assert [] == office.look(), "its leader has not said anything yet"
    office.weighs("r1", **{"orders.rate_per_s": 250.0, "b.busy_share": 0.15})
    (answer,) = pick["decisions"](office.look())
    changed = "source orders gave 100.0 records/s then and 250.0 records/s now"
    assert ("refused", f"the world has changed since it was made: {changed}") == answer
    assert [("a", 1), ("a", 1)] == office.owners()
    office.wish("r2", "approve", hash="proposed-2")
    office.weighs("r2", **{"orders.rate_per_s": 105.0, "b.busy_share": 0.15})
    assert ["accepted", "approved"] == [kind for kind, _ in pick["decisions"](office.look())]


def test_an_approval_whose_leader_is_silent_is_refused_in_time(office: Any, pick: Any) -> None:
    """Nobody knows what the flow is like by now; and another instance waits for the word just the same."""
    office.running_on("a")
    office.proposal("b", epoch=2, grounds={"orders.rate_per_s": 100.0})
    office.wish("r1", "approve", hash="proposed-2")
    office.look()
    office.another_instance()
    assert [] == office.look()
    office.now_ms += 8_000
    (answer,) = pick["decisions"](office.look())
    assert ("refused", "the leader of shop has not said within 8 s what it rests on by now") == answer


def test_an_old_wish_is_refused_when_an_instance_begins_and_looked_at_no_more(office: Any, pick: Any) -> None:
    """Ten times a second all wishes of a week were sorted."""
    office.wish("r1", "approve", hash="h")
    office.now_ms += 3_600_000
    assert [("refused", "it was asked too long ago; ask again")] == pick["decisions"](office.look())
    office.now_ms -= 3_600_000
    office.wish("r0", "approve", hash="h")
    office.now_ms += 3_600_000
    assert [] == office.look()
