"""Faults: hosts and links die and return; how long until the flows concerned run again, and is anything overbooked?"""

import math
from random import Random

from placement.leader_events import Published
from placement.queueing import UTILISATION_CAP
from placement.simulator.body import DETECTION_MS, Body
from placement.simulator.queries import QueryParams, background_load, mixed_query
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES
from services.lab.samples import Sample, Statistic

FLOWS = 20
FAULT_COUNT = 8
PAUSE_MS = 20_000.0


def _faults(trial: Trial) -> list[Sample]:
    network, ends = trial.network(TransitStubParams(transit_domains=1))
    rng = Random(f"{trial.seed}/faults")
    queries = QueryParams()
    background = [background_load(0.3, host.capacity, queries, rng=rng) for host in network.hosts]
    ants, leaders = RULES["ants"]
    worst_rho = 0.0

    def watch(host: str) -> None:
        nonlocal worst_rho
        worst_rho = max(worst_rho, body.cells[host].ledger.load().rho)

    body = Body(network, chance=seeded(trial.seed), ants=ants, leaders=leaders, background=background, watchman=watch)
    body.acquaint()
    flows = [mixed_query(f"q{k:02}", rng.randint(2, 6), ends, queries, rng=rng) for k in range(FLOWS)]
    for flow in flows:
        body.submit(flow)
        body.run_until_settled()
    pinned = {source.host for flow in flows for source in flow.sources}
    pinned |= {sink.host for flow in flows for sink in flow.sinks}
    samples: list[Sample] = []
    lost = 0
    for _ in range(FAULT_COUNT):
        used = sorted({host for leader in body.leaders.values() for host in leader.running.values()} - pinned)
        if not used:
            break
        host = rng.choice(used)
        hit = [name for name, leader in sorted(body.leaders.items()) if host in leader.running.values()]
        died_ms, seen = body.kernel.now_ms, len(body.decisions)
        body.lose_host(host)
        hit = [name for name in hit if _joined(body, name)]
        body.run_for(PAUSE_MS)
        for name in hit:
            back_ms = next(
                (at for at, d in body.decisions[seen:] if isinstance(d, Published) and d.plan.flow == name), math.nan
            )
            lost += math.isnan(back_ms)
            if not math.isnan(back_ms):
                took_s = (back_ms - died_ms - DETECTION_MS) / 1000
                samples.append(Sample("time from notice to running again, mean", took_s, "s", seed=trial.seed))
                measure = "time from notice to running again, 95th percentile"
                samples.append(Sample(measure, took_s, "s", None, Statistic.P95, trial.seed))
        body.return_host(host)
        link = rng.choice(list(getattr(network, "links", ())) or [None])
        if link is not None:
            body.lose_link(link.a, link.b)
            body.run_for(PAUSE_MS)
            body.return_link(link.a, link.b)
        body.run_for(PAUSE_MS)
    broken = sum(math.isinf(body.latency_ms(flow.name)) for flow in flows)
    samples.append(
        Sample(
            "flows hit, ends still joined, that did not run again in 20 s",
            float(lost),
            "flows",
            None,
            Statistic.SUM,
            trial.seed,
        )
    )
    samples.append(Sample("flows that do not run at the end", float(broken), "flows", None, Statistic.SUM, trial.seed))
    overbooked = float(worst_rho >= UTILISATION_CAP)
    samples.append(Sample("hosts overbooked at any time", overbooked, "hosts", None, Statistic.SUM, trial.seed))
    samples.append(Sample("largest promised load of any host", worst_rho, "rho", None, Statistic.MAX, trial.seed))
    return samples


def _joined(body: Body, name: str) -> bool:
    """Whether a flow's ends can still reach each other: a dead transit host cuts whole stubs off, and no host helps."""
    flow = body.leaders[name].flow
    return all(math.isfinite(body.delay_ms(a.host, b.host)) for a in flow.sources for b in flow.sinks)


FAULTS = Experiment(
    name="ants/faults",
    question="Hosts and links die and return: how long until flows run again, and is any host overbooked?",
    paper="not in the paper",
    trial=_faults,
    seeds=10,
)
