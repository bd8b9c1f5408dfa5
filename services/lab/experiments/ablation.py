"""Ablation: each rule of our ants switched off in turn: what is it worth?

Rules of one placement on half-loaded networks, against the proven optimum; rules of a system that lives on in a life of
many queries (`ablation_life`).
"""

import math
from dataclasses import replace
from random import Random

from placement.ants.params import IMPROVED, AntParams
from placement.ants.scouting import Rule
from placement.leader_params import IMPROVED_LEADER
from placement.model import Network, Problem
from placement.pheromone import Reinforcement
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.strategies import Exact, NoFeasibleHost
from placement.topology.transit_stub import TransitStubParams
from services.lab.experiments.ablation_life import life_samples
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import place_alone
from services.lab.samples import Sample, Statistic, ratio_samples
from services.lab.topologies import SEARCHED_HOSTS, real_topology

_SCOUT, _PHEROMONE = IMPROVED.scouting, IMPROVED.pheromone

VARIANTS: dict[str, AntParams] = {
    "all rules": IMPROVED,
    "without scent wave": replace(IMPROVED, scent=None),
    "without carried programme (greedy)": replace(IMPROVED, scouting=replace(_SCOUT, rule=Rule.GREEDY)),
    "without hosts beside the trail": replace(IMPROVED, scouting=replace(_SCOUT, nearby_hosts=0)),
    "one hop beside the trail": replace(IMPROVED, surroundings=replace(IMPROVED.surroundings, hops=1)),
    "two hops beside the trail": replace(IMPROVED, surroundings=replace(IMPROVED.surroundings, hops=2)),
    "one way kept": replace(IMPROVED, scouting=replace(_SCOUT, ways_kept=1)),
    "without join hint": replace(IMPROVED, scouting=replace(_SCOUT, join_hint=False)),
    "without exploring scouts": replace(IMPROVED, scouting=replace(_SCOUT, explore=0.0)),
    "without floor": replace(IMPROVED, pheromone=replace(_PHEROMONE, floor_share=0.0)),
    "statistics from good trips only": replace(IMPROVED, pheromone=replace(_PHEROMONE, learn_from_all_trips=False)),
    "reinforcement 1/T": replace(IMPROVED, pheromone=replace(_PHEROMONE, reinforcement=Reinforcement.INVERSE_TRIP)),
}


REAL_VARIANTS: dict[str, AntParams] = {
    "all rules": IMPROVED,
    "without dreams": replace(IMPROVED, scouting=replace(_SCOUT, dreaming=0.0)),
    "without hosts beside the trail": VARIANTS["without hosts beside the trail"],
}
"""Rules that matter where all delays are known and break the triangle inequality."""


def _ablation(trial: Trial) -> list[Sample]:
    samples = _compare(trial, *trial.network(TransitStubParams(), most_hosts=SEARCHED_HOSTS), VARIANTS, "")
    if trial.topology is None:
        network = real_topology("seattle", rng=Random(f"{trial.seed}/seattle"))
        samples += _compare(trial, network, [host.name for host in network.hosts], REAL_VARIANTS, ", Seattle")
    return samples + life_samples(trial)


def _compare(
    trial: Trial, network: Network, ends: list[str], variants: dict[str, AntParams], where: str
) -> list[Sample]:
    """Queries of every shape on a half-loaded network, placed by each variant."""
    samples: list[Sample] = []
    for tasks, shape in ((5, Shape.FAN_IN), (7, Shape.FAN_OUT), (8, Shape.CHAIN)):
        rng = Random(f"{trial.seed}/{tasks}")
        queries = QueryParams()
        background = [background_load(0.5, host.capacity, queries, rng=rng) for host in network.hosts]
        flow = random_query("query", tasks, shape, ends, queries, rng=rng)
        try:
            best = Exact().place(Problem(network, (flow,), background=tuple(background)), rng=rng)
        except NoFeasibleHost:
            continue
        for name, ants in variants.items():
            body = place_alone(network, flow, background, ants=ants, leaders=IMPROVED_LEADER, seed=trial.seed)
            latency_ms = body.latency_ms(flow.name)
            failed = math.isinf(latency_ms)
            samples.append(
                Sample(f"failures, {name}{where}", float(failed), "queries", None, Statistic.SUM, trial.seed)
            )
            if not failed:
                ratio = latency_ms / (best.cost_ms if best.proven else best.bound_ms)
                samples += ratio_samples(
                    f"over optimum, {name}{where}", ratio, seed=trial.seed, baseline="proven optimum"
                )
    return samples


ABLATION = Experiment(
    name="ants/ablation",
    question="Each rule of our ants switched off in turn, for one query and for a life of many: what is it worth?",
    paper="not in the paper",
    trial=_ablation,
    seeds=10,
)
