"""What the bench of placements makes of what it saw. That worlds run is the world's own test."""

import math
from typing import Any

import pytest

from services.embedded.world_file import load_world
from services.lab.placements.contest import ANTS, OTHERS, Turn, know_where, published
from services.lab.placements.load import Route
from services.lab.placements.measures import WORLD_FILE, routes_of, rows
from services.registry.decisions import decision
from services.registry.view import RegistryView
from tests.unit.registry_messages import committed_plan
from topics.flow.file import parse_graph
from topics.messages import Placement


def test_the_world_of_the_bench_has_twelve_hosts_in_four_regions_with_a_broker_each() -> None:
    """As the target says."""
    world = load_world(WORLD_FILE)
    assert (12, 4, 4) == (len(world.hosts), len(world.regions), len(world.brokers))


def test_routes_are_drawn_by_the_seed_and_lead_elsewhere() -> None:
    """The same seed, the same flows."""
    world = load_world(WORLD_FILE)
    assert routes_of(world, 20, seed=3) == routes_of(world, 20, seed=3) != routes_of(world, 20, seed=4)
    assert all(route.source != route.sink for route in routes_of(world, 20, seed=3))


def test_a_route_s_flow_has_two_or_three_segments_between_its_regions() -> None:
    """With one there would be nothing to choose but one host; half of the flows have an inner one."""
    for is_long, segments in ((False, 2), (True, 3)):
        graph = parse_graph(Route("f", "london", "madrid", is_long).text)
        assert segments == len(graph.segments)
        assert ("london", "madrid") == (graph.spec.sources[0].at, graph.spec.sinks[0].at)
    assert [False, True, False] == [route.is_long for route in routes_of(load_world(WORLD_FILE), 3, seed=1)]


MEASURED = {ANTS: 30.0, "random": 60.0, "producer": 40.0, "consumer": 32.0, "centralised": 31.0}


def test_ants_are_compared_with_the_best_other_and_with_random_round_by_round() -> None:
    """A ratio of one run has a spread only if both sides had several turns in it."""
    turns = [
        Turn(name, number, {"f": factor * MEASURED[name] * (1.2 if name == ANTS and number else 1.0)}, {}, 0.5)
        for number, factor in ((1, 2.0), (0, 1.0), (2, 3.0))
        for name in (*OTHERS, ANTS)
    ]
    found = {row.measure: row for row in rows(turns)}
    best = found["latency: ants over the best other strategy"]
    assert ("centralised", pytest.approx(36 / 31), 3) == (best.baseline, best.value, best.repetitions)
    assert pytest.approx((30 / 31, 36 / 31)) == best.spread
    assert pytest.approx(0.6) == found["latency: ants over random"].value
    assert (62.0, (31.0, 93.0)) == (
        found["latency of flows, mean of their medians: centralised"].value,
        found["latency of flows, mean of their medians: centralised"].spread,
    )


def test_what_leaders_published_is_judged_apart_from_what_the_model_says_of_others() -> None:
    """Only what was predicted, and can be, counts."""
    turns = [Turn(name, 0, {"f": 10.0, "g": 10.0}, {"f": 15.0, "g": math.inf}, 0.5) for name in OTHERS]
    turns.append(Turn(ANTS, 0, {"f": 10.0, "g": 10.0}, {"f": 11.0}, 0.9))
    found = {row.measure: row for row in rows(turns)}
    mine = found["latency as leaders had published it against measured, relative error"]
    assert (pytest.approx(0.1), 1) == (mine.value, mine.repetitions)
    assert (0.5, 0.9) == found["processors in use while latency was measured"].spread
    others = found["latency as the model had it before a move against measured, relative error"]
    assert (0.5, len(OTHERS)) == (others.value, others.repetitions)


def placement(segment: str, host: str) -> Placement:
    rest: dict[str, Any] = {"epoch": 1, "revision": 1, "operators": ("o",), "placed_ms": 1, "plan": "p1"}
    return Placement(segment=segment, partition=0, host=host, flow="f", **rest)


def test_a_published_latency_is_the_newest_for_where_the_flow_runs() -> None:
    """A plan that was not carried out tells of another place; a later look that changed nothing tells of this one."""
    view = RegistryView()
    view.take(placement("s", "a"))

    def decided(kind: str, at_ms: int, latency_ms: float, plan: str | None = None) -> None:
        evidence = {"latency_ms": latency_ms}
        view.take(decision(kind, "what", "why", by="a", now_ms=at_ms, flow="f", plan=plan, evidence=evidence)[1])

    decided("planned", 10, 50.0, "p1")
    assert {"f": 50.0} == published(view, ["f", "g"])
    decided("planned", 30, 20.0, "p2")
    assert {"f": 50.0} == published(view, ["f"])
    decided("kept", 20, 40.0)
    assert {"f": 40.0} == published(view, ["f"])
    assert {} == published(view, ["g"])
    proposed = {"latency_ms": 30.0, "now_latency_ms": 45.0}
    view.take(decision("proposed", "what", "why", by="a", now_ms=40, flow="f", plan="p3", evidence=proposed)[1])
    assert {"f": 45.0} == published(view, ["f"]), "who would rather be elsewhere tells of here, too"


def test_what_leaders_say_right_before_is_judged_in_every_turn() -> None:
    """It is what people are shown, wherever a flow runs; who did not answer in time has said nothing."""
    turns = [Turn(name, 0, {"f": 10.0, "g": 10.0}, {"f": 30.0}, 0.5, {"f": 12.0}) for name in OTHERS]
    turns.append(Turn(ANTS, 0, {"f": 10.0, "g": 10.0}, {"f": 30.0}, 0.5))
    found = {row.measure: row for row in rows(turns)}
    told = found["latency as leaders told it where flows ran against measured, relative error"]
    assert (pytest.approx(0.2), len(OTHERS)) == (told.value, told.repetitions)


def test_a_leader_that_thinks_its_flow_runs_elsewhere_is_not_asked() -> None:
    """What it would tell is of there: it hears of moves that people made when they have ended."""
    view = RegistryView()
    view.take(committed_plan("f", {"s": "a", "t": "b"}))
    assert set() == know_where(view, ["f", "g"]), "it runs nowhere"
    for segment, host in (("s", "a"), ("t", "c")):
        view.take(placement(segment, host))
    assert set() == know_where(view, ["f", "g"])
    view.take(committed_plan("f", {"s": "a", "t": "c"}, epoch=2))
    assert {"f"} == know_where(view, ["f", "g"])
