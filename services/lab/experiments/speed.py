"""Speed of the simulator itself: 300 queries on 600 hosts, and a run a tenth of that size beside it."""

import time
from random import Random

from placement.simulator.body import Body
from placement.simulator.queries import mixed_query
from placement.topology.transit_stub import sized
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES
from services.lab.experiments.scale import WORKLOAD
from services.lab.samples import Sample

RUNS = ((60, 30), (600, 300))
"""Hosts, queries."""
STEADY_MS = 60_000.0


def _speed(trial: Trial) -> list[Sample]:
    samples, spent_s = [], []
    for asked, queries in RUNS:
        network, ends = trial.network(sized(asked))
        size = asked if trial.topology is None else len(network.hosts)
        rng = Random(f"{trial.seed}/{size}")
        flows = [mixed_query(f"q{k:03}", rng.randint(2, 6), ends, WORKLOAD, rng=rng) for k in range(queries)]
        ants, leaders = RULES["ants"]
        begun_s = time.process_time()
        body = Body(network, chance=seeded(trial.seed), ants=ants, leaders=leaders)
        body.acquaint()
        for flow in flows:
            body.submit(flow)
            body.run_for(500.0)
        body.run_until_settled(limit_ms=300_000.0)
        body.run_for(STEADY_MS)
        spent_s.append(time.process_time() - begun_s)
        label, placed = f"{queries} queries on {size} hosts", len(body.truth.running)
        samples += [
            Sample(f"hosts, {label}", float(len(network.hosts)), "hosts", seed=trial.seed),
            Sample(f"placed, {label}", float(placed), "queries", seed=trial.seed),
            Sample(f"events, {label}", float(body.kernel.events), "events", seed=trial.seed),
            Sample(f"processor time, {label}", spent_s[-1], "s", seed=trial.seed),
        ]
    growth = spent_s[1] / spent_s[0]
    samples.append(Sample("growth of processor time", growth, "ratio", "a tenth of the size", seed=trial.seed))
    return samples


SPEED = Experiment(
    name="simulator/speed",
    question="How long does the simulator take for 300 queries on 600 hosts, and how does that grow?",
    paper="not in the paper",
    trial=_speed,
    seeds=3,
)
