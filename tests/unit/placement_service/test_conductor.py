"""What the active instance decides: plans, moves, lost hosts, policies and wishes, look by look."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from services.placement.conductor import Conductor
from tests.unit.registry_messages import move_record
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
    office.conductor = Conductor(office.params, office.view)
    assert [] == office.look()
    office.now_ms += 8_000
    (answer,) = pick["decisions"](office.look())
    assert ("refused", "the leader of shop has not said within 8 s what it rests on by now") == answer


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


def test_what_leaves_a_drained_host_is_spread(office: Any) -> None:
    """All moves are proposed at one look: who is on the way to a host counts, or one host would get everything."""
    office.partitions = 6
    office.running_on("a")
    office.rule("host", "a", "drained")
    office.look()
    assert {"b": 3, "c": 3} == Counter(each.target for each in office.view.moves.values())


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


def test_an_old_wish_is_refused_when_an_instance_begins_and_looked_at_no_more(office: Any, pick: Any) -> None:
    """Ten times a second all wishes of a week were sorted."""
    office.wish("r1", "approve", hash="h")
    office.now_ms += 3_600_000
    assert [("refused", "it was asked too long ago; ask again")] == pick["decisions"](office.look())
    office.now_ms -= 3_600_000
    office.wish("r0", "approve", hash="h")
    office.now_ms += 3_600_000
    assert [] == office.look()


def test_a_withdrawn_flow_runs_nowhere(office: Any) -> None:
    """Whoever wrote that it is withdrawn; its epochs go on."""
    office.running_on("a")
    office.state = "withdrawn"
    office.look()
    assert [(None, 2), (None, 2)] == office.owners()
    assert [] == office.look()


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
        office.conductor = Conductor(office.params, office.view)
    office.now_ms += 1_040
    office.drained("a", 0, 1)
    office.says("b", 0, 2)
    office.drained("a", 0, 1)
    office.look()
    (done,) = office.view.moves.values()
    assert ("done", 10.0) == (done.phase, done.actual_pause_ms)
    slow = msgspec.structs.replace(done, actual_pause_ms=1_050.0)
    office.view.take(slow)
    office.conductor = Conductor(office.params, office.view)
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
    office.conductor = Conductor(office.params, office.view)
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
    office.conductor = Conductor(office.params, office.view)
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
    office.conductor = Conductor(office.params, office.view)
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


def test_a_plan_with_a_thousand_inputs_can_be_told(office: Any) -> None:
    """Where each came from is more than a decision holds: no instance could write it, and all ended."""
    office.plan("a", basis={f"a-source-with-a-long-name-{number}.rate_per_ms": "measured" for number in range(2_000)})
    (told,) = (each for each in office.look() if isinstance(each, Decision))
    assert catalogue.DECISIONS.codec.encode(told, topic=catalogue.DECISIONS.name)
