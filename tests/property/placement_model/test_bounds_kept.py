"""Strategies and the bounds of flows: the exact one keeps them if any placement does, others say what they break."""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from placement.evaluator import Evaluation, evaluate
from placement.model import Flow, Host, Link, Placement, Problem, RoutedNetwork, Sink, Source, Task, chain, violations
from placement.strategies import STRATEGIES, BoundTooTight, Exact, NoFeasibleHost
from placement.strategies.exact_search import enumerate_all, search

MakeProblem = Callable[[int], tuple[Problem, random.Random]]
SEEDS = st.integers(0, 2**32 - 1)
PRICED_MAX = 250


def priced(problem: Problem) -> list[Evaluation]:
    """Every placement that can run."""
    keys = [(flow.name, task.name) for flow in problem.flows for task in flow.tasks]
    names = [host.name for host in problem.network.hosts]
    choices = (
        Placement.of(dict(zip(keys, hosts, strict=True))) for hosts in itertools.product(names, repeat=len(keys))
    )
    return [evaluate(problem, placement) for placement in choices if not violations(problem, placement)]


def bounded(problem: Problem, every: list[Evaluation], rng: random.Random) -> Problem:
    """With bounds of which some placements keep each, and maybe none all."""

    def between(flow: Flow) -> Flow:
        longest = [found.of(flow.name).latency.longest_ms for found in every]
        return replace(flow, latency_bound_ms=min(longest) * rng.uniform(0.97, 1.2))

    return replace(problem, flows=tuple(map(between, problem.flows)))


def kept(problem: Problem, found: Evaluation) -> bool:
    return all(found.of(flow.name).latency.longest_ms <= flow.latency_bound_ms for flow in problem.flows)


def check_bounds(problem: Problem, rng: random.Random) -> None:
    every = priced(problem)
    assume(every)
    problem = bounded(problem, every, rng)
    best_ms = min((found.cost_ms for found in every if kept(problem, found)), default=math.inf)
    searches = (
        lambda: enumerate_all(problem, social=False),
        lambda: search(problem, social=False, max_branches=100_000, gap=1e-9),
    )
    for find in searches:
        if math.isinf(best_ms):
            with pytest.raises(BoundTooTight, match=r"breaks the bound of|above its bound of"):
                find()
            continue
        found = find()
        assert kept(problem, evaluate(problem, found.placement))
        assert best_ms == pytest.approx(found.cost_ms, rel=1e-8)
        assert found.proven(1e-9)


@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_optimum_is_the_cheapest_placement_that_keeps_the_bound(make_crowded: MakeProblem, seed: int) -> None:
    """A placement that breaks a bound was called the proven optimum."""
    check_bounds(*make_crowded(seed))


@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_same_on_networks_of_all_kinds(make_problem: MakeProblem, seed: int) -> None:
    """Queues before wires and other work on hosts make longest paths longer than the tables of the search know."""
    problem, rng = make_problem(seed)
    problem = replace(problem, flows=problem.flows[:1])
    assume(len(problem.network.hosts) ** len(problem.flows[0].tasks) <= PRICED_MAX)
    check_bounds(problem, rng)


@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_same_for_flows_that_slow_each_other(seed: int) -> None:
    """Each could keep its bound alone; together one has to make room."""
    rng = random.Random(seed)
    hosts = tuple(Host(f"h{i}", rng.choice((1.0, 2.0))) for i in range(3))
    network = RoutedNetwork(hosts, tuple(Link(f"h{i}", f"h{i + 1}", rng.uniform(0.5, 4)) for i in range(2)))

    def pair(name: str) -> Flow:
        tasks = tuple(Task(f"t{i}", rng.uniform(1, 5)) for i in range(2))
        ends = [f"h{rng.randrange(3)}" for _ in range(2)]
        return chain(name, Source("in", ends[0], rng.uniform(0.03, 0.12)), tasks, Sink("out", ends[1]))

    check_bounds(Problem(network, (pair("f"), pair("g"))), rng)


@settings(max_examples=25)
@given(seed=SEEDS)
def test_every_strategy_says_whose_bound_it_breaks_and_by_how_much(make_crowded: MakeProblem, seed: int) -> None:
    """A proposal that is silent on it passes for one that keeps what was promised."""
    problem, rng = make_crowded(seed)
    every = priced(problem)
    assume(every)
    problem = bounded(problem, every, rng)
    flow = problem.flows[0]
    for name in sorted(STRATEGIES):
        try:
            proposal = STRATEGIES[name]().place(problem, rng=random.Random(seed))
        except NoFeasibleHost:
            continue
        late_ms = evaluate(problem, proposal.placement).of(flow.name).latency.longest_ms - flow.latency_bound_ms
        said = [reason for reason in proposal.reasons if reason.startswith("breaks")]
        assert said == ([f"breaks the bound of {flow.name} by {late_ms:.2f} ms"] if late_ms > 0 else []), name
        assert proposal.worth[0] == pytest.approx(max(0.0, late_ms))
        assert not (said and isinstance(STRATEGIES[name](), Exact))
