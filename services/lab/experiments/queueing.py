"""Queueing: how far is the model's latency (Ants eqs 3-10) from queues that are really run, by utilisation?"""

import numpy as np

from placement.evaluator_departures import latencies_with_departures
from placement.evaluator_reality import network_error
from placement.model import Flow, Host, Link, Placement, Problem, RoutedNetwork, Sink, Source, Task, chain
from placement.queueing.real_queue import model_errors
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.samples import Sample

MESSAGES = 100_000
NETWORK_MESSAGES = 4_000
FUSED_MESSAGES = 20_000
"""More than for other networks: few of them come through the filter."""
FUSED = ((0.1, 0.1, 10.0), (1.0, 0.5, 4.0))
"""A task in ms, what it keeps, and the task behind it in ms, on one host: most messages are short, some long."""
WIRE_BYTES_PER_MS = 50.0
"""Links with so little bandwidth that their queues matter."""


def _queueing(trial: Trial) -> list[Sample]:
    rng, seed = np.random.default_rng(trial.seed), trial.seed
    samples = []
    for row in model_errors(rng, messages=MESSAGES):
        at = f"rho {row.rho:g}"
        samples.append(Sample(f"model over real queue - 1, {row.case}, {at}", row.error, "share", "queue", seed=seed))
        samples.append(Sample("", row.error, "share", seed=seed, series=row.case, x=row.rho))
    for rate in (0.004, 0.012, 0.018):
        problem, placement = _crossing_flows(rate, rng)
        found = network_error(problem, placement, rng, messages=NETWORK_MESSAGES)
        where = f"six flows over five hosts and wires, {rate * 1000:g} messages/s"
        samples.append(Sample(f"model over real network - 1, {where}", found.error, "share", "network", seed=seed))
    for rho in (0.5, 0.7, 0.9):
        problem, placement = _constant_servers(rho)
        found = network_error(problem, placement, rng, messages=NETWORK_MESSAGES)
        followed_ms = latencies_with_departures(problem, placement)["f"].mean_ms
        where = f"three constant servers in a row, rho {rho:g}"
        samples += [
            Sample(f"model over real network - 1, {where}", found.error, "share", "network", seed=seed),
            Sample(
                f"with departures over real network - 1, {where}",
                followed_ms / found.real_ms - 1.0,
                "share",
                "network",
                seed=seed,
            ),
        ]
    for service_vwu, batch, behind_vwu in FUSED:
        for rho in (0.3, 0.5, 0.7):
            problem, placement = _filter_before_work(service_vwu, batch, behind_vwu, rho)
            found = network_error(problem, placement, rng, messages=FUSED_MESSAGES)
            where = f"{fused_name(service_vwu, batch, behind_vwu)}, rho {rho:g}"
            samples.append(Sample(f"model over real network - 1, {where}", found.error, "share", "network", seed=seed))
    return samples


def _crossing_flows(rate_per_ms: float, rng: np.random.Generator) -> tuple[Problem, Placement]:
    """Six chains that cross five hosts in all directions, services from constant to bursty, links with little room."""
    hosts = tuple(Host(f"h{i}", float(rng.choice([1.0, 2.0]))) for i in range(5))
    links = tuple(
        Link(f"h{i}", f"h{j}", float(rng.uniform(1, 5)), WIRE_BYTES_PER_MS) for i in range(5) for j in range(i)
    )
    flows: list[Flow] = []
    spots: dict[tuple[str, str], str] = {}
    for number in range(6):
        tasks = tuple(
            Task(f"t{i}", float(rng.uniform(1, 6)), cs2=float(rng.choice([0.0, 0.5, 1.0, 2.0])), output_bytes=100.0)
            for i in range(4)
        )
        ends = [f"h{rng.integers(5)}" for _ in range(2)]
        source = Source("in", ends[0], rate_per_ms * float(rng.uniform(0.5, 1.5)), float(rng.uniform(0.5, 2)), 100.0)
        flows.append(chain(f"f{number}", source, tasks, Sink("out", ends[1])))
        spots |= {(f"f{number}", f"t{i}"): f"h{rng.integers(5)}" for i in range(4)}
    return Problem(RoutedNetwork(hosts, links), tuple(flows)), Placement.of(spots)


def _constant_servers(rho: float) -> tuple[Problem, Placement]:
    """Three hosts in a row, one task of constant time on each: where following departures matters most."""
    hosts = tuple(Host(f"h{i}") for i in range(3))
    network = RoutedNetwork(hosts, (Link("h0", "h1", 1.0), Link("h1", "h2", 1.0)))
    tasks = tuple(Task(f"t{i}", 2.0, cs2=0.0) for i in range(3))
    flow = chain("f", Source("in", "h0", rho / 2.0), tasks, Sink("out", "h2"))
    return Problem(network, (flow,)), Placement.of({("f", f"t{i}"): f"h{i}" for i in range(3)})


def fused_name(service_vwu: float, batch: float, behind_vwu: float) -> str:
    """What the rows of such a pair say of it."""
    return f"{service_vwu:g} ms that keep {batch:.0%} and {behind_vwu:g} ms behind them, on one host"


def _filter_before_work(service_vwu: float, batch: float, behind_vwu: float, rho: float) -> tuple[Problem, Placement]:
    """Two fused tasks: how many messages the first triggers behind it is a matter of chance."""
    rate_per_ms = rho / (service_vwu + batch * behind_vwu)
    tasks = (Task("filter", service_vwu, batch=batch), Task("work", behind_vwu))
    flow = chain("f", Source("in", "h", rate_per_ms), tasks, Sink("out", "h"))
    problem = Problem(RoutedNetwork((Host("h"),), ()), (flow,))
    return problem, Placement.of({("f", "filter"): "h", ("f", "work"): "h"})


QUEUEING = Experiment(
    name="queueing/error",
    question="How far is the model's latency from queues that are really run, by utilisation?",
    paper="uses the model (section 3.6) and does not check it",
    trial=_queueing,
    seeds=5,
    takes_topology=False,
    x_label="utilisation",
    y_label="latency of the model over the real one, minus 1",
)
