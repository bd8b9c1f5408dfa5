"""Thresholds: what beta costs and saves under cross-traffic (Ants table 1).

A 10-task query runs for 15 minutes while cross-traffic changes on every host once a minute. Loss is the integral over
time of its latency above the best achievable one, which an exact search finds anew after every change. Shares of losses
are of their sums over all seeds: a table has one loss a row, and a seed whose query is hardly hit would else weigh as
much as one that is.
"""

from dataclasses import replace
from random import Random

from placement.leader_events import Published
from placement.model import Problem
from placement.queueing import Load
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.strategies import Exact
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES, still
from services.lab.experiments.self_optimisation import watchful
from services.lab.samples import Sample, Statistic

BETAS = (1.1, 1.25, 1.5, 1.75, 2.0)
PERTURBATIONS = 15
"""As many as the paper's query moved at beta 1.1."""
EVERY_MS = 60_000.0
LOOK_MS = 100.0
"""How often latency is looked at: ants need a few hundred milliseconds to move a query."""
LOAD = 0.45
"""Mean load of the hosts; each gets any load up to twice that."""
_NETWORK = TransitStubParams(transit_domains=1)


def _table_1(trial: Trial) -> list[Sample]:
    network, ends = trial.network(_NETWORK)
    ants, leaders = RULES["ants"]
    rng = Random(f"{trial.seed}/table-1")
    queries = QueryParams()
    flow = random_query("query", 10, Shape.CHAIN, ends, queries, rng=rng)
    background = [background_load(LOAD, host.capacity, queries, rng=rng) for host in network.hosts]
    changes: list[list[Load]] = []
    best_ms = []
    for _ in range(PERTURBATIONS):
        change = [background_load(LOAD, host.capacity, queries, rng=rng) for host in network.hosts]
        changes.append(change)
        problem = Problem(network, (flow,), background=tuple(change))
        best_ms.append(Exact().place(problem, rng=rng).cost_ms)
    samples: list[Sample] = []
    losses: dict[str, float] = {}
    for label, how, beta in [
        *((f"beta {beta:g}", watchful(leaders), beta) for beta in BETAS),
        ("no updates", still(leaders), 1.1),
    ]:
        body = Body(network, chance=seeded(trial.seed), ants=ants, leaders=how, background=background)
        body.acquaint()
        body.submit(replace(flow, beta=beta))
        body.run_until_settled()
        body.run_for(EVERY_MS)
        loss = 0.0
        for change, least_ms in zip(changes, best_ms, strict=True):
            for host, load in zip(network.hosts, change, strict=True):
                body.set_background(host.name, load)
            for _ in range(int(EVERY_MS / LOOK_MS)):
                loss += max(0.0, min(body.latency_ms("query"), 2_000.0) - least_ms) * LOOK_MS / 1000
                body.run_for(LOOK_MS)
        updates = sum(isinstance(decision, Published) for _, decision in body.decisions) - 1
        losses[label] = loss
        samples.append(Sample(f"updates, {label}", float(updates), "moves", seed=trial.seed))
        samples.append(Sample(f"loss, {label}", loss, "ms s", seed=trial.seed))
        if label != "no updates":
            samples.append(Sample("", loss, "ms s", seed=trial.seed, series="loss", x=beta))
            samples.append(Sample("", float(updates), "moves", seed=trial.seed, series="updates", x=beta))
    for label in list(losses)[:-1]:
        measure = f"loss at {label} over loss without updates"
        samples.append(
            Sample(
                measure, losses[label], "ratio", "no updates", Statistic.QUOTIENT, trial.seed, of=losses["no updates"]
            )
        )
    return samples


TABLE_1 = Experiment(
    name="ants/table-1",
    question="How do updates fall and losses grow with beta?",
    paper="updates 15, 10, 7, 2, 1 and losses 0, 25.87, 59.23, 78.67, 101.23 ms for beta 1.1, 1.25, 1.5, 1.75, 2.0",
    trial=_table_1,
    seeds=10,
    x_label="beta",
    y_label="loss (ms s), updates",
)
