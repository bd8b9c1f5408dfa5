"""Routing ants: the walk out, cycles, and what they teach on the way home."""

import math
from random import Random
from types import SimpleNamespace

import pytest

from placement.ants.effects import Home, Lost, Send
from placement.ants.routing import RoutingAnt, RoutingAntReturned, RoutingParams, step
from placement.ants.trail import Trail
from placement.pheromone import PheromoneParams, PheromoneTable

PARAMS = RoutingParams(max_hops=5)


def cell(host: str, links_ms: dict[str, float], wait_ms: float = 0.0, straight_ms: float = math.inf) -> SimpleNamespace:
    return SimpleNamespace(
        host=host,
        links_ms=links_ms,
        pheromone=PheromoneTable(links_ms, PheromoneParams()),
        queue_wait_ms=lambda: wait_ms,
        straight_ms=lambda destination: straight_ms,
    )


def ant(trail: Trail, *, homeward: bool = False) -> RoutingAnt:
    return RoutingAnt("flow", 1, "d", trail, "s", homeward)


def test_an_ant_records_queue_and_link_at_every_hop() -> None:
    """Ants 3.4, steps 1 and 4: both are part of the trip time."""
    (send,) = step(ant(Trail.start("s")), cell("s", {"d": 7.0}, wait_ms=3.0), PARAMS, now_ms=0.0, rng=Random(1))
    assert isinstance(send, Send)
    assert send.message.trail.elapsed_ms == (0.0, 10.0)
    assert send.message.trail.distance_ms == (0.0, 7.0)


def test_an_ant_waits_in_queues_on_its_way_out_and_skips_them_at_the_destination() -> None:
    """Ants 3.4, steps 5 and 6."""
    trail = Trail.start("s")
    (onward,) = step(ant(trail), cell("s", {"m": 1.0}), PARAMS, now_ms=0.0, rng=Random(1))
    (last,) = step(ant(trail), cell("s", {"d": 1.0}), PARAMS, now_ms=0.0, rng=Random(1))
    assert onward.queued
    assert not last.queued


def test_the_way_home_skips_server_queues() -> None:
    """Ants 3.5: homeward ants bypass queues, or old news would arrive late exactly when it matters."""
    trail = Trail(("s", "m", "d"), (0.0, 5.0, 9.0), (0.0, 5.0, 9.0))
    (send,) = step(ant(trail, homeward=True), cell("m", {"s": 5.0, "d": 4.0}), PARAMS, now_ms=0.0, rng=Random(1))
    assert send.to == "s"
    assert not send.queued


def test_a_cycle_is_cut_out_of_the_trail() -> None:
    """Ants 3.4: the cycle's hosts and everything about them are forgotten; age and hops are not."""
    trail = Trail(("s", "a", "b", "c"), (0.0, 50.0, 51.0, 52.0), (0.0, 50.0, 51.0, 52.0), age_ms=52.0, hops=3)
    cut = trail.leave("b", wait_ms=0.0, link_ms=2.0)
    assert cut is not None
    assert cut.hosts == ("s", "a", "b")
    assert cut.elapsed_ms == (0.0, 50.0, 51.0)
    assert cut.age_ms == 54.0
    assert cut.hops == 4


def test_an_ant_dies_of_a_cycle_longer_than_half_its_life() -> None:
    """Ants 3.4: it has learned nothing worth bringing home."""
    trail = Trail(("s", "a", "b"), (0.0, 1.0, 30.0), (0.0, 1.0, 30.0), age_ms=30.0, hops=2)
    assert trail.leave("a", wait_ms=0.0, link_ms=29.0) is None


def test_an_ant_that_gets_too_old_is_lost() -> None:
    """Ants in a maze must end some day."""
    old = Trail(("s", "m"), (0.0, 1.0), (0.0, 1.0), age_ms=1.0, hops=5)
    (end,) = step(ant(old), cell("m", {"x": 1.0}), PARAMS, now_ms=0.0, rng=Random(1))
    assert isinstance(end, Lost)


def test_homeward_ants_teach_each_cell_the_hop_they_came_from() -> None:
    """Ants 3.5: phi of the next hop towards the destination rises, with the time of that sub-path."""
    trail = Trail(("s", "m", "d"), (0.0, 5.0, 9.0), (0.0, 5.0, 9.0))
    middle = cell("m", {"d": 4.0, "s": 5.0, "x": 1.0})
    step(ant(trail, homeward=True), middle, PARAMS, now_ms=0.0, rng=Random(1))
    vector = middle.pheromone.vector("d", now_ms=0.0)
    assert vector.probability("d") > vector.probability("x")
    assert vector.statistics.mean_ms == 4.0


def test_back_at_the_source_the_leader_hears_of_it() -> None:
    """The leader counts returned ants before it sends scouts."""
    trail = Trail(("s", "d"), (0.0, 9.0), (0.0, 7.0))
    (home,) = step(ant(trail, homeward=True), cell("s", {"d": 7.0}), PARAMS, now_ms=0.0, rng=Random(1))
    assert isinstance(home, Home)
    assert isinstance(home.news, RoutingAntReturned)
    assert home.news.trip_ms == 9.0
    assert home.news.distance_ms == 7.0


def test_an_ant_of_a_branch_writes_home() -> None:
    """Branches start at other producers; their leader lives elsewhere."""
    far = RoutingAnt("flow", 1, "d", Trail(("p2", "d"), (0.0, 1.0), (0.0, 1.0)), "s", homeward=True)
    (letter,) = step(far, cell("p2", {"d": 1.0}), PARAMS, now_ms=0.0, rng=Random(1))
    assert isinstance(letter, Send)
    assert letter.to == "s"


def test_an_ant_that_starts_at_its_destination_is_home_at_once() -> None:
    """A join may sit on the producer's own host."""
    (home,) = step(ant(Trail.start("d")), cell("d", {"x": 1.0}), PARAMS, now_ms=0.0, rng=Random(1))
    assert isinstance(home, Send | Home)


def test_a_lonely_host_has_nowhere_to_send_ants() -> None:
    """All its links died."""
    (end,) = step(ant(Trail.start("s")), cell("s", {}), PARAMS, now_ms=0.0, rng=Random(1))
    assert isinstance(end, Lost)


def test_parameters_check_themselves() -> None:
    """An ant that may not walk is a mistake."""
    with pytest.raises(ValueError, match="max_hops"):
        RoutingParams(max_hops=0)
