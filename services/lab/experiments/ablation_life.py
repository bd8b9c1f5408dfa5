"""The life part of the ablation: rules that only show where many queries live together and the world changes.

Some thirty queries of different weight come quickly, some asking nearly the same as others. Then foreign work moves
between hosts, some links become slow and some producers send more. What a rule is worth is what the end looks like
without it. Leaders may spend thirty times the usual budget, so that minutes show what would else take hours.
That ants to the same next hop travel together is no parameter: what it saves is told from the same life.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from placement.ants.params import IMPROVED, AntParams
from placement.ants.sizes import ENVELOPE_BYTES
from placement.leader_params import IMPROVED_LEADER, LeaderParams
from placement.model import Flow, Network, RoutedNetwork
from placement.queueing import Load
from placement.simulator.body import Body
from placement.simulator.faults import change_link
from placement.simulator.queries import QueryParams, background_load, known, mixed_query, variant
from placement.simulator.traffic import Traffic
from placement.topology.transit_stub import sized
from services.lab.chance import seeded
from services.lab.experiments.experiment import Trial
from services.lab.experiments.self_optimisation import faster, is_move
from services.lab.samples import Sample, Statistic

HOSTS = 60
QUERIES, VARIANTS = 28, 9
"""Of all queries, so many ask nearly the same as another one."""
TASKS = (2, 5)
WEIGHTS = (1.0, 1.0, 2.0, 4.0)
WORKLOAD = QueryParams(least_rate_per_ms=0.01, most_rate_per_ms=0.06)
LOAD = 0.35
SUBMIT_EVERY_MS = 200.0
"""Faster than a placement takes: leaders compete, and news of hosts are old."""
BEFORE_MS, AFTER_MS = 30_000.0, 180_000.0
CHANGED_HOSTS, CHANGED_LINKS = 0.3, 0.15
SLOWER = 3.0
"""A changed link takes so many times its delay."""
CHANGED_QUERIES, FASTER = 0.2, 2.0
"""Of the queries that ask for something of their own, so many get messages so many times as fast, with all that ask
nearly the same."""

_LEADERS = replace(IMPROVED_LEADER, budget_share=1e-3)
_SCOUT, _PHEROMONE = IMPROVED.scouting, IMPROVED.pheromone

VARIANTS_OF_RULES: dict[str, tuple[AntParams, LeaderParams]] = {
    "all rules": (IMPROVED, _LEADERS),
    "without social price": (replace(IMPROVED, scouting=replace(_SCOUT, social=False)), _LEADERS),
    "without pricing anew at enforcement": (
        replace(IMPROVED, enforcement=replace(IMPROVED.enforcement, price_tolerance=math.inf)),
        _LEADERS,
    ),
    "without floor": (replace(IMPROVED, pheromone=replace(_PHEROMONE, floor_share=0.0)), _LEADERS),
    "statistics from good trips only": (
        replace(IMPROVED, pheromone=replace(_PHEROMONE, learn_from_all_trips=False)),
        _LEADERS,
    ),
    "without evaporation": (replace(IMPROVED, pheromone=replace(_PHEROMONE, half_life_ms=math.inf)), _LEADERS),
    "without weakening of failed paths": (
        replace(IMPROVED, pheromone=replace(_PHEROMONE, failed_path_factor=1.0)),
        _LEADERS,
    ),
    "without reuse": (replace(IMPROVED, scouting=replace(_SCOUT, reuse=False)), _LEADERS),
    "without budget": (IMPROVED, replace(_LEADERS, budget_share=None)),
    "without alarms": (IMPROVED, replace(_LEADERS, heed_alarms=False)),
    "without a look at rates that drifted": (IMPROVED, replace(_LEADERS, look_at_drift=None)),
    "without cool-down": (IMPROVED, replace(_LEADERS, cool_down_rounds=0)),
    "without weighing the pause": (IMPROVED, replace(_LEADERS, pause_ms=0.0)),
    "without outstanding reports": (IMPROVED, replace(_LEADERS, outstanding=1.0)),
    "without learned patience": (IMPROVED, replace(_LEADERS, learn_patience=False)),
    "refusals teach nothing": (IMPROVED, replace(_LEADERS, heed_refusals=False)),
    "without moves": (IMPROVED, replace(_LEADERS, watch=False)),
}


@dataclass(frozen=True, slots=True)
class _World:
    """What is the same for every variant."""

    network: Network
    flows: tuple[Flow, ...]
    before: tuple[Load, ...]
    changed: dict[str, Load]
    slowed: dict[tuple[str, str], float]
    risen: tuple[Flow, ...]


def life_samples(trial: Trial) -> list[Sample]:
    """The same life under each variant of the rules."""
    world = _world(trial)
    samples: list[Sample] = []
    reference: dict[str, float] = {}
    for name, (ants, leaders) in VARIANTS_OF_RULES.items():
        body = _live(world, ants, leaders, trial.seed)
        weight = {flow.name: flow.weight for flow in world.flows}
        latency = {name: body.latency_ms(name) for name in weight}
        running = {name: ms for name, ms in latency.items() if math.isfinite(ms)}
        reference = running if name == "all rules" else reference
        moves = sum(is_move(decision) for _, decision in body.decisions)
        seed = trial.seed
        samples += [
            Sample(
                f"life: queries that do not run, {name}",
                float(len(weight) - len(running)),
                "queries",
                None,
                Statistic.SUM,
                seed,
            ),
            *_latencies(name, weight, running, reference, seed),
            Sample(f"life: moves, {name}", float(moves), "moves", seed=seed),
            Sample(f"life: control traffic, {name}", body.traffic.total_byte_hops / 1e6, "MB hops", seed=seed),
        ]
        if name == "all rules":
            alone = _alone_byte_hops(body.traffic) / 1e6
            samples.append(Sample("life: control traffic, each ant in its own envelope", alone, "MB hops", seed=seed))
    return samples


def _alone_byte_hops(traffic: Traffic) -> float:
    """What the same messages would have cost if none had shared an envelope."""
    kinds = traffic.hops.keys() - {"envelope"}
    return sum(traffic.byte_hops[kind] + ENVELOPE_BYTES * traffic.hops[kind] for kind in kinds)


def _latencies(
    name: str, weight: dict[str, float], running: dict[str, float], reference: dict[str, float], seed: int
) -> list[Sample]:
    """Weighted latency of what runs, and of what runs in both worlds over that of the first; none if nothing does."""
    samples: list[Sample] = []
    if running:
        mean_ms = _weighted_ms(weight, running, running) / math.fsum(weight[each] for each in running)
        samples.append(Sample(f"life: weighted mean latency at the end, {name}", mean_ms, "ms", seed=seed))
    both = running.keys() & reference.keys()
    if both:
        ratio = _weighted_ms(weight, running, both) / _weighted_ms(weight, reference, both)
        measure = f"life: the same over the queries that run in both, {name}"
        samples.append(Sample(measure, ratio, "ratio", "all rules", seed=seed))
    return samples


def _weighted_ms(weight: dict[str, float], latency_ms: dict[str, float], queries: Iterable[str]) -> float:
    return math.fsum(weight[each] * latency_ms[each] for each in sorted(queries))


def _world(trial: Trial) -> _World:
    network, ends = trial.network(sized(HOSTS))
    rng = Random(f"{trial.seed}/life")
    own = [
        known(mixed_query(f"q{k:02}", rng.randint(*TASKS), ends, WORKLOAD, rng=rng)) for k in range(QUERIES - VARIANTS)
    ]
    alike = [variant(rng.choice(own), f"q{len(own) + k:02}", ends, rng=rng) for k in range(VARIANTS)]
    flows = tuple(replace(flow, weight=rng.choice(WEIGHTS)) for flow in (*own, *alike))
    before = tuple(background_load(LOAD, host.capacity, WORKLOAD, rng=rng) for host in network.hosts)
    hosts = rng.sample(network.hosts, round(CHANGED_HOSTS * len(network.hosts)))
    changed = {host.name: background_load(LOAD, host.capacity, WORKLOAD, rng=rng) for host in hosts}
    links = network.links if isinstance(network, RoutedNetwork) else ()
    slow = rng.sample(links, round(CHANGED_LINKS * len(links)))
    slowed = {(link.a, link.b): SLOWER * link.delay_ms for link in slow}
    busy = {flow.sources for flow in rng.sample(own, round(CHANGED_QUERIES * len(own)))}
    risen = tuple(faster(flow, FASTER) for flow in flows if flow.sources in busy)
    return _World(network, flows, before, changed, slowed, risen)


def _live(world: _World, ants: AntParams, leaders: LeaderParams, seed: int) -> Body:
    body = Body(world.network, chance=seeded(seed), ants=ants, leaders=leaders, background=world.before)
    body.acquaint()
    for flow in world.flows:
        body.submit(flow)
        body.run_for(SUBMIT_EVERY_MS)
    body.run_for(BEFORE_MS)
    for host, load in world.changed.items():
        body.set_background(host, load)
    for (a, b), delay_ms in world.slowed.items():
        change_link(body, a, b, delay_ms)
    for flow in world.risen:
        body.change_flow(flow)
    body.run_for(AFTER_MS)
    return body
