"""Strategies that place query after query: who is left out, and at what latency the others run."""

from random import Random

import pytest

from placement.model import Flow, Host, Link, Problem, RoutedNetwork, Sink, Source, Task, chain
from placement.strategies import Producer
from services.lab.experiments.sequential_success import placed_in_turn

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
