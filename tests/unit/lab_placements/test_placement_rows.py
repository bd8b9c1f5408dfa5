"""What the bench of placements makes of what it saw. That worlds run is the world's own test."""

import math

import pytest

from services.embedded.world_file import load_world
from services.lab.placements.contest import ANTS, OTHERS, Turn
from services.lab.placements.load import Route
from services.lab.placements.measures import WORLD_FILE, routes_of, rows
from topics.flow.file import parse_graph


def test_the_world_of_the_bench_has_twelve_hosts_in_four_regions_with_a_broker_each() -> None:
    """As the target says."""
    world = load_world(WORLD_FILE)
    assert (12, 4, 4) == (len(world.hosts), len(world.regions), len(world.brokers))


def test_routes_are_drawn_by_the_seed_and_lead_elsewhere() -> None:
    """The same seed, the same flows."""
    world = load_world(WORLD_FILE)
    assert routes_of(world, 20, seed=3) == routes_of(world, 20, seed=3) != routes_of(world, 20, seed=4)
    assert all(route.source != route.sink for route in routes_of(world, 20, seed=3))


def test_a_route_s_flow_has_two_segments_between_its_regions() -> None:
    """With one there would be nothing to choose but one host."""
    graph = parse_graph(Route("f", "london", "madrid").text)
    assert 2 == len(graph.segments)
    assert ("london", "madrid") == (graph.spec.sources[0].at, graph.spec.sinks[0].at)


def test_ants_are_compared_with_the_best_other_and_with_random() -> None:
    """And the model's error is taken over all flows and turns."""
    measured = {ANTS: 30.0, "random": 60.0, "producer": 40.0, "consumer": 32.0, "centralised": 31.0}
    turns = [Turn(name, {"f": measured[name]}, {"f": 1.1 * measured[name]}) for name in (ANTS, *OTHERS)]
    turns.append(Turn("producer", {"f": 40.0}, {"f": math.inf}))
    found = {row.measure: row for row in rows(turns)}
    best = found["latency: ants over the best other strategy"]
    assert ("centralised", pytest.approx(30 / 31)) == (best.baseline, best.value)
    assert 0.5 == found["latency: ants over random"].value
    error = found["predicted against measured latency, relative error"]
    assert (pytest.approx(0.1), 5) == (error.value, error.repetitions)
