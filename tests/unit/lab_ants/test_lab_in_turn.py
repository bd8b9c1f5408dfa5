"""Strategies that place query after query: who is left out, and at what latency the others run."""

from random import Random

import pytest

from placement.model import Flow, Host, Link, Problem, RoutedNetwork, Sink, Source, Task, chain
from placement.strategies import Producer
from services.lab.experiments.sequential_success import placed_in_turn, placed_together

NETWORK = RoutedNetwork((Host("a", 1.0), Host("b", 1.0)), (Link("a", "b", 10.0),))


def query(name: str, service_vwu: float) -> Flow:
    source = Source("in", "a", 0.1, message_bytes=1.0)
    return chain(name, source, (Task("o", service_vwu),), Sink("out", "a"))


def test_a_query_without_room_is_left_out_and_those_after_it_are_not() -> None:
    """Success counts queries, so one that is too large must not keep others from being counted."""
    flows = (query("f0", 6.0), query("f1", 6.0), query("f2", 6.0), query("f3", 2.0))
    for strategy in (Producer(), None):
        assert 3 == placed_in_turn(Problem(NETWORK, flows), strategy, rng=Random(1)).placed


def test_the_mean_latency_is_that_of_the_queries_that_were_placed() -> None:
    """Whoever ignores latency finds room more often: both have to be told to compare strategies."""
    alone = placed_in_turn(Problem(NETWORK, (query("f0", 6.0),)), Producer(), rng=Random(1))
    with_one_too_large = placed_in_turn(
        Problem(NETWORK, (query("f0", 6.0), query("f1", 20.0))), Producer(), rng=Random(1)
    )
    assert pytest.approx(alone.mean_ms) == with_one_too_large.mean_ms
    beside = placed_in_turn(Problem(NETWORK, (query("f0", 6.0), query("f1", 6.0))), Producer(), rng=Random(1))
    assert pytest.approx(alone.mean_ms + 10.0) == beside.mean_ms  # the second goes to the other host and back


def test_all_together_leaves_out_what_has_no_room_and_descends_over_the_rest() -> None:
    """One query that fits nowhere must not keep 299 others from being counted."""
    too_large = placed_together(Problem(NETWORK, (query("f0", 20.0), query("f1", 6.0))), rng=Random(1))
    alone = placed_in_turn(Problem(NETWORK, (query("f1", 6.0),)), Producer(), rng=Random(1))
    assert (1, pytest.approx(alone.mean_ms)) == (too_large.placed, too_large.mean_ms)


def test_all_together_gives_another_chance_after_the_descent() -> None:
    """At their producer two flows leave too little room for a third; the descent parts them, and there is enough."""
    network = RoutedNetwork((Host("a", 2.0), Host("b", 1.0)), (Link("a", "b", 0.001),))
    rare = Source("in", "a", 0.01, message_bytes=1.0)
    uneven = chain("f0", rare, (Task("o", 40.0, cs2=50.0),), Sink("out", "a"))
    problem = Problem(network, (uneven, query("f1", 6.0), query("f2", 15.0)))
    assert 2 == placed_in_turn(problem, Producer(), rng=Random(1)).placed
    assert 3 == placed_together(problem, rng=Random(1)).placed
