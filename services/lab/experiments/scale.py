"""Scale: 300 queries on 200 to 600 hosts, how many could be placed, and what ants cost the network (Ants figure 4).

The workload is the same for every size, and heavy enough that 200 hosts have no room for all of it. After placement
the system runs on in steady state; every control message of that time is counted against the data on the links.
"""

import math
from random import Random

from placement.model import Flow, Network, Problem
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, mixed_query
from placement.simulator.traffic import data_byte_hops_per_ms
from placement.topology.transit_stub import sized
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES
from services.lab.experiments.sequential_success import placed_in_turn
from services.lab.samples import Sample

SIZES = (200, 400, 600)
QUERIES = 300
WORKLOAD = QueryParams(least_rate_per_ms=0.02, most_rate_per_ms=0.15)
STEADY_MS = 900_000.0
"""Long enough for every leader to earn a few rounds of ants."""


def _fig_4(trial: Trial) -> list[Sample]:
    samples: list[Sample] = []
    for size in SIZES:
        network, ends = trial.network(sized(size))
        rng = Random(f"{trial.seed}/{size}")
        flows = [mixed_query(f"q{k:03}", rng.randint(2, 6), ends, WORKLOAD, rng=rng) for k in range(QUERIES)]
        samples += _one_size(network, flows, len(network.hosts), trial.seed, size)
        if trial.topology is not None:
            break  # the user's network has one size
    return samples


def _one_size(network: Network, flows: list[Flow], hosts: int, seed: int, size: int) -> list[Sample]:
    ants, leaders = RULES["ants"]
    body = Body(network, chance=seeded(seed), ants=ants, leaders=leaders)
    body.acquaint()
    for flow in flows:
        body.submit(flow)
        body.run_for(500.0)
    body.run_until_settled(limit_ms=300_000.0)
    at_once = sum(math.isfinite(body.latency_ms(name)) for name in body.leaders)
    burst = body.traffic.total_byte_hops
    body.run_for(STEADY_MS)
    steady = body.traffic.total_byte_hops - burst
    running = [name for name in sorted(body.leaders) if math.isfinite(body.latency_ms(name))]
    data = sum(data_byte_hops_per_ms(body.network, body.leaders[n].flow, body.leaders[n].running) for n in running)
    best = placed_in_turn(Problem(network, tuple(flows)))
    label = f"{size} hosts"
    share = steady / (data * STEADY_MS) * 100
    return [
        Sample(f"success rate of ants, {label}", len(running) / len(flows), "share", seed=seed, series="ants", x=size),
        Sample(
            f"success rate of the optimum in turn, {label}",
            best / len(flows),
            "share",
            seed=seed,
            series="optimum in turn",
            x=size,
        ),
        Sample(f"ants over the optimum in turn, {label}", len(running) / best, "ratio", "optimum in turn", seed=seed),
        Sample(f"of these at the first attempt, {label}", at_once / len(flows), "share", seed=seed),
        Sample(f"control share of link traffic in steady state, {label}", share, "%", seed=seed),
        Sample(f"control traffic of all placements, {label}", burst / 1e6, "MB hops", seed=seed),
        Sample(f"data on links, {label}", data / 1e3, "MB hops/s", seed=seed),
        Sample(f"hosts, {label}", float(hosts), "hosts", seed=seed),
    ]


FIG_4 = Experiment(
    name="ants/fig-4",
    question="What share of 300 queries can be placed on 200 to 600 hosts, and what do ants cost the network?",
    paper="success like the optimum's; ants take 0.01 % of a link's traffic at 200 hosts, 0.022 % at 600",
    trial=_fig_4,
    seeds=10,
    x_label="hosts",
    y_label="success rate",
)
