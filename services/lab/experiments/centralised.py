"""Centralised: how long a full proposal for 1,000 operators on about 100 hosts takes, and what hurrying costs it."""

import time
from random import Random
from statistics import fmean

from placement.evaluator import evaluate
from placement.model import Flow, Problem
from placement.simulator.queries import QueryParams, mixed_query
from placement.strategies import Centralised
from placement.topology.transit_stub import sized
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.samples import Sample, Statistic
from services.lab.targets import AtMost

OPERATORS = 1_000
HOSTS = 100
TASKS = (2, 8)
WORKLOAD = QueryParams(least_rate_per_ms=0.008, most_rate_per_ms=0.06)
"""Rates at which they use about a half of the hosts."""


def _centralised(trial: Trial) -> list[Sample]:
    network, ends = trial.network(sized(HOSTS))
    problem = Problem(network, tuple(_flows(ends, trial.seed)))
    spent_s, cost_ms = {}, {}
    for pace, moves in (("hurried", Centralised().moves_per_round), ("unhurried", 1)):
        begun_s = time.process_time()
        proposal = Centralised(moves_per_round=moves).place(problem, rng=Random(trial.seed))
        spent_s[pace], cost_ms[pace] = time.process_time() - begun_s, proposal.cost_ms
    loads = [load.rho for load in evaluate(problem, proposal.placement).loads]
    seed, ratio = trial.seed, cost_ms["hurried"] / cost_ms["unhurried"]
    return [
        Sample("operators", float(sum(len(flow.tasks) for flow in problem.flows)), "operators", seed=seed),
        Sample("hosts", float(len(network.hosts)), "hosts", seed=seed),
        Sample("mean load of hosts", fmean(loads), "rho", seed=seed),
        Sample("processor time of a full proposal, mean", spent_s["hurried"], "s", seed=seed),
        Sample("processor time of a full proposal, largest", spent_s["hurried"], "s", None, Statistic.MAX, seed),
        Sample("processor time of a full proposal, one move at a time", spent_s["unhurried"], "s", seed=seed),
        Sample("cost of the proposal, mean", ratio, "ratio", "one move at a time", seed=seed),
        Sample("cost of the proposal, largest", ratio, "ratio", "one move at a time", Statistic.MAX, seed),
    ]


def _flows(ends: list[str], seed: int) -> list[Flow]:
    """Flows of a few tasks each, with as many operators in all as asked for."""
    rng, left = Random(f"{seed}/operators"), OPERATORS
    flows: list[Flow] = []
    while left:
        tasks = min(rng.randint(*TASKS), left)
        flows.append(mixed_query(f"q{len(flows):03}", tasks, ends, WORKLOAD, rng=rng))
        left -= len(flows[-1].tasks)
    return flows


CENTRALISED = Experiment(
    name="strategies/centralised",
    question="How long does a full proposal for 1,000 operators on about 100 hosts take, and what does hurrying cost?",
    paper="centralised takes hours past 150 tasks",
    trial=_centralised,
    timed=True,
    seeds=10,
    targets=(
        AtMost("processor time of a full proposal, largest", 1.0),
        AtMost("cost of the proposal, largest", 1.02),
    ),
)
