"""Speed of the simulator itself: 300 queries on 600 hosts, and runs a tenth of that size beside it.

A run may be smaller in queries, or in queries and hosts: on fewer hosts every query also has a shorter way to walk, and
its waves reach fewer cells, so that such a run has less than a tenth of the events. The growth of events stands beside
that of processor time, and what an event takes tells the two apart (decision 0337). The user's own network has one
size, so there it is smaller in queries alone.
"""

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
from services.lab.targets import AtMost

HOSTS = 600
FEWER_HOSTS, FEWER_QUERIES = "a tenth of the queries and of the hosts", "a tenth of the queries"
RUNS = {
    FEWER_HOSTS: (HOSTS // 10, 30),
    FEWER_QUERIES: (HOSTS, 30),
    "": (HOSTS, 300),
}
"""What it is beside the run that counts, the last: hosts, queries."""
STEADY_MS = 60_000.0


def _speed(trial: Trial) -> list[Sample]:
    samples: list[Sample] = []
    spent: dict[str, tuple[float, int]] = {}
    for beside, (asked, queries) in RUNS.items():
        if trial.topology is not None and asked != HOSTS:
            continue
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
        spent[beside] = time.process_time() - begun_s, body.kernel.events
        label, placed = f"{queries} queries on {size} hosts", len(body.truth.running)
        samples += [
            Sample(f"hosts, {label}", float(len(network.hosts)), "hosts", seed=trial.seed),
            Sample(f"placed, {label}", float(placed), "queries", seed=trial.seed),
            Sample(f"events, {label}", float(body.kernel.events), "events", seed=trial.seed),
            Sample(f"processor time, {label}", spent[beside][0], "s", seed=trial.seed),
        ]
    whole_s, whole_events = spent.pop("")
    for beside, (small_s, events) in spent.items():
        slower, more = whole_s / small_s, whole_events / events
        samples += [
            Sample("growth of processor time", slower, "ratio", beside, seed=trial.seed),
            Sample("growth of events", more, "ratio", beside, seed=trial.seed),
            Sample("growth of processor time for each event", slower / more, "ratio", beside, seed=trial.seed),
        ]
    return samples


SPEED = Experiment(
    name="simulator/speed",
    question="How long does the simulator take for 300 queries on 600 hosts, and how does that grow?",
    paper="not in the paper",
    trial=_speed,
    timed=True,
    seeds=3,
    reading="'Ten times larger' is read twice: ten times the queries on the same network, and ten times the events "
    "whatever they are of. Ten times the queries and hosts are about 30 times the events: on 600 hosts an ant "
    "has 1.6 times as many hops to go as on 60, and a wave ten times as many cells to reach "
    "([decision 0337](decisions/0337-what-a-larger-run-is.md))",
    targets=(
        AtMost(f"processor time, 300 queries on {HOSTS} hosts", 600),
        AtMost("growth of processor time", 12, FEWER_QUERIES),
        AtMost("growth of processor time for each event", 1.2, FEWER_QUERIES),
        AtMost("growth of processor time for each event", 1.2, FEWER_HOSTS),
    ),
)
