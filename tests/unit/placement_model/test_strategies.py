"""The strategies on small cases whose answers can be worked out by hand, and at the size that the issue asks for."""

import random
import time
from dataclasses import replace

import pytest

from placement.evaluator import evaluate
from placement.model import (
    Edge,
    Flow,
    Host,
    Link,
    ModelError,
    OverlayNetwork,
    Placement,
    Problem,
    RoutedNetwork,
    Sink,
    Source,
    Task,
    chain,
)
from placement.queueing import IDLE, Stream
from placement.strategies import (
    STRATEGIES,
    BoundTooTight,
    Centralised,
    Consumer,
    Exact,
    NoFeasibleHost,
    Producer,
    Proposal,
    RandomHosts,
    SequentialOptimum,
)
from services.host.calibration import calibrate


def line(*capacities: float) -> RoutedNetwork:
    hosts = tuple(Host(f"h{i}", capacity) for i, capacity in enumerate(capacities))
    return RoutedNetwork(hosts, tuple(Link(f"h{i}", f"h{i + 1}", 5.0) for i in range(len(hosts) - 1)))


def row(name: str, tasks: int, *, rate: float = 0.01, at: str = "h0", to: str = "h3") -> Flow:
    return chain(name, Source("in", at, rate), tuple(Task(f"t{i}", 4.0) for i in range(tasks)), Sink("out", to))


def rng() -> random.Random:
    return random.Random(7)


def test_producer_and_consumer_keep_everything_at_their_end() -> None:
    """The two simplest baselines."""
    problem = Problem(line(1.0, 1.0, 1.0, 1.0), (row("f", 3),))
    assert {"h0"} == set(Producer().place(problem, rng=rng()).placement.hosts.values())
    assert {"h3"} == set(Consumer().place(problem, rng=rng()).placement.hosts.values())


def test_what_does_not_fit_at_the_producer_goes_to_the_next_host_and_says_why() -> None:
    """Three tasks of load 0.4 on a host that takes two."""
    proposal = Producer().place(Problem(line(1.0, 1.0, 1.0, 1.0), (row("f", 3, rate=0.1),)), rng=rng())
    assert ["h0", "h0", "h1"] == [proposal.placement.hosts["f", f"t{i}"] for i in range(3)]
    assert "f/t2 at h1: its producer h0 is full" in proposal.reasons


def test_nothing_fits_is_an_error_that_says_how_much_is_missing() -> None:
    """The user must know whether to add a host or withdraw a flow."""
    problem = Problem(line(1.0, 1.0), (row("f", 1, rate=0.5, to="h1"),))
    for name in sorted(STRATEGIES):
        with pytest.raises(NoFeasibleHost, match="add a host or withdraw a flow"):
            STRATEGIES[name]().place(problem, rng=rng())


def test_the_optimum_takes_the_fast_host_on_the_way() -> None:
    """Travel is the same anywhere between the ends, so the fast host wins, and fused: 12 VWU at capacity 4 is 3 ms."""
    proposal = Exact().place(Problem(line(1.0, 1.0, 4.0, 1.0), (row("f", 3),)), rng=rng())
    assert {"h2"} == set(proposal.placement.hosts.values())
    assert proposal.proven
    assert 15.0 + 3.0 < proposal.cost_ms < 15.0 + 3.2


def test_a_loaded_host_is_left_alone_when_its_flows_count() -> None:
    """Social price: a newcomer that would slow a crowd goes elsewhere, one that looks at itself only stays."""
    crowd = Stream(0.06, 5.0, 1.0, 1.0, 400.0).load(1.0)
    problem = Problem(line(0.2, 1.0, 0.2, 0.2), (row("f", 1),), background=(IDLE, crowd, IDLE, IDLE))
    selfish = Exact(exhaustive_limit=0).place(problem, rng=rng())
    social = Exact(exhaustive_limit=0, social=True).place(problem, rng=rng())
    assert selfish.proven
    assert social.proven
    assert "h1" == selfish.placement.hosts["f", "t0"]
    assert "h1" != social.placement.hosts["f", "t0"]


def test_a_search_that_may_not_branch_says_that_it_has_no_proof() -> None:
    """An honest bound is part of the answer."""
    flows = tuple(row(f"f{i}", 3, rate=0.05) for i in range(3))
    problem = Problem(line(1.0, 1.0, 1.0, 1.0), flows)
    stopped = Exact(exhaustive_limit=0, max_branches=2).place(problem, rng=rng())
    proven = Exact(exhaustive_limit=0).place(problem, rng=rng())
    assert not stopped.proven
    assert "without proof" in stopped.reasons[0]
    assert proven.proven
    assert stopped.bound_ms <= proven.cost_ms <= stopped.cost_ms


def test_too_many_tasks_for_the_tables_are_placed_in_turn_without_proof() -> None:
    """The proposal must not pretend."""
    flows = tuple(row(f"f{i}", 4) for i in range(4))
    proposal = Exact().place(Problem(line(1.0, 2.0, 1.0, 1.0), flows), rng=rng())
    assert not proposal.proven
    assert "no proof" in proposal.reasons[0]
    assert 0.0 < proposal.bound_ms <= proposal.cost_ms


def test_beyond_the_tables_the_best_of_several_descents_is_proposed() -> None:
    """From the producer no single move leads out of a slow host: a placement four times as good was passed over."""
    network = OverlayNetwork.sparse((Host("slow", 0.5), Host("fast", 4.0)), [[0.0, 30.0], [30.0, 0.0]])
    whole = row("f", 12, rate=0.001, at="slow", to="fast")
    flow = replace(whole, sinks=(*whole.sinks, Sink("back", "slow")), edges=(*whole.edges, Edge("t11", "back")))
    problem = Problem(network, (flow,))
    from_producer = Centralised(start="producer", moves_per_round=1).place(problem, rng=rng())
    assert {"slow"} == set(from_producer.placement.hosts.values())
    for strategy in (Exact(), SequentialOptimum()):
        proposal = strategy.place(problem, rng=rng())
        assert {"fast"} == set(proposal.placement.hosts.values())
        assert not proposal.proven
        assert "the consumer" in proposal.reasons[0]


def test_flows_placed_in_turn_avoid_those_before_them() -> None:
    """One fast host, two flows that fill it: the second must see the first."""
    flows = (row("f", 1, rate=0.2), row("g", 1, rate=0.2))
    proposal = SequentialOptimum().place(Problem(line(1.0, 1.0, 1.0, 1.0), flows), rng=rng())
    assert 2 == len(set(proposal.placement.hosts.values()))


@pytest.mark.parametrize("start", ["producer", "random", "sequential"])
def test_the_descent_never_ends_above_its_start(start: str) -> None:
    """Steepest descent only goes down, from any start."""
    flows = tuple(row(f"f{i}", 3, rate=0.03) for i in range(6))
    problem = Problem(line(1.0, 2.0, 4.0, 1.0), flows)
    starts = {"producer": Producer(), "random": RandomHosts(), "sequential": SequentialOptimum()}
    before = starts[start].place(problem, rng=rng())
    after = Centralised(start=start).place(problem, rng=rng())  # type: ignore[arg-type]
    assert after.cost_ms <= before.cost_ms
    assert after.cost_ms == pytest.approx(evaluate(problem, after.placement).cost_ms)


def test_a_descent_prefers_a_start_that_keeps_a_bound_to_a_cheaper_end_that_breaks_it() -> None:
    """Bounds come before means; both ends of a descent are at hand."""
    late = Proposal(Placement.of({}), 5.0, (), broken_ms=(("f", 2.0),))
    kept = Proposal(Placement.of({}), 9.0, ())
    assert kept is min(late, kept, key=lambda each: each.worth)


def test_a_flow_in_turn_whose_bound_no_placement_keeps_is_placed_and_told() -> None:
    """It is refused by the exact strategy alone; others propose what there is, and say what is wrong with it."""
    flow = replace(row("f", 2), latency_bound_ms=16.0)
    problem = Problem(line(1.0, 1.0, 1.0, 1.0), (flow,))
    with pytest.raises(BoundTooTight, match=r"f: its longest path takes 2\d\.\d ms or more.* above its bound of 16 ms"):
        Exact(exhaustive_limit=0).place(problem, rng=rng())
    with pytest.raises(BoundTooTight, match=r"no placement keeps every bound.*the nearest breaks the bound of f by"):
        Exact().place(problem, rng=rng())
    for name in sorted(STRATEGIES.keys() - {"exact"}):
        proposal = STRATEGIES[name]().place(problem, rng=rng())
        assert any("breaks the bound of f by" in reason for reason in proposal.reasons), name


def thousand_operators() -> Problem:
    """1,000 operators in 200 chains on 100 hosts in a grid, loaded to about a half."""
    draw = random.Random(3)
    hosts = tuple(Host(f"h{i:02d}", draw.choice((1.0, 2.0, 4.0))) for i in range(100))
    links = [Link(hosts[i].name, hosts[i + 1].name, draw.uniform(1, 9)) for i in range(100) if i % 10 < 9]
    links += [Link(hosts[i].name, hosts[i + 10].name, draw.uniform(1, 9)) for i in range(90)]
    flows = []
    for number in range(200):
        source = Source("in", draw.choice(hosts).name, draw.uniform(0.01, 0.05), draw.uniform(0.5, 2))
        tasks = tuple(Task(f"t{i}", draw.uniform(1, 6), draw.choice((0.0, 0.5, 1.0, 2.0))) for i in range(5))
        flows.append(chain(f"f{number:03d}", source, tasks, Sink("out", draw.choice(hosts).name)))
    return Problem(RoutedNetwork(hosts, tuple(links)), tuple(flows))


USUAL_CAPACITY = 0.7
"""Of the machines on which the target was set. A slower one may take as much longer."""


def test_a_thousand_operators_on_a_hundred_hosts_in_a_second_and_as_good_as_unhurried() -> None:
    """The issue's target for the centralised strategy: CPU seconds, and within 2 % of one move at a time."""
    problem = thousand_operators()
    assert problem.network.delays_ms.shape == (100, 100)
    spent_s = []
    for _ in range(2):  # the better of two: a neighbour on the same core is not the strategy's fault
        started = time.process_time()
        hurried = Centralised().place(problem, rng=rng())
        spent_s.append(time.process_time() - started)
    unhurried = Centralised(moves_per_round=1).place(problem, rng=rng())
    assert hurried.cost_ms <= 1.02 * unhurried.cost_ms
    assert min(spent_s) < max(1.0, USUAL_CAPACITY / calibrate())


def test_a_task_that_only_its_neighbours_on_the_host_feed_leaves_the_proof_sound() -> None:
    """Over edges outside the forest it seems to enter with no weight; none of an infinite wait is nothing."""
    work = {"t0": 3.0, "j": 1.0, "b1": 1.0, "b2": 2.0, "b3": 4.0}
    flow = Flow(
        "f",
        (Source("in0", "h0", 0.1), Source("in1", "h2", 0.1)),
        tuple(Task(name, vwu) for name, vwu in work.items()),
        (Sink("out", "h1"),),
        tuple(
            Edge(*edge.split("-")) for edge in ("in0-t0", "t0-j", "in1-b1", "b1-b2", "b1-b3", "b2-j", "b3-j", "j-out")
        ),
    )
    hosts = tuple(Host(f"h{i}") for i in range(3))
    network = OverlayNetwork.sparse(hosts, [[0.0, 3.0, 4.0], [3.0, 0.0, 2.0], [4.0, 2.0, 0.0]])
    searched = Exact(exhaustive_limit=0).place(Problem(network, (flow,)), rng=rng())
    priced = Exact().place(Problem(network, (flow,)), rng=rng())
    assert searched.proven
    assert priced.cost_ms == pytest.approx(searched.cost_ms)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Centralised(start="middle"), "start"),  # type: ignore[arg-type]
        (lambda: Centralised(moves_per_round=0), "moves_per_round"),
        (lambda: Centralised(max_rounds=-1), "max_rounds"),
        (lambda: Exact(max_tasks=40), "max_tasks"),
        (lambda: Exact(max_branches=0), "max_branches"),
        (lambda: Exact(gap=1.0), "gap"),
        (lambda: Exact(exhaustive_limit=-1), "exhaustive_limit"),
        (lambda: SequentialOptimum(gap=-0.1), "gap"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(make: object, complaint: str) -> None:
    """Parameters check themselves, beside their algorithm."""
    assert callable(make)
    with pytest.raises(ModelError, match=complaint):
        make()
