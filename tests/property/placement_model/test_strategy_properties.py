"""Every strategy on random small problems: valid, honest about its price, and never better than the optimum."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from placement.evaluator import evaluate
from placement.model import Host, OverlayNetwork, Placement, Problem, violations
from placement.queueing import Stream
from placement.strategies import STRATEGIES, Centralised, Exact, NoFeasibleHost, RandomHosts
from placement.strategies.coarse_bound import coarse_bound_ms
from placement.strategies.exact_search import enumerate_all, search

MakeProblem = Callable[[int], tuple[Problem, random.Random]]
SEEDS = st.integers(0, 2**32 - 1)


def one_flow(problem: Problem) -> Problem:
    return replace(problem, flows=problem.flows[:1])


@settings(max_examples=40)
@given(seed=SEEDS, social=st.booleans())
def test_branch_and_bound_finds_what_enumeration_finds(make_problem: MakeProblem, seed: int, social: bool) -> None:
    """The proof is an argument; on small problems all placements can be priced to check it."""
    problem = one_flow(make_problem(seed)[0])
    try:
        every = enumerate_all(problem, social=social)
    except NoFeasibleHost:
        with pytest.raises(NoFeasibleHost):
            search(problem, social=social, max_branches=100_000, gap=0.0)
        return
    found = search(problem, social=social, max_branches=100_000, gap=1e-9)
    assert every.cost_ms == pytest.approx(found.cost_ms, rel=1e-8)
    assert found.proven(1e-9)


def test_two_flows_together_are_placed_exactly(make_problem: MakeProblem) -> None:
    """Flows that share hosts slow each other; the joint optimum must see it."""
    checked = 0
    for seed in range(400):
        problem, _ = make_problem(seed)
        if len(problem.flows) < 2 or len(problem.network.hosts) > 3 or problem.network.has_queues or checked == 6:
            continue
        problem = replace(problem, flows=problem.flows[:2])
        if sum(len(flow.tasks) for flow in problem.flows) > 8:
            continue  # too many to price them all
        try:
            every = enumerate_all(problem, social=False)
        except NoFeasibleHost:
            continue
        found = search(problem, social=False, max_branches=100_000, gap=1e-9)
        assert every.cost_ms == pytest.approx(found.cost_ms, rel=1e-8), seed
        checked += 1
    assert checked == 6


@settings(max_examples=25)
@given(seed=SEEDS)
def test_no_strategy_beats_the_exact_optimum_and_all_are_valid(make_problem: MakeProblem, seed: int) -> None:
    """The optimum is what the ants are measured against: if anything beats it, the evidence is worthless."""
    problem = one_flow(make_problem(seed)[0])
    try:
        optimum = Exact(exhaustive_limit=0).place(problem, rng=random.Random(seed))
    except NoFeasibleHost:
        for name in sorted(STRATEGIES):
            with pytest.raises(NoFeasibleHost):
                STRATEGIES[name]().place(problem, rng=random.Random(seed))
        return
    assert optimum.proven
    assert optimum.bound_ms >= coarse_bound_ms(problem) - 1e-9
    for name in sorted(STRATEGIES):
        try:
            proposal = STRATEGIES[name]().place(problem, rng=random.Random(seed))
        except NoFeasibleHost:
            continue  # a greedy fill may get stuck where a placement exists
        assert violations(problem, proposal.placement) == ()
        assert evaluate(problem, proposal.placement).cost_ms == pytest.approx(proposal.cost_ms)
        assert optimum.cost_ms <= proposal.cost_ms * (1 + 1e-6), name
        assert proposal.reasons


@settings(max_examples=20)
@given(seed=SEEDS)
def test_steepest_descent_stops_only_where_no_single_move_helps(make_problem: MakeProblem, seed: int) -> None:
    """Its tables are incremental; the evaluator from scratch must agree that it is at the bottom."""
    problem, _ = make_problem(seed)
    assume(not problem.network.has_queues)
    try:
        proposal = Centralised(start="random", moves_per_round=4).place(problem, rng=random.Random(seed))
    except NoFeasibleHost:
        return
    for flow in problem.flows:
        for task in flow.tasks:
            for host in problem.network.hosts:
                moved = evaluate(problem, proposal.placement.moved(flow.name, task.name, host.name)).cost_ms
                assert proposal.cost_ms <= moved * (1 + 1e-7)


@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_host_that_others_fill_changes_nothing_for_steepest_descent(make_problem: MakeProblem, seed: int) -> None:
    """One drained or crowded host anywhere must not stop all flows from being moved."""
    problem, _ = make_problem(seed)
    hosts, delays = problem.network.hosts, np.pad(problem.network.delays_ms, (0, 1), constant_values=500.0)
    delays[-1, -1] = 0.0
    full = Stream(1.0, 1.0, 1.0, 1.0, 1.0).load(1.0)
    alone = replace(problem, network=OverlayNetwork.sparse(hosts, problem.network.delays_ms))
    beside = replace(
        problem,
        network=OverlayNetwork.sparse((*hosts, Host("full")), delays),
        background=(*alone.host_loads, full),
    )
    try:
        expected = Centralised().place(alone, rng=random.Random(seed))
    except NoFeasibleHost:
        return
    assert expected.placement == Centralised().place(beside, rng=random.Random(seed)).placement


@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_mean_over_paths_is_never_above_the_longest(make_problem: MakeProblem, seed: int) -> None:
    """Ants drop what breaks a bound by its mean; that is sound only if the longest path then breaks it too."""
    problem, rng = make_problem(seed)
    names = [host.name for host in problem.network.hosts]
    hosts = {(flow.name, task.name): rng.choice(names) for flow in problem.flows for task in flow.tasks}
    for worth in evaluate(problem, Placement.of(hosts)).flows:
        assert worth.latency.mean_ms <= worth.latency.longest_ms * (1 + 1e-12)


@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_same_seed_gives_the_same_proposal(make_problem: MakeProblem, seed: int) -> None:
    """Results must repeat bit for bit, in any process."""
    problem, _ = make_problem(seed)
    for strategy in (RandomHosts(), Centralised(start="random")):
        outcomes = []
        for _ in range(2):
            try:
                outcomes.append(strategy.place(problem, rng=random.Random(seed)))
            except NoFeasibleHost as refusal:
                outcomes.append(str(refusal))
        assert outcomes[0] == outcomes[1]


@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_coarse_bound_is_below_what_any_strategy_reaches(make_problem: MakeProblem, seed: int) -> None:
    """Beyond the exact search only this bound is left; it must hold for all flows together."""
    problem, _ = make_problem(seed)
    try:
        proposal = Centralised().place(problem, rng=random.Random(seed))
    except NoFeasibleHost:
        return
    assert coarse_bound_ms(problem) <= proposal.cost_ms
    assert math.isfinite(proposal.cost_ms)
