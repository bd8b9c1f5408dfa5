"""Quality: the latency of one query placed by ants, over the proven optimum (Ants figure 2a), also on real networks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from placement.model import Flow, Network, Problem, violations
from placement.queueing import Load, wire_stream
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.strategies import Exact, NoFeasibleHost, StoppedWithoutProof
from placement.topology.transit_stub import TransitStubParams
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.optimum import least_ms, unproven
from services.lab.experiments.placing import RULES, place_alone
from services.lab.samples import Sample, Statistic, ratio_samples
from services.lab.targets import AtMost, Target
from services.lab.topologies import REAL, SEARCHED_HOSTS, read_topology, real_topology

LOADS = {"empty": 0.0, "half-loaded": 0.5}
TASKS = range(2, 9)
BANDWIDTHS = (12_500.0, 125_000.0)
"""100 Mbit/s and 1 Gbit/s, in bytes a millisecond."""
FOREIGN_BYTES = 8_000.0
SHAPES = (Shape.CHAIN, Shape.FAN_IN, Shape.FAN_OUT)
PAPER_TASKS = 5
"""On real networks the paper's rules place the queries of this size alone: they take long."""
STOPPED, NO_ROOM = "the search stopped before it found anything", "no placement has room"
_NAMES = {"ants": "ants", "paper": "paper's rules"}


@dataclass(frozen=True, slots=True)
class _Case:
    """A query and what else loads hosts and wires, the same for every rule that is compared on it."""

    network: Network
    flow: Flow
    shape: Shape
    background: tuple[Load, ...]
    wires: tuple[Load, ...] = ()


def _case(network: Network, ends: list[str], *, tasks: int, load: float, shape: Shape, name: str) -> _Case:
    rng = Random(name)
    queries = QueryParams()
    background = tuple(background_load(load, host.capacity, queries, rng=rng) for host in network.hosts)
    return _Case(network, random_query("query", tasks, shape, ends, queries, rng=rng), shape, background)


def _compare(case: _Case, *, seed: int, where: str, rules: Iterable[str]) -> tuple[list[Sample], dict[str, float]]:
    """Samples of one query placed by each rule, against the optimum; and the ratios, by rule."""
    problem = Problem(case.network, (case.flow,), background=case.background, wire_background=case.wires)
    try:
        best = Exact().place(problem, rng=Random(seed))
    except StoppedWithoutProof:
        return _left_out(where, STOPPED, seed), {}
    except NoFeasibleHost:
        return _left_out(where, NO_ROOM, seed), {}
    samples = [*_left_out(where, "", seed), unproven(best, "queries", seed=seed, where=f"{where}: ")]
    ratios: dict[str, float] = {}
    for rule in rules:
        body = _placed(case, rule, seed)
        latency_ms = body.latency_ms(case.flow.name)
        name, failed = _NAMES[rule], math.isinf(latency_ms)
        if case.wires:
            # Nobody books a wire (decision 47); what ants placed is asked about afterwards.
            broken = float(len(violations(problem, body.placement()))) if case.flow.name in body.truth.running else 0.0
            measure = f"{name}, {where}: rules that placements break"
            samples.append(Sample(measure, broken, "violations", None, Statistic.SUM, seed))
        measure = f"{name}, {where}: failures where a placement exists"
        samples.append(Sample(measure, float(failed), "queries", None, Statistic.SUM, seed))
        if failed:
            continue
        ratios[rule] = latency_ms / least_ms(best)
        for measure in (f"{name} over optimum, {where}", f"{name} over optimum, {where}, {case.shape.value}"):
            samples += ratio_samples(measure, ratios[rule], seed=seed, baseline="proven optimum")
    return samples, ratios


def _left_out(where: str, why: str, seed: int) -> list[Sample]:
    """Rows that count the queries on which nothing is compared, by the reason."""
    return [
        Sample(f"{where}: queries left out, {each}", float(each == why), "queries", None, Statistic.SUM, seed)
        for each in (STOPPED, NO_ROOM)
    ]


def _placed(case: _Case, rule: str, seed: int) -> Body:
    ants, leaders = RULES[rule]
    return place_alone(
        case.network,
        case.flow,
        case.background,
        ants=ants,
        leaders=leaders,
        seed=f"{seed}/{rule}",
        wires=case.wires,
    )


def _fig_2a(trial: Trial) -> list[Sample]:
    network, ends = trial.network(TransitStubParams(), most_hosts=SEARCHED_HOSTS)
    samples: list[Sample] = []
    for label, load in LOADS.items():
        for tasks in TASKS:
            shape = SHAPES[(trial.seed + tasks) % 3] if tasks >= 3 else Shape.CHAIN
            name = f"{trial.seed}/{label}/{tasks}"
            case = _case(network, ends, tasks=tasks, load=load, shape=shape, name=name)
            found, ratios = _compare(case, seed=trial.seed, where=label, rules=RULES)
            samples += found
            for rule, ratio in ratios.items():
                samples.append(Sample("", ratio, "ratio", seed=trial.seed, series=f"{rule}, {label}", x=float(tasks)))
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
        case = replace(_case(network, ends, tasks=tasks, load=0.5, shape=shape, name=name), wires=wires)
        found, ratios = _compare(case, seed=trial.seed, where="links with queues", rules=("ants",))
        samples += found
        for ratio in ratios.values():
            samples.append(Sample("", ratio, "ratio", seed=trial.seed, series="links with queues", x=float(tasks)))
    return samples


def _real(trial: Trial) -> list[Sample]:
    """Every real network, or the user's own."""
    samples: list[Sample] = []
    for place, name in enumerate(REAL if trial.topology is None else (trial.topology.name,)):
        rng = Random(f"{trial.seed}/{name}")
        network = (
            real_topology(name, rng=rng)
            if trial.topology is None
            else read_topology(trial.topology, rng=rng, most_hosts=SEARCHED_HOSTS)
        )
        ends = [host.name for host in network.hosts]
        for label, load in LOADS.items():
            for tasks in (3, 5, 8):
                shape = SHAPES[(trial.seed + tasks) % 3]
                query = f"{trial.seed}/{name}/{label}/{tasks}"
                case = _case(network, ends, tasks=tasks, load=load, shape=shape, name=query)
                rules = RULES if tasks == PAPER_TASKS else ("ants",)
                found, ratios = _compare(case, seed=trial.seed, where="all real networks", rules=rules)
                samples += found
                for rule, ratio in ratios.items():
                    measure = f"{_NAMES[rule]} over optimum, {name}, {label}"
                    samples += ratio_samples(measure, ratio, seed=trial.seed, baseline="proven optimum")
                if "ants" in ratios:
                    samples.append(Sample("", ratios["ants"], "ratio", seed=trial.seed, series=label, x=float(place)))
    return samples


def _targets(where: str, *, mean: float, p95: float) -> tuple[Target, ...]:
    return (
        AtMost(f"ants over optimum, {where}, mean", mean),
        AtMost(f"ants over optimum, {where}, 95th percentile", p95),
        AtMost(f"ants, {where}: failures where a placement exists", 0),
    )


FIG_2A = Experiment(
    name="ants/fig-2a",
    question="How far above the proven optimum is the latency of one query, with a growing number of tasks?",
    paper="'not much worse' than the optimum (figure 2a; no numbers in the text)",
    trial=_fig_2a,
    seeds=10,
    targets=tuple(target for label in LOADS for target in _targets(label, mean=1.02, p95=1.08)),
    x_label="tasks",
    y_label="latency over optimum",
)

LINKS = Experiment(
    name="ants/links",
    question="The same on half-loaded networks whose links have little bandwidth and foreign traffic.",
    paper="links have capacities from discrete classes (section 4); nothing measured apart",
    trial=_links,
    seeds=10,
    takes_topology=False,  # a file says nothing of bandwidths
    x_label="tasks",
    y_label="latency over optimum",
)

REAL_QUALITY = Experiment(
    name="ants/real",
    question="The same on real networks: PlanetLab, WonderNetwork, AWS, Seattle, Topology Zoo.",
    paper="not in the paper",
    trial=_real,
    seeds=10,
    targets=_targets("all real networks", mean=1.03, p95=1.10),
    x_label="network (" + ", ".join(REAL) + ")",
    y_label="latency over optimum",
)
