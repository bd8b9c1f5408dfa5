"""Task reuse (Ants 3.10): who may tap whom, what it costs, who has to agree, and that nothing stops while tapped."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from placement.ants.effects import Home, Lost, Send
from placement.ants.enforcement import Activation, Cancellation, Enforced, EnforcementAnt, Pass, Release, Stop
from placement.ants.host_view import HostView
from placement.ants.letters import Letter
from placement.ants.measuring import MeasuringAnt, RunningStop, TapHere
from placement.ants.order import Offer, Order, ScoutReport, Serving
from placement.ants.params import IMPROVED, PAPER, AntParams
from placement.ants.routing import RoutingAntReturned
from placement.ants.scouting import ScoutingAnt, scout
from placement.ants.surroundings import Digest
from placement.cell import Cell
from placement.cell_ledger import Booking, State
from placement.evaluator_pricing import price_on_host
from placement.leader import Leader
from placement.leader_attempt import Reason
from placement.leader_events import (
    HostLost,
    Lingers,
    Place,
    Published,
    ServedFrom,
    ServingEnds,
    TapAnswered,
    TapAsked,
    TimerFired,
    Withdraw,
    Withdrawn,
)
from placement.leader_params import IMPROVED_LEADER
from placement.leader_params import Release as AntRelease
from placement.leader_phases import Phase
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
    ("offer", "why"),
    [
        (Offer("old", "x", "m", "h", 15.0), "runs here no more"),
        (Offer("old", "b", "m", "h", 10.0), "gives messages of 15.00 ms now"),
    ],
)
def test_an_enforcement_ant_turns_back_where_a_tap_has_gone_or_grown_old(offer: Offer, why: str) -> None:
    """Exactly as approved, or not at all."""
    cells = row("m", "n")
    serve(cells["m"], OLDER)
    home, *_ = cells["m"].hear(enforcer(offer), now_ms=0.0, rng=Random(1))
    assert not home.message.news.committed
    assert why in home.message.news.why


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


# Leaders.

PARAMS = replace(
    IMPROVED_LEADER,
    placing=AntRelease(routing_ants=1, enough_routing_ants=1, scouts=1, enough_reports=1),
    watching=AntRelease(routing_ants=1, enough_routing_ants=1, scouts=1, enough_reports=1),
    budget_share=None,
)
OFFER = Offer("old", "b", "m", "h", 15.0)


class Stage:
    """A leader with what it last asked for."""

    def __init__(self, flow: Flow = FLOW) -> None:
        self.leader = Leader(flow, PARAMS, IMPROVED, fastest_capacity=1.0, seniority=5)
        self.effects: list[Any] = []

    def tell(self, event: Any) -> list[Any]:
        self.effects = self.leader.step(event, now_ms=0.0, rng=Random(1))
        return self.effects

    def letters(self, kind: type) -> list[tuple[str, str, Any]]:
        """(to, flow, news) of that kind."""
        messages = [(e.to, e.message) for e in self.effects if isinstance(e, Send) and isinstance(e.message, Letter)]
        return [(to, letter.flow, letter.news) for to, letter in messages if isinstance(letter.news, kind)]

    def found(self, kind: type) -> list[Any]:
        return [e for e in self.effects if isinstance(e, kind)]

    def look(self, *hosts: str, tap: Offer | None = None, covered: int = 0, cost_ms: float = 50.0) -> None:
        """Ants return and a scout reports."""
        number = self.leader._round
        self.tell(RoutingAntReturned(number, "d", 40.0, 30.0, 100.0))
        prices = tuple((host, 8.0) for host in dict.fromkeys(hosts[covered:]))
        self.tell(
            ScoutReport("f", number, 0, hosts, cost_ms, cost_ms, cost_ms, prices, 5, 500.0, tap=tap, covered=covered)
        )

    def running(self, *hosts: str) -> "Stage":
        self.tell(Place())
        self.look(*hosts)
        self.tell(Enforced(self.leader.epoch, committed=True))
        return self

    def tapping(self) -> "Stage":
        self.tell(Place())
        self.look("m", "m", "y", tap=OFFER, covered=2)
        self.tell(TapAnswered(1, "old", "b"))
        self.tell(Enforced(1, committed=True))
        return self


def test_a_plan_with_a_tap_waits_for_the_consent_of_the_leader_that_serves() -> None:
    """Nothing may be published that taps what may stop the next moment, in whichever order the answers come."""
    stage = Stage()
    stage.tell(Place())
    stage.look("m", "m", "y", tap=OFFER, covered=2)
    assert [("h", "old", TapAsked("f", 1, "s", "b"))] == stage.letters(TapAsked)
    (ant,) = [e.message for e in stage.effects if isinstance(e, Send) and isinstance(e.message, EnforcementAnt)]
    assert {"m": 0, "y": 0b100} == {stop.host: stop.mask for stop in ant.stops}
    assert stage.tell(Enforced(1, committed=True)) == []
    stage.tell(TapAnswered(1, "old", "b"))
    (published,) = stage.found(Published)
    assert (("f", "c", "y"),) == published.plan.placement.spots
    assert [("old", "b")] == [(tap.to_flow, tap.to_task) for tap in published.plan.placement.taps]
    assert ["y"] == [e.to for e in stage.effects if isinstance(e, Send) and isinstance(e.message, Activation)]


def test_a_refused_tap_sends_fresh_scouts_that_avoid_that_flow() -> None:
    """Else they would report the same again."""
    stage = Stage()
    stage.tell(Place())
    stage.look("m", "m", "y", tap=OFFER, covered=2)
    stage.tell(TapAnswered(1, "old", "b", "the flow is ending"))
    assert [("h", "old", Cancellation("f", 1))] == stage.letters(Cancellation)
    stage.tell(RoutingAntReturned(stage.leader._round, "d", 40.0, 30.0, 100.0))
    (sent,) = [e.message for e in stage.effects if isinstance(e, Send) and isinstance(e.message, ScoutingAnt)]
    assert ("old",) == sent.order.avoided


def test_a_failed_enforcement_gives_the_tap_back() -> None:
    """A tap that nobody uses must not keep a flow alive."""
    stage = Stage()
    stage.tell(Place())
    stage.look("m", "m", "y", tap=OFFER, covered=2)
    stage.tell(TapAnswered(1, "old", "b"))
    stage.tell(Enforced(1, committed=False, why="no room"))
    assert [("h", "old", Cancellation("f", 1))] == stage.letters(Cancellation)


def test_a_flow_that_moves_away_from_its_tap_or_ends_releases_it() -> None:
    """Reference counts go down, too."""
    moved = Stage().tapping()
    moved.tell(ServingEnds("old"))
    moved.look("x", "x", "y")
    moved.tell(Enforced(2, committed=True))
    assert [("h", "old", Release("f", 1))] == moved.letters(Release)
    ended = Stage().tapping()
    ended.tell(Withdraw())
    assert [("h", "old", Release("f", 1))] == ended.letters(Release)
    assert ended.found(Withdrawn)


def test_a_flow_that_is_tapped_lingers_until_its_tappers_have_gone() -> None:
    """The serving task keeps running for its tappers; they are told, and the last one to go ends the flow."""
    stage = Stage().running("x", "x", "y")
    for by in ("g", "k"):
        stage.tell(TapAsked(by, 3, f"home-{by}", "b"))
        assert [(f"home-{by}", by, TapAnswered(3, "f", "b"))] == stage.letters(TapAnswered)
    stage.tell(Withdraw())
    assert [Lingers("f", ("g", "k"))] == stage.found(Lingers)
    assert [("home-g", "g", ServingEnds("f")), ("home-k", "k", ServingEnds("f"))] == stage.letters(ServingEnds)
    assert stage.tell(Release("g", 3)) == []
    stage.tell(Cancellation("k", 3))
    assert stage.found(Withdrawn)
    assert ["x", "y"] == [e.to for e in stage.effects if isinstance(e, Send)]


def test_a_lingering_flow_that_its_user_wants_again_goes_on() -> None:
    """It never stopped."""
    stage = Stage().running("x", "x", "y")
    stage.tell(TapAsked("g", 3, "home-g", "b"))
    stage.tell(Withdraw())
    stage.tell(Place())
    assert stage.leader.phase is Phase.RESTING
    assert stage.tell(Release("g", 3)) == []


def test_nobody_may_tap_what_does_not_run_or_is_about_to_stop() -> None:
    """Consent is given only for what the leader can keep running."""

    def refusal(stage: Stage, task: str) -> str:
        stage.tell(TapAsked("g", 1, "home-g", task))
        ((_, _, answered),) = stage.letters(TapAnswered)
        return answered.why_not

    assert "does not run" in refusal(Stage(), "b")
    assert "does not run" in refusal(Stage().running("x", "x", "y"), "nonsense")
    assert "does not run" in refusal(Stage().tapping(), "b")
    dying = Stage().running("x", "x", "y")
    dying.tell(HostLost("x"))
    assert "does not run" in refusal(dying, "b")
    stopping = Stage().running("x", "x", "y")
    stopping.tell(HostLost("y"))
    stopping.look("m", "m", "z", tap=OFFER, covered=2)
    assert "about to stop" in refusal(stopping, "b")
    lingering = Stage().running("x", "x", "y")
    lingering.tell(TapAsked("g", 1, "home-g", "b"))
    lingering.tell(Withdraw())
    assert "ending" in refusal(lingering, "b")


def test_a_task_that_was_tapped_while_its_leader_searched_keeps_running() -> None:
    """The scouts did not know; the leader does."""
    stage = Stage().running("x", "x", "y")
    stage.tell(HostLost("y"))
    stage.tell(TapAsked("g", 1, "home-g", "b"))
    stage.look("m", "m", "z", tap=OFFER, covered=2)
    assert stage.letters(TapAsked) == []
    assert stage.leader.phase is Phase.SEARCHING


def test_tappers_hear_where_the_task_runs_now() -> None:
    """A tap follows its task; the tapper's measurements must go to the right host."""
    serving = Stage().running("x", "x", "y")
    serving.tell(TapAsked("g", 3, "home-g", "b"))
    serving.tell(HostLost("x"))
    serving.look("w", "w", "y")
    serving.tell(Enforced(2, committed=True))
    assert [("home-g", "g", ServedFrom("f", "b", "w"))] == serving.letters(ServedFrom)
    tapper = Stage().tapping()
    tapper.tell(ServedFrom("old", "b", "w"))
    assert {1: "w", 2: "y"} == tapper.leader.standing.where


def test_a_flow_places_itself_anew_when_the_leader_that_serves_it_dies() -> None:
    """With its leader the flow that serves has ended."""
    stage = Stage().tapping()
    stage.tell(HostLost("h"))
    assert stage.leader.phase is Phase.SEARCHING
    stage.look("x", "x", "y")
    stage.tell(Enforced(2, committed=True))
    assert stage.leader.standing.taps == {}


def test_a_tapper_whose_leader_died_taps_no_more() -> None:
    """Its flow has ended with it: the count must not leak."""
    stage = Stage().running("x", "x", "y")
    stage.tell(TapAsked("g", 3, "home-g", "b"))
    stage.tell(Withdraw())
    stage.tell(HostLost("home-g"))
    assert stage.found(Withdrawn)


def test_a_flow_that_can_not_be_placed_again_tells_those_it_serves() -> None:
    """They may find another way while it can not."""
    stage = Stage().running("x", "x", "y")
    stage.tell(TapAsked("g", 3, "home-g", "b"))
    stage.tell(HostLost("x"))
    for _ in range(40):
        stage.tell(TimerFired("patience"))
        if stage.letters(ServingEnds):
            return
    raise AssertionError("the tapper was never told")


def test_a_leader_that_takes_over_a_plan_with_taps_places_the_flow_anew() -> None:
    """The registry names the task that serves, not where its leader lives; without that nothing can be released."""
    plan = Stage().tapping().leader.plan
    assert plan is not None
    heir = Leader(FLOW, PARAMS, IMPROVED, fastest_capacity=1.0, last_epoch=1, running=plan)
    heir.step(TimerFired("rest"), now_ms=0.0, rng=Random(1))
    assert heir.standing.why_look() is Reason.UNSERVED
    assert heir.phase is Phase.SEARCHING
