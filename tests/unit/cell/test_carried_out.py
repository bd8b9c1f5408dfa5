"""Whether a plan was carried out: the registry knows, and the leader, the cells and people hear of it."""

from typing import Any

import msgspec
import pytest

from placement.ants.enforcement import Release
from placement.ants.params import IMPROVED
from placement.cell import Cell
from placement.cell_ledger import Booking, State
from placement.leader_events import NotCarriedOut
from placement.leader_phases import Phase
from placement.queueing import Load
from services.host.cell.bookings import book, ended_here, is_missing
from services.host.cell.carried_out import UNAPPROVED_MS, UNBEGUN_MS, compared
from services.registry.told_latency import told_latency
from services.registry.view import RegistryView
from tests.unit.cell.ground import BUDGET, COUNTED, Ground, in_vain, placed, play
from tests.unit.registry_messages import committed_plan, move_record
from topics.messages import Policy

PLAN = committed_plan("talk", {"s": "c", "t": "c"}, epoch=5, hash="new", decided_ms=1_000)


def registry(hosts: dict[tuple[str, int], str | None], *moves: dict[str, Any]) -> RegistryView:
    """Partitions on these hosts, and moves of the plan."""
    view = RegistryView()
    for (segment, partition), host in hosts.items():
        view.take(placed(segment, partition, host))
    for number, about in enumerate(moves):
        rest = {"segment": "s", "target": "c", "plan": "new", "phase": "abandoned", "trouble": BUDGET, "since_ms": 2}
        view.take(move_record("talk", move=f"m{number}", **rest | about))
    return view


def looked(view: RegistryView, policy: str = "auto", *, age_ms: int = 5_000) -> NotCarriedOut | None:
    return compared(view, PLAN, policy, live={"b", "c", "d"}, now_ms=PLAN.decided_ms + age_ms)


def test_moves_that_have_all_ended_elsewhere_tell_where_it_runs_and_why() -> None:
    """At once: the placement service does not try them again."""
    view = registry({("s", 0): "b", ("s", 1): "b", ("t", 0): "c"}, {"partition": 0}, {"partition": 1, "since_ms": 3})
    assert NotCarriedOut(5, (("s", "b"),), f"s/1 to c: {BUDGET}") == looked(view)


@pytest.mark.parametrize(
    ("hosts", "moves"),
    [
        ({("s", 0): "c", ("t", 0): "c"}, []),
        ({("s", 0): "b", ("t", 0): "c"}, [{"phase": "warming"}]),
        ({("s", 0): "b", ("t", 0): "c"}, [{}, {"segment": "t", "phase": "returning"}]),
        ({("s", 0): "b", ("t", 0): "c"}, []),
        ({("s", 0): "b", ("t", 0): "c"}, [{"plan": "old"}]),
        ({("s", 0): "b", ("s", 1): "c", ("s", 2): "c", ("t", 0): "c"}, [{}]),
        ({("s", 0): "b"}, [{}]),
        ({("s", 0): "b", ("t", 0): None}, [{}]),
        ({("s", 0): "dead", ("t", 0): "c"}, [{}]),
    ],
    ids=[
        "it runs as planned",
        "a move is under way",
        "another move is under way",
        "nobody has begun yet",
        "only moves of the plan before have ended",
        "most partitions have arrived",
        "not all of it runs",
        "nobody owns a partition",
        "a host is gone",
    ],
)
def test_what_runs_as_planned_or_may_still_come_to_is_not_told(hosts: dict, moves: list[dict[str, Any]]) -> None:
    """A leader that was told too early would take back what is about to happen."""
    assert looked(registry(hosts, *moves)) is None


def test_partitions_of_another_revision_are_not_compared() -> None:
    """Its segments may have the same names, and are about to be replaced."""
    view = registry({("s", 0): "b", ("t", 0): "c"}, {})
    view.take(placed("t", 0, "c", revision=2))
    assert looked(view) is None


@pytest.mark.parametrize(
    ("policy", "patience_ms", "why"),
    [
        ("auto", UNBEGUN_MS, "nothing of it was begun"),
        ("approve", UNAPPROVED_MS, "nobody approved it in time"),
        ("freeze", UNAPPROVED_MS, "nobody approved it in time"),
    ],
)
def test_a_plan_that_waits_for_a_person_is_no_failure_while_it_can_be_approved(
    policy: str, patience_ms: int, why: str
) -> None:
    """After that nothing can come of it any more, and its room is kept for nobody."""
    view = registry({("s", 0): "b", ("t", 0): "b"})
    assert looked(view, policy, age_ms=patience_ms - 1) is None
    assert NotCarriedOut(5, (("s", "b"), ("t", "b")), why) == looked(view, policy, age_ms=patience_ms)


@pytest.mark.parametrize("running", [None, 2])
def test_a_first_plan_that_can_no_longer_be_approved_is_told_as_well(running: int | None) -> None:
    """Of a new flow, or of a revision while another one runs: nobody could ever start it, and its leader would wait."""
    view = RegistryView()
    if running is not None:
        view.take(placed("s", 0, "b", revision=running))
    view.take(placed("t", 0, None))
    assert looked(view, "approve", age_ms=UNAPPROVED_MS - 1) is None
    assert NotCarriedOut(5, (), "nobody approved it in time") == looked(view, "approve", age_ms=UNAPPROVED_MS)
    assert looked(view, "auto", age_ms=UNAPPROVED_MS) is None, "the placement service is about to start it"


WISH = {"phase": "done", "origin": "c", "target": "d", "request": "r", "reason": "ada asked for it", "trouble": None}


def test_what_a_person_has_moved_is_told_as_such() -> None:
    """A leader must not take it back within a minute."""
    news = looked(registry({("s", 0): "d", ("t", 0): "c"}, WISH))
    assert NotCarriedOut(5, (("s", "d"),), "s/0 to d: ada asked for it", by_person=True) == news


def test_who_moves_half_of_a_segment_wants_it_on_both_hosts() -> None:
    """A leader that took it for gone would gather it again after an hour."""
    hosts: dict[tuple[str, int], str | None] = {("s", 0): "d", ("s", 1): "c", ("t", 0): "c"}
    assert looked(registry(hosts, WISH)) is None
    news = looked(registry(hosts | {("t", 0): "b"}, WISH, {"segment": "t"}))
    assert NotCarriedOut(5, (("t", "b"),), f"t/0 to c: {BUDGET}") == news, "nobody has moved t"


def test_a_segment_that_is_torn_apart_away_from_its_plan_counts_as_where_most_of_it_is() -> None:
    """A leader knows one host for each segment."""
    hosts: dict[tuple[str, int], str | None] = {("s", 0): "b", ("s", 1): "d", ("s", 2): "d", ("t", 0): "c"}
    news = looked(registry(hosts, *({"partition": number} for number in range(3))))
    assert news is not None
    assert (("s", "d"),) == news.where


@pytest.mark.parametrize(("stayed", "arrived"), [(7, 1), (1, 1), (2, 2)])
def test_a_segment_has_not_arrived_while_half_of_its_partitions_or_fewer_have(stayed: int, arrived: int) -> None:
    """The pause budget may let one of many go: the flow would be priced, measured and booked where hardly any of it
    runs."""
    numbers = range(stayed + arrived)
    hosts: dict[tuple[str, int], str | None] = {("s", number): "b" if number < stayed else "c" for number in numbers}
    news = looked(registry(hosts | {("t", 0): "c"}, *({"partition": number} for number in range(stayed))))
    assert NotCarriedOut(5, (("s", "b"),), f"s/0 to c: {BUDGET}") == news


def test_a_correction_of_a_torn_segment_is_not_corrected_again() -> None:
    """It says what runs as well as one host can say it; the other half is no news."""
    halves = registry({("s", 0): "b", ("s", 1): "c", ("t", 0): "c"}, {})
    for host in ("b", "c"):
        correction = msgspec.structs.replace(PLAN, hosts={"s": host, "t": "c"}, corrects="older")
        late_ms = PLAN.decided_ms + UNAPPROVED_MS
        assert compared(halves, correction, "auto", live={"b", "c"}, now_ms=late_ms) is None
    moved = registry({("s", 0): "b", ("s", 1): "b", ("t", 0): "c"})
    correction = msgspec.structs.replace(PLAN, corrects="older")
    news = compared(moved, correction, "auto", live={"b", "c"}, now_ms=PLAN.decided_ms + UNBEGUN_MS)
    assert news is not None
    assert (("s", "b"),) == news.where


def test_what_ran_as_planned_and_was_placed_elsewhere_since_is_told_as_that() -> None:
    """A host that is drained or lost: not that nothing was begun."""
    view = registry({("t", 0): "c"})
    for partition in range(2):
        view.take(placed("s", partition, "b", plan=PLAN.hash))
    news = looked(view, age_ms=UNBEGUN_MS)
    assert NotCarriedOut(5, (("s", "b"),), "it was placed anew since") == news


def test_a_leader_learns_where_its_flow_runs_and_publishes_that() -> None:
    """Once, as a plan that moves nothing, with what is known of the place; history and explain tell it."""

    async def story(ground: Ground) -> None:
        wanted = in_vain(ground)
        await ground.arrange()
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        assert ({0: "b"}, COUNTED + 1, Phase.RESTING) == (leader.running, leader.epoch, leader.phase)
        (plan,) = ground.plans()
        assert ({"b"}, wanted.hash, COUNTED + 1, 7, ()) == (
            set(plan.hosts.values()),
            plan.corrects,
            plan.epoch,
            plan.term,
            plan.moves,
        )
        assert (40.0, 30.0) == (plan.cost_ms, plan.latency_ms)
        (kept,) = ground.told("kept")
        assert f"plan {wanted.hash} was not carried out" in kept.why
        assert BUDGET in kept.why
        assert (40.0, 20.0) == (kept.evidence["now_cost_ms"], kept.evidence["best_cost_ms"])
        told = told_latency(kept)
        assert told is not None
        assert 30.0 == told.latency_ms
        ground.view.take(plan)
        await ground.arrange()
        assert [plan] == ground.plans(), "it runs as planned now"

    play(story)


def test_a_leader_that_takes_over_a_plan_that_was_not_carried_out_learns_it_too() -> None:
    """Its predecessor may have died before it was told."""

    async def story(ground: Ground) -> None:
        wanted = in_vain(ground)
        ground.view.plans["talk"] = msgspec.structs.replace(wanted, term=1)
        await ground.arrange()
        (own,) = ground.plans()
        assert ({"c"}, 7, None) == (set(own.hosts.values()), own.term, own.corrects)
        assert {0: "c"} == ground.body.leaders["talk"].running, "its own word has yet to be read"
        ground.view.take(own)
        await ground.arrange()
        assert {0: "b"} == ground.body.leaders["talk"].running
        assert wanted.hash == ground.plans()[-1].corrects

    play(story)


def test_a_leader_is_not_told_while_its_moves_are_under_way_or_wait_for_a_person() -> None:
    """The policy may stand in the flow's file, or a person has laid it down."""

    async def story(ground: Ground) -> None:
        wanted = in_vain(ground, phase="warming")
        ground.view.take(msgspec.structs.replace(wanted, decided_ms=10**6 - 1_000))
        await ground.arrange()
        ground.view.moves.clear()
        ground.view.take(Policy(subject="flow", name="talk", policy="approve", changed_ms=0))
        await ground.arrange()
        assert ({0: "c"}, []) == (ground.body.leaders["talk"].running, ground.plans())

    play(story)


def test_a_leader_whose_first_plan_nobody_approved_looks_for_a_place_anew() -> None:
    """The wish to do so waits for its turn, once."""

    async def story(ground: Ground) -> None:
        ground.run("b", term=7)
        ground.view.take(Policy(subject="flow", name="talk", policy="approve", changed_ms=0))
        ground.is_lagging = True
        for _ in range(3):
            await ground.arrange()
        assert Phase.RESTING is ground.body.leaders["talk"].phase
        ground.is_lagging = False
        await ground.arrange()
        assert (Phase.SEARCHING, None) == (ground.body.leaders["talk"].phase, ground.body.leaders["talk"].plan)
        assert [("b", Release("talk", COUNTED))] == [each for each in ground.sent if isinstance(each[1], Release)]

    play(story)


def test_cells_keep_room_where_the_flow_runs_and_nowhere_else() -> None:
    """They go by plans: what was booked in vain ends, and what stayed is booked."""

    async def story(ground: Ground) -> None:
        in_vain(ground)
        await ground.arrange()
        await ground.arrange()
        (plan,) = ground.plans()
        cells = {host: Cell(host, 1.0, {}, IMPROVED, delay=lambda a, b: 1.0, direct=True) for host in "bc"}
        cells["c"].ledger.restore(Booking("talk", 4, 1, Load(rho=0.1), State.ACTIVE, 0.0))
        flows, plans = ground.view.flows, {"talk": plan}
        assert [Release("talk", plan.epoch)] == ended_here(cells["c"], flows, plans)
        assert (True, False) == (is_missing(cells["b"], plan), is_missing(cells["c"], plan))
        book(cells["b"], plan, ground.body.leaders["talk"].flow)
        assert cells["b"].ledger.runs("talk", since_epoch=plan.epoch)
        assert [] == ended_here(cells["b"], flows, plans)

    play(story)
