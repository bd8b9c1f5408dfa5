"""Task reuse (Ants 3.10): who may tap whom, what it costs, who has to agree, and that nothing stops while tapped."""

import math
from dataclasses import replace
from random import Random

import pytest

from placement.ants.effects import Home, Lost, Send
from placement.ants.enforcement import EnforcementAnt, Pass, Stop
from placement.ants.host_view import HostView
from placement.ants.letters import Letter
from placement.ants.measuring import MeasuringAnt, RunningStop, TapHere
from placement.ants.order import Offer, Order, ScoutReport, Serving
from placement.ants.params import IMPROVED, PAPER, AntParams
from placement.ants.scouting import scout
from placement.ants.surroundings import Digest
from placement.cell import Cell
from placement.cell_ledger import Booking, State
from placement.evaluator_pricing import price_on_host
from placement.model import Edge, Flow, Sink, Source, Task, chain
from placement.queueing import IDLE, Load
from placement.subqueries import next_subquery

TASKS = tuple(Task(name, 10.0, cs2=0.0, identity=f"id-{name}") for name in "abc")
FLOW = chain("f", Source("in", "s", 0.01, message_bytes=1000.0), TASKS, Sink("out", "d"))
ORDER = Order(FLOW, 1, 0, (0, 1, 2), "s", "d", (1.0,) * 4, ((), (), ()), seniority=5)
OLDER = Serving("id-b", 1, Offer("old", "b", "m", "h", 15.0))
LOAD = Load(0.01, 0.1, 1.0, 0.01, 0.0001, 1.0)


def row(*hosts: str, params: AntParams = IMPROVED, age_ms: float | None = 15.0) -> dict[str, Cell]:
    """Cells in a row, 5 ms apart."""
    cells = {}
    for k, host in enumerate(hosts):
        links = dict.fromkeys((*hosts[max(0, k - 1) : k], *hosts[k + 1 : k + 2]), 5.0)
        cells[host] = Cell(
            host, 1.0, links, params, delay=lambda a, b: 5.0, direct=False, age=lambda flow, task: age_ms
        )
    return cells


def serve(cell: Cell, serving: Serving, state: State = State.ACTIVE) -> None:
    """Let a task of another flow run at a cell's host."""
    offer = serving.offer
    booking = Booking(offer.flow, 1, 0b1, LOAD, state, 1e9, offer.home, (serving,))
    assert cell.ledger.reserve(booking) is None
    if state is State.ACTIVE:
        assert cell.ledger.activate(offer.flow, 1)


def walk(cells: dict[str, Cell], order: Order = ORDER, params: AntParams = IMPROVED) -> ScoutReport:
    """Let one scout walk along the row; what it reports."""
    from placement.ants import scouting

    at, ant = "s", scout(order, "s", params.scouting, rng=Random(1))
    for _ in range(20):
        (effect,) = scouting.step(ant, cells[at], params.scouting, now_ms=0.0, rng=Random(1))
        if isinstance(effect, Home):
            return effect.news
        assert isinstance(effect, Send), effect
        if isinstance(effect.message, Letter):
            return effect.message.news
        at, ant = effect.to, effect.message
    raise AssertionError("the scout never came home")


# Scouts.


def test_a_scout_taps_an_equal_task_and_pays_its_age_and_what_comes_after_alone() -> None:
    """Reuse adds load only downstream of the tap; what it costs the flow is how old messages are when they leave it."""
    cells = row("s", "m", "d")
    serve(cells["m"], OLDER)
    report = walk(cells)
    assert report.tap is not None
    assert ("old", "b", "m") == (report.tap.flow, report.tap.task, report.tap.host)
    assert report.covered == 2
    rest = price_on_host(FLOW.graph, 0b100, 1.0, IDLE)
    assert report.cost_ms == pytest.approx(15.0 + 5.0 + rest.own_ms)
    assert {"d"} == {host for host, _ in report.prices}


def test_a_scout_taps_beside_its_trail_and_pays_the_way_from_there() -> None:
    """Hosts tell their surroundings what runs there: the best place for a task often lies beside the trail."""
    cells = row("s", "m", "d")
    serving = replace(OLDER, offer=replace(OLDER.offer, host="q", age_ms=2.0))
    cells["m"].links_ms["q"] = 1.0
    cells["m"].hear(Digest(HostView("q", 1.0, IDLE), 1, "q", 0.0, 0, (serving,)), now_ms=0.0, rng=Random(1))
    report = walk(cells)
    assert ("q", 2) == (report.tap.host, report.covered)
    rest = price_on_host(FLOW.graph, 0b100, 1.0, IDLE)
    assert report.cost_ms == pytest.approx(2.0 + 1.0 + 5.0 + rest.own_ms)


def test_a_host_tells_when_something_else_may_be_tapped_there() -> None:
    """Activation changes no load, but what others may find."""
    (cell,) = row("m").values()
    cell.links_ms["n"] = 5.0
    serve(cell, OLDER, State.RESERVED)
    cell.tell(always=True)
    assert cell.tell() == []
    cell.ledger.activate("old", 1)
    (told,) = cell.tell()
    assert ["b"] == [task.offer.task for task in told.message.serves]


def test_a_scout_does_not_tap_what_comes_too_late() -> None:
    """Latency is what counts: an old result is worth less than an own task nearby."""
    cells = row("s", "m", "d", age_ms=500.0)
    serve(cells["m"], OLDER)
    assert walk(cells).tap is None


def test_the_paper_s_scout_reuses_whatever_it_costs() -> None:
    """Ants 3.10, literally."""
    literal = replace(PAPER, scouting=replace(PAPER.scouting, shift=False))
    cells = row("s", "m", "d", params=literal, age_ms=500.0)
    serve(cells["m"], OLDER)
    assert walk(cells, params=literal).tap is not None


@pytest.mark.parametrize(
    ("serving", "why"),
    [
        (replace(OLDER, seniority=9), "a younger flow serves nobody older: no circles"),
        (replace(OLDER, seniority=5, offer=replace(OLDER.offer, flow="g")), "of equals the first by name is older"),
        (replace(OLDER, identity="id-x"), "another result"),
        (replace(OLDER, offer=replace(OLDER.offer, flow="gone")), "a flow that has said no"),
    ],
)
def test_a_scout_taps_only_an_equal_task_of_an_older_flow_that_will_serve(serving: Serving, why: str) -> None:
    """Each exception would make a wrong result or a circle."""
    cells = row("s", "m", "d")
    serve(cells["m"], serving)
    assert walk(cells, replace(ORDER, avoided=("gone",))).tap is None, why


@pytest.mark.parametrize(("age_ms", "taps"), [(math.inf, False), (16.0, True), (99.0, False)])
def test_a_scout_knows_better_than_an_old_digest_what_its_leader_told_it(age_ms: float, taps: bool) -> None:
    """A host that was cut off tells of a task that has gone; without this every search ends at the same refusal."""
    cells = row("s", "m", "n", "d")
    serve(cells["m"], OLDER)
    corrected = replace(OLDER.offer, age_ms=age_ms)
    report = walk(cells, replace(ORDER, stale=(corrected,)))
    assert (corrected if taps else None) == report.tap


def test_a_task_that_is_only_reserved_or_whose_age_nobody_measures_is_not_tapped() -> None:
    """It may never run."""
    reserved, unmeasured = row("s", "m", "d"), row("s", "m", "d", age_ms=None)
    serve(reserved["m"], OLDER, State.RESERVED)
    serve(unmeasured["m"], OLDER)
    assert walk(reserved).tap is None
    assert walk(unmeasured).tap is None


def test_a_task_that_others_tap_is_not_given_up_for_a_tap() -> None:
    """Tapping b would stop a, which somebody taps; tapping a as well."""
    assert [(0, "id-a"), (1, "id-b"), (2, "id-c")] == list(ORDER.tappable)
    assert [] == list(replace(ORDER, kept=(0,)).tappable)
    assert [(0, "id-a")] == list(replace(ORDER, kept=(1,)).tappable)


def diamondless_fan(out: bool) -> Flow:
    """Fan-in: a -> j, b -> j, j -> z. Fan-out: the same, reversed."""
    names = "abjz" if not out else "zjab"
    tasks = tuple(Task(name, 10.0, identity=f"id-{name}") for name in names)
    if out:
        edges = (("in", "z"), ("z", "j"), ("j", "a"), ("a", "out"), ("j", "b"), ("b", "out2"))
        return Flow("f", (Source("in", "s", 0.01),), tasks, (Sink("out", "d"), Sink("out2", "d2")), _edges(edges))
    edges = (("in", "a"), ("a", "j"), ("in2", "b"), ("b", "j"), ("j", "z"), ("z", "out"))
    return Flow("f", (Source("in", "s", 0.01), Source("in2", "s2", 0.01)), tasks, (Sink("out", "d"),), _edges(edges))


def _edges(pairs: tuple[tuple[str, str], ...]) -> tuple[Edge, ...]:
    return tuple(Edge(*pair) for pair in pairs)


def test_fan_in_a_tapped_join_needs_no_branch() -> None:
    """Everything that only feeds the tapped join runs nowhere, so no ants look for a place for it."""
    graph = diamondless_fan(out=False).graph
    index = graph.task_index
    assert next_subquery(graph, {index["a"], index["j"], index["z"]}).tasks == (index["b"],)
    assert next_subquery(graph, {index["z"]}, frozenset({index["j"]})) is None


def test_fan_in_a_tap_is_ranked_without_the_branches_that_it_also_serves() -> None:
    """A rival way has not paid for the other producer's branch yet; the whole cost still counts every path."""
    flow = diamondless_fan(out=False)
    index = flow.graph.task_index
    order = Order(
        flow, 1, 0, (index["a"], index["j"], index["z"]), "s", "d", (0.5, 0.5, 1.0, 1.0), ((), (), ()), seniority=5
    )
    cells = row("s", "m", "d")
    serve(cells["m"], Serving("id-j", 1, replace(OLDER.offer, task="j")))
    report = walk(cells, order)
    assert report.covered == 2
    assert report.cost_ms - report.score_ms == pytest.approx(0.5 * 15.0)


def test_fan_out_a_branch_may_be_tapped_but_not_with_the_trunk_that_the_other_needs() -> None:
    """z and j feed both branches: a tap of a alone would leave them running, and a tap in the first chain can't."""
    flow = diamondless_fan(out=True)
    graph, index = flow.graph, flow.graph.task_index
    first = next_subquery(graph, ())
    order = Order(flow, 1, 0, first.tasks, "s", "d", first.shares, ((),) * len(first.tasks))
    assert {"id-z", "id-j"} == {identity for _, identity in order.tappable}
    branch = next_subquery(graph, first.tasks)
    second = Order(
        flow, 1, 1, branch.tasks, "m", "d2", branch.shares, ((),), settled=(("m", sum(1 << t for t in first.tasks)),)
    )
    assert {flow.tasks[index["b"]].identity} == {identity for _, identity in second.tappable}


# Enforcement and measuring.


def enforcer(tap: Offer) -> EnforcementAnt:
    return EnforcementAnt(FLOW, 2, "s", (Stop("m", 0, 99.0, (tap,)), Stop("n", 0b100, 99.0)), 50.0)


def test_an_enforcement_ant_checks_what_it_taps_and_reserves_no_room_for_it() -> None:
    """Ants 3.10: enforcement ants check for reusable tasks on each host."""
    cells = row("m", "n")
    serve(cells["m"], OLDER)
    before = cells["m"].ledger.load()
    onward, *_ = cells["m"].hear(enforcer(Offer("old", "b", "m", "h", 15.0)), now_ms=0.0, rng=Random(1))
    assert ("n", Pass.RESERVE) == (onward.to, onward.message.phase)
    assert before == cells["m"].ledger.load()
    back = replace(onward.message, at=0, phase=Pass.COMMIT)
    home, *_ = cells["m"].hear(back, now_ms=1.0, rng=Random(1))
    assert home.message.news.committed


@pytest.mark.parametrize(
    ("offer", "why", "age_ms"),
    [
        (Offer("old", "x", "m", "h", 15.0), "runs here no more", math.inf),
        (Offer("old", "b", "m", "h", 10.0), "gives messages of 15.00 ms now", 15.0),
    ],
)
def test_an_enforcement_ant_turns_back_where_a_tap_has_gone_or_grown_old(offer: Offer, why: str, age_ms: float) -> None:
    """Exactly as approved, or not at all; and it tells how things are, so that scouts do not report the same again."""
    cells = row("m", "n")
    serve(cells["m"], OLDER)
    home, *_ = cells["m"].hear(enforcer(offer), now_ms=0.0, rng=Random(1))
    assert not home.message.news.committed
    assert why in home.message.news.why
    assert replace(offer, age_ms=age_ms) == home.message.news.stale


def test_a_measuring_ant_adds_the_age_of_what_is_tapped_and_is_lost_where_it_is_gone() -> None:
    """The leader compares like with like; a tap that vanished is no cost of 0."""
    cells = row("m", "n")
    serve(cells["m"], OLDER)
    stop = RunningStop("m", 0, (), (TapHere("old", "b", 0.5),))
    ant = MeasuringAnt(FLOW, 1, "m", (stop,), social=True)
    *_, home = cells["m"].hear(ant, now_ms=0.0, rng=Random(1))
    assert home.news.own_ms == pytest.approx(7.5)
    gone = replace(ant, stops=(replace(stop, taps=(TapHere("old", "x", 0.5),)),))
    *_, lost = cells["m"].hear(gone, now_ms=0.0, rng=Random(1))
    assert isinstance(lost, Lost)
