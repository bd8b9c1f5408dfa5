"""Scouts: the paper's greedy rule and our carried programme, on small cells with known loads."""

import math
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest

from placement.ants import scouting
from placement.ants.effects import Home, Lost, Send
from placement.ants.host_view import HostView
from placement.ants.order import Anchor, Order, Spot
from placement.ants.params import IMPROVED, PAPER, AntParams
from placement.ants.pricing import NO_ROOM, Marginal
from placement.ants.programme import Candidate, Distances, extend, no_tasks_yet, reach_ms
from placement.ants.scouting import ScoutingParams, Stage, scout, step
from placement.ants.surroundings import Digest
from placement.ants.trail import Trail
from placement.cell import Cell
from placement.evaluator_pricing import price_on_host
from placement.model import Sink, Source, Task, chain
from placement.queueing import IDLE, Load
from placement.scent import _Smelled

FLOW = chain("f", Source("in", "s", 0.01), tuple(Task(name, 10.0, cs2=0.0) for name in "abc"), Sink("out", "d"))
ORDER = Order(FLOW, 1, 0, (0, 1, 2), "s", "d", (1.0,) * 4, ((), (), ()))
HALF = Load(rate_per_ms=0.05, rho=0.5, square=5.0, burst=0.05, rate_squares=0.0025)
FULL = Load(rate_per_ms=0.05, rho=0.97, square=18.0, burst=0.05, rate_squares=0.0025)


def cell(
    host: str,
    links_ms: dict[str, float],
    *,
    background: Load = IDLE,
    capacity: float = 1.0,
    params: AntParams = IMPROVED,
) -> Cell:
    return Cell(host, capacity, links_ms, params, delay=lambda a, b: math.nan, direct=False, background=background)


def walk(cells: list[Cell], params: ScoutingParams, order: Order = ORDER, seed: int = 1, trail: Trail | None = None):
    """Let one scout, at the end of its trail if it has one, walk along the cells in a row; what it ends with."""
    ant = scout(order, "s", params, rng=Random(seed))
    ant = ant if trail is None else replace(ant, trail=trail)
    ends = []
    for here in cells:
        (ends,) = [step(ant, here, params, now_ms=0.0, rng=Random(seed))]
        if ends and isinstance(ends[0], Send):
            ant = ends[0].message
    return ends[0]


def report_of(end):
    assert not isinstance(end, Lost), end.why
    return end.news if isinstance(end, Home) else end.message.news


def row(params: AntParams, *loads: Load, capacities: tuple[float, ...] = ()) -> list[Cell]:
    names = ["s", *(f"m{k}" for k in range(len(loads) - 2)), "d"]
    cells = []
    for k, load in enumerate(loads):
        links = {names[k + 1]: 5.0} if k == 0 else {names[k + 1]: 5.0} if k < len(loads) - 1 else {}
        links |= {names[k - 1]: 5.0} if k else {}
        cells.append(cell(names[k], links, background=load, capacity=(capacities or (1.0,) * 9)[k], params=params))
    return cells


@pytest.mark.parametrize(("params", "queued"), [(IMPROVED, False), (PAPER, True)])
def test_the_papers_scouts_wait_in_queues_and_ours_do_not(params: AntParams, queued: bool) -> None:
    """Ours have a topic of their own; the paper's travel as data does, and only the destination lets them pass."""
    start, middle, _ = row(params, Load(), Load(), Load())
    (out,) = step(scout(ORDER, "s", params.scouting, rng=Random(1)), start, params.scouting, now_ms=0.0, rng=Random(1))
    assert isinstance(out, Send)
    assert ("m0", queued) == (out.to, out.queued)
    (last,) = step(out.message, middle, params.scouting, now_ms=0.0, rng=Random(1))
    assert isinstance(last, Send)
    assert ("d", False) == (last.to, last.queued)


def test_a_scout_walks_by_the_pheromone_of_its_destination() -> None:
    """Ants 3.7: what routing ants have taught the cells leads scouts, too."""
    start, params = cell("s", {"a": 5.0, "b": 5.0}), replace(IMPROVED.scouting, explore=0.0)
    start.pheromone.vector("d", now_ms=0.0).probabilities = [0.0, 1.0]
    ants = [scout(ORDER, "s", params, rng=Random(1)) for _ in range(20)]
    sends = [step(ant, start, params, now_ms=0.0, rng=Random(seed))[0] for seed, ant in enumerate(ants)]
    assert {"b"} == {send.to for send in sends}


def test_each_scout_draws_its_own_load_cap_and_greediness() -> None:
    """Ants 3.7: the leader initialises scouts with random alpha and g."""
    scouts = [scout(ORDER, "s", PAPER.scouting, rng=Random(seed)) for seed in range(40)]
    assert {1, 2, 3} == {ant.greed for ant in scouts}
    assert all(0.5 <= ant.alpha <= 0.95 for ant in scouts)
    assert len({ant.alpha for ant in scouts}) == 40


def test_a_greedy_scout_places_no_more_than_its_greed_at_a_host() -> None:
    """Ants 3.7: g controls how many tasks it is willing to place before it moves on."""
    params = replace(PAPER.scouting, shift=False)
    by_greed = {}
    for seed in range(20):
        greed = scout(ORDER, "s", params, rng=Random(seed)).greed
        by_greed[greed] = report_of(walk(row(PAPER, IDLE, IDLE, IDLE), params, seed=seed)).hosts
    assert by_greed[1] == ("s", "m0", "d")
    assert by_greed[2] == ("s", "s", "m0")
    assert by_greed[3] == ("s", "s", "s")


def test_a_greedy_scout_skips_a_host_beyond_its_load_cap() -> None:
    """rho < alpha is a hard cap."""
    params = replace(PAPER.scouting, shift=False, least_alpha=0.9, most_alpha=0.9)
    seed = next(s for s in range(50) if scout(ORDER, "s", params, rng=Random(s)).greed == 3)
    assert report_of(walk(row(PAPER, FULL, IDLE, IDLE), params, seed=seed)).hosts == ("m0", "m0", "m0")
    half = replace(params, least_alpha=0.6, most_alpha=0.6)
    seed = next(s for s in range(50) if scout(ORDER, "s", half, rng=Random(s)).greed == 3)
    # Half full, and a task takes 0.1: nothing fits below its alpha of 0.6, though the host has room up to 0.98.
    assert report_of(walk(row(PAPER, HALF, IDLE, IDLE), half, seed=seed)).hosts == ("m0", "m0", "m0")


def test_a_greedy_scout_keeps_within_the_latency_bound() -> None:
    """L_T, end to end: tasks stop being placed once the bound would be broken, and the scout fails."""
    params = replace(PAPER.scouting, shift=False)
    tight = replace(ORDER, flow=replace(FLOW, latency_bound_ms=20.0))
    assert isinstance(walk(row(PAPER, IDLE, IDLE, IDLE), params, order=tight), Lost)


def test_a_greedy_scout_leaves_to_the_next_host_what_would_break_the_bound_here() -> None:
    """L_new + L_prev < L_T is asked at every host, not only at the end: a faster host may follow."""
    params = replace(PAPER.scouting, shift=False)
    seed = next(s for s in range(50) if scout(ORDER, "s", params, rng=Random(s)).greed == 3)
    tight = replace(ORDER, flow=replace(FLOW, latency_bound_ms=50.0))
    cells = row(PAPER, IDLE, IDLE, IDLE, capacities=(0.7, 8.0, 8.0))
    assert report_of(walk(cells, params, order=tight, seed=seed)).hosts == ("s", "s", "m0")


def test_the_programme_drops_a_way_beyond_the_bound_before_it_displaces_one_within() -> None:
    """The cheapest way may be the slowest, where others pay for the fast one; a bound is a bound."""

    def candidate(host: str, position_ms: float, **adds: Marginal) -> Candidate:
        prices = {0b01: adds.get("a", NO_ROOM), 0b10: adds.get("b", NO_ROOM), 0b11: NO_ROOM}
        pricer = SimpleNamespace(adds=prices.__getitem__)
        return Candidate(pricer, Spot(host, position_ms, 0.0), ((0.0, 0.0), (0.0, 0.0)))

    flow = chain("f", Source("in", "s", 0.01), (Task("a", 10.0), Task("b", 10.0)), Sink("out", "d"))
    order = Order(replace(flow, latency_bound_ms=30.0), 1, 0, (0, 1), "s", "d", (1.0,) * 3, ((), ()))
    distances = Distances(exact=lambda a, b: None, link=lambda a, b: None)
    slow, fast = candidate("x", 1.0, a=Marginal(25.0, 25.0)), candidate("y", 2.0, a=Marginal(10.0, 40.0))
    last = candidate("z", 3.0, b=Marginal(10.0, 10.0))
    ways = extend(no_tasks_yet(order), order, [slow, fast, last], distances, keep=6)
    assert [("y", "z")] == [tuple(spot.host for spot in way.spots) for way in ways[2]]


def test_a_scout_that_could_not_place_all_tasks_fails_at_the_destination() -> None:
    """Ants 3.7: it declares failure and stays there."""
    end = walk(row(IMPROVED, FULL, FULL, FULL), IMPROVED.scouting)
    assert isinstance(end, Lost)


def test_enough_failures_on_a_trail_send_one_home_to_weaken_it() -> None:
    """Ants 3.7: negative reinforcement, so that ants look elsewhere."""
    params = replace(IMPROVED.scouting, failures_to_weaken=2)
    cells = row(IMPROVED, FULL, FULL, FULL)
    assert isinstance(walk(cells, params), Lost)
    end = walk(cells, params)
    assert isinstance(end, Send)
    assert end.message.stage is Stage.WEAKENING
    middle = cells[1]
    middle.links_ms["x"] = 1.0
    middle.pheromone.meet("x")
    before = middle.pheromone.vector("d", now_ms=0.0).probability("d")
    step(end.message, middle, params, now_ms=0.0, rng=Random(1))
    assert middle.pheromone.vector("d", now_ms=0.0).probability("d") < before


@pytest.mark.parametrize(
    ("tasks", "greeds", "stages"),
    [
        (3, (2, 2, 2, 1, 3), (None, None, None, None, Stage.WEAKENING)),
        (1, (1, 1, 1), (None, None, Stage.WEAKENING)),  # no other level to try
    ],
)
def test_the_papers_scouts_weaken_a_trail_after_failures_of_different_greed(
    tasks: int, greeds: tuple[int, ...], stages: tuple[Stage | None, ...]
) -> None:
    """Ants 3.7: that one level fails says nothing of the others; a less greedy scout may find room on the same way."""
    cells, trail = row(PAPER, FULL, FULL), Trail(("s", "d"), (0.0, 5.0), (0.0, 5.0), 5.0, 1)
    order = Order(FLOW, 1, 0, tuple(range(tasks)), "s", "d", (1.0,) * (tasks + 1), ((),) * tasks)
    found = []
    for greed in greeds:
        ant = replace(scout(order, "s", PAPER.scouting, rng=Random(1)), greed=greed, trail=trail)
        (end,) = step(ant, cells[-1], PAPER.scouting, now_ms=0.0, rng=Random(1))
        found.append(end.message.stage if isinstance(end, Send) else None)
    assert list(stages) == found


def test_a_cell_forgets_the_oldest_trails_on_which_scouts_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows end, and nobody tells the destination: its memory has a size. Those that fail again are the newest."""
    monkeypatch.setattr(scouting, "_TRAILS_KEPT", 2)
    params = replace(IMPROVED.scouting, failures_to_weaken=3)
    cells = row(IMPROVED, FULL, FULL, FULL)
    for name in ("f", "g", "f", "h"):
        walk(cells, params, replace(ORDER, flow=replace(FLOW, name=name)))
    assert [("f", 2), ("h", 1)] == [(flow, failed.scouts) for (flow, _), failed in cells[-1].failures.items()]


def test_on_the_way_back_a_task_shifts_to_a_faster_neighbour() -> None:
    """Ants 3.7: local load balancing by comparing service times on adjacent servers."""
    params = replace(PAPER.scouting, least_alpha=0.95, most_alpha=0.95)
    cells = row(PAPER, IDLE, IDLE)
    cells[0].surroundings.hear(Digest(HostView("fast", 8.0, IDLE), 1, "fast", 0.0, 0), {"fast": 1.0})
    cells[0].links_ms["fast"] = 1.0
    seed = next(s for s in range(50) if scout(ORDER, "s", params, rng=Random(s)).greed == 3)
    ant = walk(cells, params, seed=seed).message
    home = step(ant, cells[0], params, now_ms=0.0, rng=Random(1))[0]
    assert report_of(home).hosts == ("fast", "fast", "fast")


def test_the_programme_finds_the_cheapest_split_over_the_trail() -> None:
    """For each number of tasks placed it carries the cheapest way: a fast host in the middle gets everything."""
    end = walk(row(IMPROVED, HALF, IDLE, HALF, capacities=(1.0, 4.0, 1.0)), IMPROVED.scouting)
    report = report_of(end)
    assert report.hosts == ("m0", "m0", "m0")
    price = price_on_host(FLOW.graph, 0b111, 4.0, IDLE).own_ms
    assert pytest.approx(10.0 + price) == report.cost_ms


def test_the_programme_uses_a_host_beside_the_trail_and_pays_the_detour() -> None:
    """The best place may lie beside the way: a scout that stays on its trail misses it."""
    cells = row(IMPROVED, HALF, HALF, HALF)
    middle = cells[1]
    middle.surroundings.hear(Digest(HostView("fast", 8.0, IDLE), 1, "fast", 0.0, 0), {"fast": 1.5})
    params = IMPROVED.scouting
    report = report_of(walk(cells, params))
    assert report.hosts == ("fast", "fast", "fast")
    price = price_on_host(FLOW.graph, 0b111, 8.0, IDLE).own_ms
    assert pytest.approx(10.0 + 2 * 1.5 + price) == report.cost_ms
    on_trail = report_of(walk(row(IMPROVED, HALF, HALF, HALF), replace(params, nearby_hosts=0)))
    assert on_trail.cost_ms > report.cost_ms


def test_a_scout_that_cuts_a_cycle_pays_the_way_back_from_what_it_placed_there() -> None:
    """Decision 42: x lies off the trail again, so data go out and back. Else hosts in blind alleys look cheap."""
    blind_alley, full = cell("x", {"m": 5.0}), [cell("m", {"d": 5.0}, background=FULL), cell("d", {}, background=FULL)]
    out = Trail(("s", "m", "x"), (0.0, 20.0, 25.0), (0.0, 20.0, 25.0), 25.0, 2)
    report = report_of(walk([blind_alley, *full], IMPROVED.scouting, trail=out))
    assert ("x", "x", "x") == report.hosts
    price = price_on_host(FLOW.graph, 0b111, 1.0, IDLE).own_ms
    assert pytest.approx(20.0 + 2 * 5.0 + 5.0 + price) == report.cost_ms


def test_a_scout_that_comes_near_a_host_it_has_used_pays_the_short_way() -> None:
    """Decision 42: its own way there was a detour, and data take the short one. Else good hosts look dear."""
    start, used, middle, end = (
        cell("s", {"x": 5.0}, background=FULL),
        cell("x", {"m": 20.0}),
        cell("m", {"d": 5.0}, background=FULL),
        cell("d", {}, background=FULL),
    )
    middle.surroundings.hear(Digest(HostView("x", 1.0, IDLE), 1, "v", 0.5, 0), {"v": 1.0})
    report = report_of(walk([start, used, middle, end], IMPROVED.scouting))
    assert ("x", "x", "x") == report.hosts
    price = price_on_host(FLOW.graph, 0b111, 1.0, IDLE).own_ms
    assert pytest.approx(5.0 + 1.5 + 5.0 + price) == report.cost_ms


def test_what_an_enforcement_ant_saw_counts_more_than_an_old_digest() -> None:
    """A host that moved out of reach of its neighbours' news would be chosen and refuse for ever."""
    cells = row(IMPROVED, FULL, FULL)
    for here in cells:
        here.surroundings.hear(Digest(HostView("side", 1.0, IDLE), 1, next(iter(here.links_ms)), 0.0, 0), here.links_ms)
    assert set(report_of(walk(cells, IMPROVED.scouting)).hosts) == {"side"}
    corrected = replace(ORDER, round=2, corrections=(HostView("side", 1.0, FULL),))
    assert isinstance(walk(cells, IMPROVED.scouting, order=corrected), Lost)


def test_a_way_never_returns_to_a_host_it_has_left() -> None:
    """A -> B -> A would be priced as if A were two hosts: a and c at x, b at y is cheapest, and must not be found."""

    def candidate(host: str, position_ms: float, cheap: int) -> Candidate:
        def adds(mask: int) -> Marginal:
            cost_ms = sum((1.0 if cheap >> task & 1 else 9.0) for task in range(3) if mask >> task & 1)
            return Marginal(cost_ms, cost_ms)

        return Candidate(SimpleNamespace(adds=adds), Spot(host, position_ms, 0.0), ((0.0, 0.0),) * 3)

    x, y = candidate("x", 1.0, 0b101), candidate("y", 1.0, 0b010)
    distances = Distances(exact=lambda a, b: None, link=lambda a, b: None)
    ways = extend(no_tasks_yet(ORDER), ORDER, [x, y, x], distances, keep=6)
    found = {tuple(spot.host for spot in way.spots) for row in ways for way in row}
    assert ("x", "y") in found
    assert ("x", "y", "x") not in found


def test_what_a_newcomer_adds_to_the_flows_there_counts() -> None:
    """Social price: n * delta Q. Without it scouts pile onto hosts that others already use."""
    crowded = Load(rate_per_ms=0.02, rho=0.2, square=2.0, burst=0.02, rate_squares=4e-4, weight=50.0)
    cells = row(IMPROVED, crowded, IDLE, crowded)
    assert report_of(walk(cells, IMPROVED.scouting)).hosts == ("m0", "m0", "m0")


def test_the_flow_s_own_load_is_not_a_stranger_s() -> None:
    """A running flow that looks for a better place must see its own host as it would be without it."""
    streams = FLOW.graph.streams(0b111)
    own = streams[0][1].load(1.0)
    alone = report_of(walk(row(IMPROVED, IDLE, FULL), IMPROVED.scouting))
    again = report_of(walk(row(IMPROVED, own, FULL), IMPROVED.scouting, order=replace(ORDER, running=(("s", 0b111),))))
    assert pytest.approx(alone.cost_ms) == again.cost_ms


def test_anchors_pull_without_being_a_cost() -> None:
    """Join hint: the other producer's distance ranks placements; it is paid when its own branch is placed."""
    order = replace(ORDER, anchors=((), (Anchor("p2", 0.5, exact=False),), ()))
    cells = row(IMPROVED, IDLE, IDLE, IDLE)
    plain = report_of(walk(cells, IMPROVED.scouting))
    cells = row(IMPROVED, IDLE, IDLE, IDLE)
    for here, told_ms in zip(cells, (0.0, 40.0, 80.0), strict=True):
        here.scents._smelled["p2"] = _Smelled(1, told_ms)
    pulled = report_of(walk(cells, IMPROVED.scouting, order=order))
    assert pulled.hosts[1] == "s"
    assert pulled.score_ms == pytest.approx(pulled.cost_ms)
    far = row(IMPROVED, IDLE, IDLE, IDLE)
    for here in far:
        here.scents._smelled["p2"] = _Smelled(1, 40.0)
    both = report_of(walk(far, IMPROVED.scouting, order=order))
    assert both.score_ms == pytest.approx(both.cost_ms + 20.0)
    assert both.cost_ms == pytest.approx(plain.cost_ms)


def test_a_scout_may_walk_by_way_of_another_end() -> None:
    """The best place for a join may lie towards the other producer, off every way to the sink."""
    ant = scout(ORDER, "s", IMPROVED.scouting, rng=Random(1), via="v")
    assert ant.destination == "v"
    at_v = cell("v", {"d": 3.0})
    moved = replace(ant, trail=Trail(("s", "v"), (0.0, 4.0), (0.0, 4.0), 4.0, 1))
    (send,) = step(moved, at_v, IMPROVED.scouting, now_ms=0.0, rng=Random(1))
    assert send.message.destination == "d"
    assert send.message.trail.hosts == ("v", "d")
    assert send.message.trail.distance_ms == (4.0, 7.0)


@pytest.mark.parametrize("wrong", [{"explore": 2.0}, {"ways_kept": 0}, {"least_alpha": 0.9, "most_alpha": 0.5}])
def test_parameters_check_themselves(wrong: dict[str, float]) -> None:
    """Told at once."""
    with pytest.raises(ValueError, match="give"):
        ScoutingParams(**wrong)


def test_a_way_that_stays_on_a_host_pays_its_loop() -> None:
    """Through Kafka a record goes to the broker and back, also between two tasks on one host."""
    far = Distances(exact=lambda a, b: 5.0, link=lambda a, b: None, loop=lambda host: 24.0)
    here, there = Spot("h", 0.0, 0.0), Spot("x", 0.0, 0.0)
    assert (24.0, 5.0) == (reach_ms(here, here, far), reach_ms(here, there, far))
    assert 0.0 == reach_ms(here, here, far._replace(loop=Distances._field_defaults["loop"]))
