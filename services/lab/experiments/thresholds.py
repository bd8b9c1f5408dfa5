"""Thresholds: what beta costs and saves under cross-traffic (Ants table 1).

A 10-task query runs for 200 s while the load of random hosts jumps. Loss is the integral over time of its latency
above the best achievable one, which an exact search finds anew after every change.
"""

from dataclasses import replace
from random import Random

from placement.leader_events import Published
from placement.model import Network, Problem
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.strategies import Exact
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES, still
from services.lab.experiments.self_optimisation import watchful
from services.lab.samples import Sample

BETAS = (1.1, 1.25, 1.5, 1.75, 2.0)
PERTURBATIONS = 10
EVERY_MS = 20_000.0
LOOKS = 40
"""How often latency is looked at between two changes."""
_NETWORK = TransitStubParams(transit_domains=1)


def _table_1(trial: Trial) -> list[Sample]:
    network, ends = trial.network(_NETWORK)
    ants, leaders = RULES["ants"]
    rng = Random(f"{trial.seed}/table-1")
    queries = QueryParams()
    flow = random_query("query", 10, Shape.CHAIN, ends, queries, rng=rng)
    background = [background_load(0.4, host.capacity, queries, rng=rng) for host in network.hosts]
    # Cross-traffic: each time a fifth of the hosts get another load.
    changes = []
    loads = list(background)
    best_ms = []
    for _ in range(PERTURBATIONS):
        change = {k: background_load(0.4, network.hosts[k].capacity, queries, rng=rng) for k in _fifth(network, rng)}
        for place, load in change.items():
            loads[place] = load
        changes.append(change)
        problem = Problem(network, (flow,), background=tuple(loads))
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
        loss = 0.0
        for change, least_ms in zip(changes, best_ms, strict=True):
            for place, load in change.items():
                body.set_background(network.hosts[place].name, load)
            for _ in range(LOOKS):
                loss += max(0.0, min(body.latency_ms("query"), 2_000.0) - least_ms) * EVERY_MS / LOOKS / 1000
                body.run_for(EVERY_MS / LOOKS)
        updates = sum(isinstance(decision, Published) for _, decision in body.decisions) - 1
        losses[label] = loss
        samples.append(Sample(f"updates, {label}", float(updates), "moves", seed=trial.seed))
        samples.append(Sample(f"loss, {label}", loss, "ms s", seed=trial.seed))
        if label != "no updates":
            samples.append(Sample("", loss, "ms s", seed=trial.seed, series="loss", x=beta))
            samples.append(Sample("", float(updates), "moves", seed=trial.seed, series="updates", x=beta))
    share = losses["beta 1.1"] / losses["no updates"] if losses["no updates"] else 0.0
    samples.append(Sample("loss at beta 1.1 over loss without updates", share, "ratio", "no updates", seed=trial.seed))
    return samples


def _fifth(network: Network, rng: Random) -> list[int]:
    count = len(network.hosts)
    return sorted(rng.sample(range(count), max(1, count // 5)))


TABLE_1 = Experiment(
    name="ants/table-1",
    question="How do updates fall and losses grow with beta?",
    paper="updates 15, 10, 7, 2, 1 and losses 0, 25.87, 59.23, 78.67, 101.23 ms for beta 1.1, 1.25, 1.5, 1.75, 2.0",
    trial=_table_1,
    seeds=10,
    x_label="beta",
    y_label="loss (ms s), updates",
)
