"""Scent waves and surroundings: what cells tell each other before any ant has walked."""

import math
from random import Random
from typing import Any

import pytest

from placement.ants.effects import Send
from placement.ants.host_view import HostView
from placement.ants.params import IMPROVED
from placement.ants.routing import RoutingAnt
from placement.ants.surroundings import Digest, Surroundings, SurroundingsParams
from placement.ants.trail import Trail
from placement.cell import Cell
from placement.pheromone import PheromoneParams, PheromoneTable
from placement.queueing import Load
from placement.scent import Announce, Scent, ScentMap, ScentParams

LINKS = {"a": 2.0, "b": 4.0}


def table() -> PheromoneTable:
    return PheromoneTable(LINKS, PheromoneParams())


def test_a_destination_announces_itself_to_all_neighbours() -> None:
    """The wave starts at distance 0."""
    sends = ScentMap("d", ScentParams()).announce(LINKS)
    assert [("a", 0.0), ("b", 0.0)] == [(send.to, send.message.distance_ms) for send in sends]


def test_a_wave_is_passed_on_with_the_distance_added_but_not_back() -> None:
    """Each cell speaks once a wave, to everyone but the one it heard from."""
    scents = ScentMap("m", ScentParams())
    sends = scents.smell(Scent("d", 1, "a", 10.0), LINKS, table(), now_ms=0.0)
    assert [("b", 12.0)] == [(send.to, send.message.distance_ms) for send in sends]
    assert scents.distance_ms("d") == 12.0


def test_a_longer_way_is_noted_but_not_passed_on() -> None:
    """It changes the preference between neighbours, not the distance."""
    scents = ScentMap("m", ScentParams())
    scents.smell(Scent("d", 1, "a", 10.0), LINKS, table(), now_ms=0.0)
    assert scents.smell(Scent("d", 1, "b", 10.0), LINKS, table(), now_ms=0.0) == []
    assert scents.neighbour_distance_ms("b", "d") == 10.0


def test_the_scent_makes_the_shorter_way_likelier() -> None:
    """phi ~ exp(-length / T): ants find a destination among 155 hosts at once instead of after 134,000 messages."""
    scents, pheromone = ScentMap("m", ScentParams()), table()
    for sender in LINKS:
        scents.smell(Scent("d", 1, sender, 10.0), LINKS, pheromone, now_ms=0.0)
    vector = pheromone.vector("d", now_ms=0.0)
    assert vector.probability("a") > 0.8
    assert vector.probability("b") > 0.0


def test_a_new_wave_replaces_the_distances_of_an_old_one() -> None:
    """Links change; an old, shorter distance must not live for ever."""
    scents = ScentMap("m", ScentParams())
    scents.smell(Scent("d", 1, "a", 1.0), LINKS, table(), now_ms=0.0)
    assert scents.smell(Scent("d", 2, "a", 50.0), LINKS, table(), now_ms=0.0)
    assert scents.distance_ms("d") == 52.0
    assert scents.smell(Scent("d", 1, "a", 1.0), LINKS, table(), now_ms=0.0) == []


def test_a_lost_neighbour_names_the_destinations_behind_it() -> None:
    """They are asked to announce themselves again."""
    scents = ScentMap("m", ScentParams())
    scents.smell(Scent("d", 1, "a", 1.0), LINKS, table(), now_ms=0.0)
    assert scents.forget("b") == []
    assert scents.forget("a") == ["d"]


def test_a_host_tells_only_what_changed_noticeably() -> None:
    """In a quiet network nobody says anything: knowledge costs messages only where something happens."""
    here = Surroundings("h", SurroundingsParams(change=0.1))
    quiet, busy = HostView("h", 1.0, Load(rho=0.30)), HostView("h", 1.0, Load(rho=0.45))
    assert len(here.tell(quiet, LINKS)) == 2
    assert here.tell(HostView("h", 1.0, Load(rho=0.35)), LINKS) == []
    assert len(here.tell(busy, LINKS)) == 2


def test_digests_travel_as_many_hops_as_asked() -> None:
    """A scout may use hosts within so many hops of its trail, and no more."""
    here = Surroundings("h", SurroundingsParams())
    view = HostView("x", 1.0, Load())
    onward = here.hear(Digest(view, 1, "a", 3.0, hops_left=1), LINKS)
    assert [("b", 5.0, 0)] == [(s.to, s.message.distance_ms, s.message.hops_left) for s in onward]
    assert here.hear(Digest(view, 2, "a", 3.0, hops_left=0), LINKS) == []
    assert here.near() == [(view, 5.0)]


def test_old_news_and_longer_ways_are_ignored() -> None:
    """Digests overtake each other."""
    here = Surroundings("h", SurroundingsParams())
    new, old = HostView("x", 1.0, Load(rho=0.5)), HostView("x", 1.0, Load(rho=0.1))
    here.hear(Digest(new, 2, "a", 0.0, 0), LINKS)
    here.hear(Digest(old, 1, "a", 0.0, 0), LINKS)
    here.hear(Digest(new, 2, "b", 0.0, 0), LINKS)
    assert here.near() == [(new, 2.0)]


def test_a_dead_neighbour_is_forgotten_with_all_that_it_told() -> None:
    """No scout may count on hosts that were only known through it."""
    here = Surroundings("h", SurroundingsParams())
    here.hear(Digest(HostView("x", 1.0, Load()), 1, "a", 0.0, 0), LINKS)
    here.forget("a")
    assert here.near() == []


@pytest.mark.parametrize("wrong", [{"hops": 0}, {"change": -1.0}])
def test_parameters_check_themselves(wrong: dict[str, float]) -> None:
    """Told at once."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SurroundingsParams(**wrong)


def cell_with_two_ways() -> Cell:
    """s between a and b; d has announced itself through both, a is nearer."""
    here = Cell("s", 1.0, {"a": 4.0, "b": 4.0}, IMPROVED, delay=lambda a, b: math.nan, direct=False)
    here.hear(Scent("d", 1, "a", 2.0), now_ms=0.0, rng=Random(1))
    here.hear(Scent("d", 1, "b", 9.0), now_ms=0.0, rng=Random(1))
    return here


def announced(effects: list[Any]) -> list[str]:
    return [effect.to for effect in effects if isinstance(effect, Send) and isinstance(effect.message, Announce)]


def test_a_link_that_changed_much_makes_the_ends_behind_it_announce_themselves_again() -> None:
    """Prior distances would lead ants astray; a change of a quarter or less is noise."""
    assert announced(cell_with_two_ways().link_changed("a", 4.9)) == []
    assert announced(cell_with_two_ways().link_changed("a", 8.0)) == ["d"]
    assert announced(cell_with_two_ways().link_changed("b", 8.0)) == [], "its best way does not lead there"


def test_an_ant_waits_at_its_start_for_the_wave_of_its_destination() -> None:
    """A wave that has come here runs ahead of an ant that leaves here: no cell on its way is without scent."""
    here = Cell("s", 1.0, {"a": 4.0}, IMPROVED, delay=lambda a, b: math.nan, direct=False)
    ant = RoutingAnt("f", 1, "d", Trail.start("s"), "s")
    assert announced(here.hear(ant, now_ms=0.0, rng=Random(1))) == ["d"]
    assert here.hear(ant, now_ms=1.0, rng=Random(1)) == [], "it has been asked for a moment ago"
    assert announced(here.hear(ant, now_ms=2_000.0, rng=Random(1))) == ["d"], "messages get lost"
    left = here.hear(Scent("d", 1, "a", 2.0), now_ms=2_100.0, rng=Random(1))
    assert 3 == sum(isinstance(effect, Send) and isinstance(effect.message, RoutingAnt) for effect in left)
