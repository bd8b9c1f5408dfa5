"""The evaluator on cases worked out by hand: segments, paths, reuse, slack, and what can't run."""

import math

import pytest

from placement.evaluator import evaluate
from placement.evaluator_incremental import Ledger
from placement.evaluator_pricing import price_flow, price_on_host
from placement.model import (
    Edge,
    Flow,
    Host,
    Link,
    Placement,
    Problem,
    RoutedNetwork,
    Sink,
    Source,
    Tap,
    Task,
    chain,
)
from placement.queueing import IDLE, Stream, wait_ms

HOSTS = (Host("h0"), Host("h1", capacity=2.0), Host("h2"))
NETWORK = RoutedNetwork(HOSTS, (Link("h0", "h1", 3.0), Link("h1", "h2", 4.0)))


def mm1_ms(rate: float, service_ms: float) -> float:
    """Wait and service of M/M/1."""
    return service_ms / (1.0 - rate * service_ms)


def pair(name: str = "f", **extra: float) -> Flow:
    """Two exponential tasks of 4 VWU between h0 and h2, at 0.1 messages a millisecond."""
    tasks = (Task("a", 4.0, identity="parse"), Task("b", 4.0))
    return chain(name, Source("in", "h0", 0.1), tasks, Sink("out", "h2"), **extra)


def test_two_hosts_in_a_row_are_two_queues_and_the_way_between() -> None:
    """A tandem of M/M/1 queues has a product form: latencies add."""
    worth = evaluate(Problem(NETWORK, (pair(),)), Placement.of({("f", "a"): "h0", ("f", "b"): "h1"}))
    assert mm1_ms(0.1, 4.0) + 3.0 + mm1_ms(0.1, 2.0) + 4.0 == pytest.approx(worth.cost_ms)


def test_fused_tasks_wait_once() -> None:
    """Both on h1: one queue of services of mean 4 ms and squared variation 1/2."""
    worth = evaluate(Problem(NETWORK, (pair(),)), Placement.of({("f", "a"): "h1", ("f", "b"): "h1"}))
    wait = 0.4 / 0.6 * (1 + 0.5) / 2 * 4.0
    assert 3.0 + wait + 4.0 + 4.0 == pytest.approx(worth.cost_ms)


def test_slack_is_what_the_longest_path_leaves_of_the_bound() -> None:
    """Operators look at slack to see a broken promise coming."""
    problem = Problem(NETWORK, (pair(latency_bound_ms=30.0),))
    worth = evaluate(problem, Placement.of({("f", "a"): "h0", ("f", "b"): "h1"}))
    assert 30.0 - worth.cost_ms == pytest.approx(worth.of("f").slack_ms)


@pytest.mark.parametrize("first", ["near", "far"])
def test_a_join_has_a_longest_path_and_a_mean_over_both(first: str) -> None:
    """The far producer decides the bound, both decide the mean, in whatever order they are given."""
    second = "far" if first == "near" else "near"
    edges = tuple(Edge(*edge) for edge in ((first, "t"), (second, "t"), ("t", "out")))
    sources = (Source("near", "h1", 0.01), Source("far", "h0", 0.01))
    flow = Flow("j", sources, (Task("t", 2.0),), (Sink("out", "h1"),), edges)
    worth = evaluate(Problem(NETWORK, (flow,)), Placement.of({("j", "t"): "h1"})).of("j")
    here = mm1_ms(0.02, 1.0)
    assert here + 3.0 == pytest.approx(worth.latency.longest_ms)
    assert here + 1.5 == pytest.approx(worth.latency.mean_ms)


def test_weight_multiplies_a_flows_share_of_the_cost() -> None:
    """Twice the weight, twice the say."""
    where = Placement.of({("f", "a"): "h0", ("f", "b"): "h1"})
    light, heavy = (evaluate(Problem(NETWORK, (pair(weight=weight),)), where).cost_ms for weight in (1.0, 2.0))
    assert 2.0 * light == pytest.approx(heavy)


def test_what_cannot_run_costs_infinity() -> None:
    """An overbooked host or a missing task must never look cheap."""
    heavy = chain("f", Source("in", "h0", 0.3), (Task("a", 4.0),), Sink("out", "h2"))
    problem = Problem(NETWORK, (heavy,))
    assert math.isinf(evaluate(problem, Placement.of({("f", "a"): "h0"})).cost_ms)
    assert math.isinf(evaluate(problem, Placement()).cost_ms)
    assert math.isinf(price_flow(NETWORK, heavy, [0], [IDLE] * 3).cost_ms())
    assert math.isinf(Ledger.of(problem, Placement()).cost_ms())


def test_reuse_loads_only_what_is_downstream_of_the_tap() -> None:
    """g uses f's first task: h0 runs it once, and g's latency runs through f up to there."""
    problem = Problem(NETWORK, (pair("f"), pair("g")))
    where = {("f", "a"): "h0", ("f", "b"): "h1", ("g", "b"): "h2"}
    worth = evaluate(problem, Placement.of(where, (Tap("g", "a", "f", "a"),)))
    assert 0.4 == pytest.approx(worth.loads[0].rho)
    assert mm1_ms(0.1, 4.0) + 7.0 + mm1_ms(0.1, 4.0) == pytest.approx(worth.of("g").latency.mean_ms)
    alone = evaluate(problem, Placement.of({**where, ("g", "a"): "h0"}))
    assert math.isfinite(alone.cost_ms)
    assert worth.cost_ms < alone.cost_ms


def test_a_tap_of_a_flow_that_went_away_gives_nothing() -> None:
    """Withdrawing a flow must not leave its tappers looking healthy."""
    problem = Problem(NETWORK, (pair("f"), pair("g")))
    where = {("f", "a"): "h0", ("f", "b"): "h1", ("g", "b"): "h2"}
    ledger = Ledger.of(problem, Placement.of(where, (Tap("g", "a", "f", "a"),)))
    assert math.isfinite(ledger.latency("g").mean_ms)
    ledger.remove("f")
    assert math.isinf(ledger.latency("g").mean_ms)


def test_the_social_price_is_what_the_streams_already_there_wait_more() -> None:
    """n times delta Q, by hand: two streams of weight 1 and 3 on h0."""
    crowd = Stream(0.05, 4.0, 1.0, 1.0, 1.0).load(1.0).plus(Stream(0.05, 2.0, 1.0, 1.0, 3.0).load(1.0))
    graph = pair().graph
    price = price_on_host(graph, 0b01, 1.0, crowd)
    after = crowd.plus(Stream(0.1, 4.0, 1.0, 1.0, 1.0).load(1.0))
    assert 4.0 * (wait_ms(after) - wait_ms(crowd)) == pytest.approx(price.impact_ms)
    assert wait_ms(after) + 4.0 == pytest.approx(price.own_ms)
    assert after.rho == pytest.approx(price.rho)


def test_a_host_without_room_is_no_price() -> None:
    """Refused at the cap, and on a host that takes no task."""
    full = Stream(0.15, 4.0, 1.0, 1.0, 1.0).load(1.0)
    assert math.isinf(price_on_host(pair().graph, 0b01, 1.0, full).own_ms)
    assert math.isinf(price_on_host(pair().graph, 0b01, 0.0, IDLE).own_ms)


def test_cross_traffic_on_a_host_slows_the_flows_there_and_no_others() -> None:
    """Background can change while flows run; the ledger must notice, once."""
    problem = Problem(NETWORK, (pair("f"), pair("g")))
    where = {("f", "a"): "h0", ("f", "b"): "h1", ("g", "a"): "h2", ("g", "b"): "h2"}
    heavier = Problem(
        NETWORK, (pair("f"), pair("g")), background=(Stream(0.1, 3.0, 1.0, 1.0, 0.0).load(1.0), IDLE, IDLE)
    )
    ledger = Ledger.of(problem, Placement.of({**where, ("g", "b"): "h1"}))
    before = ledger.latency("g")
    ledger.set_background(0, heavier.host_loads[0])
    assert before == ledger.latency("g")
    assert evaluate(heavier, ledger.placement()).cost_ms == pytest.approx(ledger.cost_ms())
