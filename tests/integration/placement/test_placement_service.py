"""The placement service with real hosts: plans are carried out, partitions move under load, and nothing is lost."""

import signal
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from confluent_kafka import Producer

from services.registry.snapshot import read_registry
from services.registry.write import write
from services.testing.commands import CommandError, run_command
from tests.integration.host_process.test_hosts_run_flows import COUNTS, clicks, expect_counts, wanted_results
from tests.integration.placement.conftest import now_ms
from topics import catalogue
from topics.catalogue import METRICS_HOSTS
from topics.messages import CommittedPlan

HOUR_MS = 3_600_000
LOST_AFTER_S = 5.0
"""Where a host is to be missed; elsewhere the patience is far longer than a busy machine stalls."""


def test_a_plan_is_carried_out_and_the_next_one_moves_the_flow_under_load(
    hosts: Any, service: Any, lead: Callable[[str], Any]
) -> None:
    """Every count follows the one before, on the way from one host to another and back."""
    hosts.start("a", "b")
    service.start("p1")
    leader = lead(COUNTS)
    first = leader.plan("a")
    leader.until_runs_on("a")
    assert {first.hash} == {each.plan for each in leader.placements().values()}
    records = clicks(6_000, seed=21)
    with leader.flow.feeding(records):
        leader.plan("b")
        leader.until_runs_on("b")
        leader.plan("a", "b")
        leader.until_runs_on("a", "b")
    expect_counts(records, leader.flow.until_results(wanted_results(records)))
    leader.flow.until(lambda: {"done"} == {move.phase for move in leader.moves()}, "all moves are done")
    moves = leader.moves()
    assert len(moves) >= len(leader.placements())
    for move in moves:
        assert move.predicted_pause_ms is not None
        assert move.actual_pause_ms is not None
    assert {"placed", "accepted", "moved"} <= {each.kind for each in leader.decisions()}


@pytest.mark.parametrize("victim", ["origin", "target", "active"])
@pytest.mark.parametrize("phase", ["warming", "draining"])
def test_whoever_is_killed_in_the_midst_of_a_move_it_ends_with_one_owner(
    hosts: Any, service: Any, lead: Callable[[str], Any], victim: str, phase: str
) -> None:
    """The flow runs on, wherever, and not a single count is lost or repeated."""
    hosts.start("a", "b", "c")
    service.start("p1", "p2", silent_s=15.0 if victim == "active" else LOST_AFTER_S)
    leader = lead(COUNTS)
    leader.plan("a")
    leader.until_runs_on("a")
    records = clicks(6_000, seed=22)
    with leader.flow.feeding(records):
        leader.plan("b")
        seen = ("proposed", "warming") if phase == "warming" else ("draining", "fencing", "catching_up")
        leader.flow.until(
            lambda: any(move.phase in (*seen, "releasing", "done") for move in leader.moves()), f"a move is {phase}"
        )
        if victim == "active":
            service.running[service.active()].kill()
        else:
            hosts.end("a" if victim == "origin" else "b", signal.SIGKILL)
    left = {"origin": {"b", "c"}, "target": {"a", "c"}, "active": {"b"}}[victim]
    leader.flow.until(lambda: _all_run(leader), "all partitions run")
    expect_counts(records, leader.flow.until_results(wanted_results(records)))
    leader.flow.until(  # a new active instance first has to read what the old one had left to do
        lambda: leader.owners() <= {hosts.name(short) for short in left}, f"no partition is elsewhere than on {left}"
    )
    leader.flow.until(
        lambda: {move.phase for move in leader.moves()} <= {"done", "rolled_back", "abandoned"}, "all moves have ended"
    )


def test_another_instance_takes_over_when_the_active_one_is_stopped_and_the_woken_one_changes_nothing(
    hosts: Any, service: Any, lead: Callable[[str], Any]
) -> None:
    """SIGSTOP is the worst: it wakes in the middle of whatever it was doing, and must not do it any more."""
    hosts.start("a", "b")
    service.start("p1", "p2")
    leader = lead(COUNTS)
    leader.plan("a")
    leader.until_runs_on("a")
    first = service.active()
    service.running[first].send_signal(signal.SIGSTOP)
    leader.plan("b")
    leader.until_runs_on("b")
    assert service.active() != first
    service.running[first].send_signal(signal.SIGCONT)
    leader.plan("a")
    leader.until_runs_on("a")
    epochs = {slot: each.epoch for slot, each in leader.placements().items()}
    assert {3} == set(epochs.values()), "each plan wrote each partition once"


def test_a_dead_hosts_partitions_run_elsewhere_within_seconds(
    hosts: Any, service: Any, lead: Callable[[str], Any]
) -> None:
    """Nobody plans anything: the service places anew what is lost, state and all."""
    hosts.start("a", "b")
    service.start("p1", silent_s=LOST_AFTER_S)
    leader = lead(COUNTS)
    leader.plan("a")
    leader.until_runs_on("a")
    records = clicks(4_000, seed=23)
    with leader.flow.feeding(records):
        hosts.end("a", signal.SIGKILL)
        leader.until_runs_on("b")
    expect_counts(records, leader.flow.until_results(wanted_results(records)))
    assert "failed_over" in {each.kind for each in leader.decisions()}


def test_policies_and_wishes_are_followed(hosts: Any, service: Any, lead: Callable[[str], Any]) -> None:
    """Approve waits for a yes to exactly this plan; freeze moves nothing; a person may still move and drain."""
    hosts.start("a", "b")
    service.start("p1")
    leader = lead(COUNTS.replace("delivery:", "moves: approve\ndelivery:"))
    plan = leader.plan("a")
    stale = leader.ask("approve", hash="0" * 16)
    leader.flow.until(lambda: leader.answers(stale), "it is answered")
    assert ["refused"] == [each.kind for each in leader.answers(stale)]
    assert f"the plan is {plan.hash} by now" in leader.answers(stale)[0].why
    assert not leader.placements()
    yes = leader.ask("approve", hash=plan.hash)
    leader.until_runs_on("a")
    assert "approved" in [each.kind for each in leader.answers(yes)]
    leader.lay_down("flow", leader.flow.name, "freeze")
    leader.plan("b")
    segment = leader.graph.segments[0].id
    wish = leader.ask("move", segment=segment, partitions=(0,), host=hosts.name("b"))
    leader.flow.until(
        lambda: leader.placements()[segment, 0].host == hosts.name("b") and leader.runs_on("a", "b"), "it has moved"
    )
    others = {each.host for slot, each in leader.placements().items() if slot != (segment, 0)}
    assert {hosts.name("a")} == others
    leader.flow.until(lambda: "moved" in [each.kind for each in leader.answers(wish)], "it is told")
    leader.lay_down("host", hosts.name("b"), "drained")
    leader.until_runs_on("a")
    refused = leader.ask("move", segment=segment, partitions=(0,), host=hosts.name("b"))
    leader.flow.until(lambda: leader.answers(refused), "it is answered")
    assert "drained" in leader.answers(refused)[0].why


def _all_run(leader: Any) -> bool:
    statuses, placements = leader.flow.statuses(), leader.placements()
    lives = {leader.hosts.name(short) for short, process in leader.hosts.running.items() if process.poll() is None}
    return all(
        each.host in lives
        and (told := statuses.get(slot)) is not None
        and (told.host, told.epoch, told.state) == (each.host, each.epoch, "running")
        and time.time_ns() // 1_000_000 - told.reported_ms < 5_000
        for slot, each in placements.items()
    )


def test_flows_move_between_hosts_whose_clocks_are_hours_apart_and_what_is_told_of_their_pauses_is_true(
    hosts: Any, service: Any, lead: Callable[[str], Any]
) -> None:
    """A target whose clock is late was never warm, and the skew of two clocks was told as the pause, or hid it."""
    hosts.start("late", program=("tests.integration.placement.wrong_clock", "-3600"))
    hosts.start("early", program=("tests.integration.placement.wrong_clock", "3600"))
    service.start("p1")
    leader = lead(COUNTS)
    leader.plan("early")
    leader.until_runs_on("early")
    records = clicks(6_000, seed=27)
    with leader.flow.feeding(records):
        leader.plan("late")
        leader.until_runs_on("late")
        leader.plan("early")
        leader.until_runs_on("early")
    expect_counts(records, leader.flow.until_results(wanted_results(records)))
    leader.flow.until(lambda: {"done"} == {move.phase for move in leader.moves()}, "all moves are done")
    pauses_ms = [move.actual_pause_ms for move in leader.moves()]
    assert all(pause_ms is not None and 0 < pause_ms < HOUR_MS / 2 for pause_ms in pauses_ms), pauses_ms


def test_a_leader_learns_that_a_move_was_not_made_and_where_its_flow_runs(
    hosts: Any, service: Any, lead: Callable[[str], Any], kafka: str
) -> None:
    """The flow allows no pause, so nothing moves. Who takes the plan for what runs, its leader first, must know."""
    hosts.start("a", "b")
    service.start("p1")
    stage = lead(COUNTS.replace("delivery:", "pause_budget: 1ms\ndelivery:"))
    stage.submit()
    stage.flow.until(lambda: len(stage.placements()) > 1 and _all_run(stage), "its own leader has placed it")
    elsewhere = {hosts.name("a"): hosts.name("b"), hosts.name("b"): hosts.name("a")}
    before = {slot: str(each.host) for slot, each in stage.placements().items()}
    planned = read_registry(kafka).plans[stage.flow.name]
    wanted = msgspec.structs.replace(
        planned,  # its leader goes on with it, as with any newer plan of its own term that it finds in the registry
        epoch=planned.epoch + 10,
        hash="0123456789abcdef",
        hosts={segment: elsewhere[host] for (segment, _), host in before.items()},
        decided_ms=now_ms(),
    )
    write(kafka, [(catalogue.PLANS, wanted)])
    found = stage.flow.until(lambda: _correction(stage, wanted.hash), "the leader says what runs instead")
    assert {segment: host for (segment, _), host in before.items()} == found.hosts
    assert (planned.leader, planned.term) == (found.leader, found.term)
    assert found.epoch > wanted.epoch
    stage.flow.until(lambda: {found.hash} == {each.plan for each in stage.placements().values()}, "it counts")
    assert before == {slot: each.host for slot, each in stage.placements().items()}
    assert {"abandoned"} == {move.phase for move in stage.moves()}
    stage.flow.until(lambda: any(wanted.hash in each.why for each in stage.decisions()), "history tells it")


def _correction(stage: Any, of: str) -> CommittedPlan | None:
    plan = read_registry(stage.flow.bootstrap).plans[stage.flow.name]
    return plan if plan.corrects == of else None


def test_garbage_among_the_reports_of_hosts_does_not_make_an_instance_deaf(
    hosts: Any, service: Any, lead: Callable[[str], Any], kafka: str
) -> None:
    """One record without a key ended the watch: no plan was carried out any more, and no lost host replaced."""
    hosts.start("a", "b")
    service.start("p1")
    leader = lead(COUNTS)
    leader.plan("a")
    leader.until_runs_on("a")
    producer = Producer({"bootstrap.servers": kafka})
    for key, value in ((None, None), (None, b"{}"), (b"a", b"\xff")):
        producer.produce(METRICS_HOSTS.name, key=key, value=value)
    assert 0 == producer.flush(30)
    leader.plan("b")
    leader.until_runs_on("b")


def test_commands_leave_to_the_active_instance_where_things_run(
    hosts: Any, service: Any, lead: Callable[[str], Any], kafka: str
) -> None:
    """Assign names the move that would do; a withdrawn flow is cleared by the instance, and by nobody else."""
    hosts.start("a", "b")
    service.start("p1")
    leader = lead(COUNTS)
    leader.plan("a")
    leader.until_runs_on("a")
    where = ("--segment", leader.graph.segments[0].id, "--host", hosts.name("b"))
    with pytest.raises(CommandError, match=r"p1 is active[\s\S]*stigmergy move"):
        run_command(kafka, "assign", leader.flow.name, *where)
    assert {hosts.name("a")} == leader.owners()
    before = {slot: each.epoch for slot, each in leader.placements().items()}
    run_command(kafka, "withdraw", leader.flow.name)
    leader.flow.until(lambda: not leader.placements(), "the instance has cleared it")
    after = read_registry(kafka).placements
    assert {slot: epoch + 1 for slot, epoch in before.items()} == {slot: after[slot].epoch for slot in before}
