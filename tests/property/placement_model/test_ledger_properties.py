"""The incremental ledger and the evaluator from scratch are two ways to the same number."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.evaluator import evaluate
from placement.evaluator_incremental import Ledger
from placement.evaluator_pricing import price_flow
from placement.evaluator_total import ExactTotal
from placement.model import Flow, Host, Link, OverlayNetwork, Placement, Problem, RoutedNetwork, Tap, violations

MakeProblem = Callable[[int], tuple[Problem, random.Random]]
SEEDS = st.integers(0, 2**32 - 1)


def random_hosts(problem: Problem, rng: random.Random, flow: Flow) -> list[int]:
    return [rng.randrange(len(problem.network.hosts)) for _ in flow.tasks]


def check_same(problem: Problem, ledger: Ledger, placement: Placement) -> None:
    worth = evaluate(problem, placement)
    assert placement == ledger.placement()
    assert list(worth.loads) == list(ledger.loads)
    assert list(worth.wire_loads) == list(ledger.wire_loads)
    for each in worth.flows:
        assert tuple(each.latency) == pytest.approx(tuple(ledger.latency(each.flow)), rel=1e-9)
    assert worth.cost_ms == pytest.approx(ledger.cost_ms(), rel=1e-9)


@settings(max_examples=60)
@given(seed=SEEDS)
def test_after_any_moves_the_ledger_says_what_the_evaluator_says(make_problem: MakeProblem, seed: int) -> None:
    """A ledger that drifted would let the ants chase a price that doesn't exist."""
    problem, rng = make_problem(seed)
    names = [host.name for host in problem.network.hosts]
    placement = Placement.of(
        {(flow.name, task.name): rng.choice(names) for flow in problem.flows for task in flow.tasks}
    )
    ledger = Ledger.of(problem, placement)
    for _ in range(6):
        flow = rng.choice(problem.flows)
        task, host = rng.randrange(len(flow.tasks)), rng.randrange(len(names))
        placement = placement.moved(flow.name, flow.tasks[task].name, names[host])
        ledger.move(flow.name, task, host)
        if rng.random() < 0.5:
            check_same(problem, ledger, placement)
    gone = rng.choice(problem.flows)
    hosts = ledger.running[gone.name].own
    ledger.remove(gone.name)
    ledger.cost_ms()
    ledger.put(gone, hosts)
    check_same(problem, ledger, placement)


@settings(max_examples=60)
@given(seed=SEEDS)
def test_taps_price_alike_in_the_ledger_and_from_scratch(make_problem: MakeProblem, seed: int) -> None:
    """A reused task carries another flow's latency; both evaluators must follow it, also after the tapped one moved."""
    problem, rng = make_problem(seed)
    if len(problem.flows) < 2:
        return
    names = [host.name for host in problem.network.hosts]
    tapper, served = problem.flows[0], problem.flows[1]
    tap = Tap(tapper.name, "t1", served.name, "t1")
    needed = tapper.graph.needed(frozenset({tapper.graph.task_index["t1"]}))
    hosts = {(flow.name, task.name): rng.choice(names) for flow in problem.flows for task in flow.tasks}
    for index, task in enumerate(tapper.tasks):
        if index not in needed:
            del hosts[tapper.name, task.name]
    placement = Placement.of(hosts, (tap,))
    assert not [each for each in violations(problem, placement) if each.rule.name in {"REUSE", "IDLE", "INCOMPLETE"}]
    ledger = Ledger.of(problem, placement)
    check_same(problem, ledger, placement)
    host = rng.randrange(len(names))
    ledger.move(served.name, served.graph.task_index["t1"], host)
    moved = placement.moved(served.name, "t1", names[host])
    check_same(problem, ledger, moved)
    gone = ledger.running[served.name]
    ledger.remove(served.name)
    left = Ledger(problem.network, background=problem.host_loads, cap=problem.utilisation_cap)
    for name in sorted(ledger.running):
        left.put(ledger.running[name].flow, ledger.running[name].own, ledger.running[name].taps)
    assert list(left.wire_loads) == list(ledger.wire_loads), "what tapped it still sends over its other edges"
    ledger.put(gone.flow, gone.own, gone.taps)
    check_same(problem, ledger, moved)


@settings(max_examples=80)
@given(seed=SEEDS)
def test_a_newcomers_price_is_what_the_evaluator_finds_afterwards(make_problem: MakeProblem, seed: int) -> None:
    """A scout's promise must equal what is found once its report is carried out: own latency, impact on others."""
    problem, rng = make_problem(seed)
    ledger = Ledger(problem.network, background=problem.host_loads, cap=problem.utilisation_cap)
    newcomer, *rest = problem.flows
    for flow in rest:
        ledger.put(flow, random_hosts(problem, rng, flow))
    before = ledger.cost_ms()
    hosts = random_hosts(problem, rng, newcomer)
    price = price_flow(problem.network, newcomer, hosts, ledger.loads, ledger.wire_loads)
    background_weight = [load.weight for load in problem.host_loads]
    waits = list(ledger.waits_ms)
    ledger.put(newcomer, hosts)
    assert tuple(price.latency) == pytest.approx(tuple(ledger.latency(newcomer.name)))
    if math.isinf(price.impact_ms) or math.isinf(before) or problem.network.has_queues:
        return
    grown = sum(w * (ledger.waits_ms[h] - waits[h]) for h, w in enumerate(background_weight) if w)
    others = ledger.cost_ms() - newcomer.weight * ledger.latency(newcomer.name).mean_ms - before
    assert others + grown == pytest.approx(price.impact_ms, abs=1e-6)


@settings(max_examples=40)
@given(seed=SEEDS)
def test_loads_without_a_flow_are_those_of_a_network_that_never_had_it(make_problem: MakeProblem, seed: int) -> None:
    """A running flow's new placement is priced as if it were not there yet; its own shadow must not scare it away."""
    problem, rng = make_problem(seed)
    hosts = {flow.name: random_hosts(problem, rng, flow) for flow in problem.flows}
    ledgers = [Ledger(problem.network, background=problem.host_loads) for _ in range(2)]
    left_out = rng.choice(problem.flows).name
    for flow in problem.flows:
        ledgers[0].put(flow, hosts[flow.name])
        if flow.name != left_out:
            ledgers[1].put(flow, hosts[flow.name])
    assert list(ledgers[1].loads) == ledgers[0].loads_without(left_out)


@settings(max_examples=60)
@given(seed=SEEDS, count=st.integers(1, 12))
def test_an_overlays_neighbourhood_reaches_every_host(seed: int, count: int) -> None:
    """An ant can only find hosts that some walk leads to, whatever the delays are: asymmetric, equal, not metric."""
    rng = random.Random(seed)
    delays = [
        [0.0 if a == b else rng.choice((1.0, 2.0, rng.uniform(0.1, 9))) for b in range(count)] for a in range(count)
    ]
    network = OverlayNetwork.sparse(tuple(Host(f"h{i}", region=rng.choice(("", "r"))) for i in range(count)), delays)
    reached, waiting = {0}, [0]
    while waiting:
        for other in network.neighbours[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    assert count == len(reached)
    assert all(host in network.neighbours[other] for host, row in enumerate(network.neighbours) for other in row)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(-1e15, 1e15) | st.just(math.inf)), max_size=30))
def test_a_total_that_forgets_is_the_rounded_sum_of_what_is_left(changes: list[tuple[str, float]]) -> None:
    """A sum that kept traces of terms long gone would make equal placements differ in price."""
    total, left = ExactTotal(), dict[str, float]()
    for name, term in changes:
        if left.get(name) == term:
            total.drop(name)
            del left[name]
        else:
            total.set(name, term)
            left[name] = term
        assert math.fsum(left.values()) == total.value


def test_a_move_costs_the_same_work_however_many_flows_it_does_not_touch(make_flow: Callable[..., Flow]) -> None:
    """Evaluation must stay flat as the network fills: the price of one change may not grow with strangers."""

    def work_of_one_move(strangers: int) -> tuple[int, int]:
        hosts = tuple(Host(f"h{i}", 100.0) for i in range(strangers + 3))
        network = RoutedNetwork(hosts, tuple(Link(f"h{i}", f"h{i + 1}", 1.0) for i in range(strangers + 2)))
        ledger = Ledger(network)
        rng = random.Random(1)
        for i in range(strangers):
            ledger.put(make_flow(rng, f"s{i}", 3, shape="chain"), [3 + i] * 4)
        ledger.put(make_flow(rng, "mine", 3, shape="chain"), [0, 1, 1, 2])
        ledger.cost_ms()
        hosts_before, flows_before = ledger.work.hosts, ledger.work.flows
        ledger.move("mine", 1, 2)
        ledger.cost_ms()
        return ledger.work.hosts - hosts_before, ledger.work.flows - flows_before

    assert work_of_one_move(2) == (2, 1)
    assert work_of_one_move(200) == (2, 1)
