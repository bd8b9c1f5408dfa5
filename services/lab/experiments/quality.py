"""Quality: the latency of one query placed by ants, over the proven optimum (Ants figure 2a), also on real networks."""

import math
from random import Random

from placement.model import Flow, Network, Problem
from placement.queueing import Load, wire_stream
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.strategies import Exact, NoFeasibleHost
from placement.topology.transit_stub import TransitStubParams
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES, place_alone
from services.lab.samples import Sample, Statistic, ratio_samples
from services.lab.topologies import REAL, read_topology, real_topology

LOADS = {"empty": 0.0, "half-loaded": 0.5}
TASKS = range(2, 9)
BANDWIDTHS = (12_500.0, 125_000.0)
"""100 Mbit/s and 1 Gbit/s, in bytes a millisecond."""
FOREIGN_BYTES = 8_000.0
SHAPES = (Shape.CHAIN, Shape.FAN_IN, Shape.FAN_OUT)


def _case(
    network: Network, ends: list[str], *, tasks: int, load: float, shape: Shape, name: str
) -> tuple[Flow, list[Load]]:
    """A query and a background, the same for every rule that is compared on it."""
    rng = Random(name)
    queries = QueryParams()
    background = [background_load(load, host.capacity, queries, rng=rng) for host in network.hosts]
    return random_query("query", tasks, shape, ends, queries, rng=rng), background


def _compare(
    network: Network,
    flow: Flow,
    background: list[Load],
    *,
    seed: int,
    rule: str,
    where: str,
    wires: tuple[Load, ...] = (),
) -> tuple[list[Sample], float | None]:
    """Samples of one placement against the optimum; the ratio if there is one."""
    name = "ants" if rule == "ants" else "paper's rules"
    problem = Problem(network, (flow,), background=tuple(background), wire_background=wires)
    failures = f"{name}, {where}: failures where a placement exists"
    try:
        best = Exact().place(problem, rng=Random(seed))
    except NoFeasibleHost:
        return [], None
    ants, leaders = RULES[rule]
    body = place_alone(network, flow, background, ants=ants, leaders=leaders, seed=f"{seed}/{rule}", wires=wires)
    latency_ms = body.latency_ms(flow.name)
    failed = math.isinf(latency_ms)
    samples = [Sample(failures, float(failed), "queries", None, Statistic.SUM, seed)]
    if failed:
        return samples, None
    # Where the search ended without a proof, the bound takes the optimum's place: never in the ants' favour.
    least_ms = best.cost_ms if best.proven else best.bound_ms
    ratio = latency_ms / least_ms
    return samples + ratio_samples(f"{name} over optimum, {where}", ratio, seed=seed, baseline="proven optimum"), ratio


def _fig_2a(trial: Trial) -> list[Sample]:
    network, ends = trial.network(TransitStubParams())
    samples: list[Sample] = []
    for label, load in LOADS.items():
        for tasks in TASKS:
            shape = SHAPES[(trial.seed + tasks) % 3] if tasks >= 3 else Shape.CHAIN
            flow, background = _case(
                network, ends, tasks=tasks, load=load, shape=shape, name=f"{trial.seed}/{label}/{tasks}"
            )
            for rule in RULES:
                found, ratio = _compare(network, flow, background, seed=trial.seed, rule=rule, where=label)
                samples += found
                if ratio is not None:
                    samples.append(
                        Sample("", ratio, "ratio", seed=trial.seed, series=f"{rule}, {label}", x=float(tasks))
                    )
    return samples


def _links(trial: Trial) -> list[Sample]:
    """The same where links have queues: every wire carries foreign messages too, some more than half of what it can."""
    network, ends = trial.network(TransitStubParams(bandwidths_bytes_per_ms=BANDWIDTHS))
    rng = Random(f"{trial.seed}/wires")
    wires = tuple(
        wire_stream(rng.uniform(0.0, 0.7) * width / FOREIGN_BYTES, FOREIGN_BYTES).load(width)
        for width in network.wire_bandwidths
    )
    samples: list[Sample] = []
    for tasks in (3, 5, 8):
        shape = SHAPES[(trial.seed + tasks) % 3]
        name = f"{trial.seed}/links/{tasks}"
        flow, background = _case(network, ends, tasks=tasks, load=0.5, shape=shape, name=name)
        found, ratio = _compare(
            network, flow, background, seed=trial.seed, rule="ants", where="links with queues", wires=wires
        )
        samples += found
        if ratio is not None:
            samples.append(Sample("", ratio, "ratio", seed=trial.seed, series="links with queues", x=float(tasks)))
    return samples


def _real(trial: Trial) -> list[Sample]:
    """Every real network, or the user's own."""
    samples: list[Sample] = []
    for place, name in enumerate(REAL if trial.topology is None else (trial.topology.name,)):
        rng = Random(f"{trial.seed}/{name}")
        network = real_topology(name, rng=rng) if trial.topology is None else read_topology(trial.topology, rng=rng)
        ends = [host.name for host in network.hosts]
        for label, load in LOADS.items():
            for tasks in (3, 5, 8):
                shape = SHAPES[(trial.seed + tasks) % 3]
                flow, background = _case(
                    network, ends, tasks=tasks, load=load, shape=shape, name=f"{trial.seed}/{name}/{label}/{tasks}"
                )
                found, ratio = _compare(
                    network, flow, background, seed=trial.seed, rule="ants", where="all real networks"
                )
                samples += found
                if ratio is not None:
                    samples += ratio_samples(
                        f"ants over optimum, {name}, {label}", ratio, seed=trial.seed, baseline="proven optimum"
                    )
                    samples.append(Sample("", ratio, "ratio", seed=trial.seed, series=label, x=float(place)))
    return samples


FIG_2A = Experiment(
    name="ants/fig-2a",
    question="How far above the proven optimum is the latency of one query, with a growing number of tasks?",
    paper="'not much worse' than the optimum (figure 2a; no numbers in the text)",
    trial=_fig_2a,
    seeds=10,
    x_label="tasks",
    y_label="latency over optimum",
)

LINKS = Experiment(
    name="ants/links",
    question="The same on half-loaded networks whose links have little bandwidth and foreign traffic.",
    paper="links have capacities from discrete classes (section 4); nothing measured apart",
    trial=_links,
    seeds=10,
    x_label="tasks",
    y_label="latency over optimum",
)

REAL_QUALITY = Experiment(
    name="ants/real",
    question="The same on real networks: PlanetLab, WonderNetwork, AWS, Seattle, Topology Zoo.",
    paper="not in the paper",
    trial=_real,
    seeds=10,
    x_label="network (" + ", ".join(REAL) + ")",
    y_label="latency over optimum",
)
