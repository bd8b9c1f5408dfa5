"""Hot spots foreseen and avoided, against reacting to them: real bursts replayed in the simulator (Synergy 3.3 to 3.5).

Every host is a real queue, message by message; nothing of the queueing model is used to tell what is true. Rates are
those of real traces: minutes are replayed in ten seconds, with straight lines between them; traces of single requests
run in real time. Three worlds see the same rates: one that never moves, which says what warnings were right; one whose
leaders hear of a bound when it is broken; one whose leaders hear before.

Warnings are counted as `placement.hotspots.verdicts` does, for several times that they may hold: the shorter, the
harder to be right. They are also counted apart for flows that meet no trace in real time on any of their hosts:
requests in real time come at twice to ten times their rate from one second to the next, which nothing before tells.

What the alarm sees, rates and backlogs, is as old as live: models come some seconds after what they are of. Leaders
that react are told at once that a bound is broken; that is in their favour. How arrivals and services vary it is told
as hosts here really have it; live hosts measure that. The figures of decision 0193 are from before this delay, with an
alarm that knew the present backlog, and took arrivals for more or less even than they were (decision 0334).

The live half is `hot_spots_live`.
"""

import math
from collections import deque
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from placement.evaluator_edges import edge_costs_ms
from placement.evaluator_paths import end_to_end
from placement.fits.arrays import Array, Flags
from placement.hotspots import (
    Alarm,
    AlarmParams,
    CourseParams,
    Courses,
    Foresight,
    HotSpot,
    Outlook,
    Stops,
    VerdictParams,
    Verdicts,
    foresee,
    hot_spots,
    movers,
)
from placement.leader_events import HotSpotAhead, Published
from placement.model import Flow, Network
from placement.moves import PauseModel
from placement.queueing import Load, Stream
from placement.queueing.arrays import background_sums
from placement.queueing.real_queue import draw, lindley
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.strategies import NoFeasibleHost
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES
from services.lab.experiments.self_optimisation import faster
from services.lab.replay import REAL_TIME, replayed
from services.lab.samples import Sample, Statistic
from services.lab.series import own_series, read_folder
from services.lab.targets import AtLeast, AtMost, InOrder
from services.modelling.flow_verdicts import FlowVerdicts

FLOWS = 8
SECONDS = 400
LEARNING_S = 300
"""Rates have been seen for so long before a trial begins."""
HOLDS_S = (1, 2, 3, 5, 10)
"""How long a warning may hold; the last is what the system uses."""
TWICE_THE_PAUSE = "twice the pause predicted for a move"
COURSES = CourseParams()
DELAY_S = 2
"""Live, a model comes one to three seconds after its second."""
MEASURED_S = 3
"""Rates are measured over so long."""
BOUND_FACTOR = 4.0
"""A flow's bound over its latency at its mean rate when it was placed."""
POISSON_CA2 = 1.0
"""How the times between arrivals vary at the hosts: messages of a second come at any moment of it."""
BACKGROUND_CS2 = 1.0
"""What belongs to no flow is one stream of many small and few long services."""
_NETWORK = TransitStubParams(transit_domains=1)
_QUERIES = QueryParams(least_rate_per_ms=0.04, most_rate_per_ms=0.1, least_ca2=POISSON_CA2, most_ca2=POISSON_CA2)


@dataclass(slots=True)
class Seen:
    """What one world was like, second by second: [second, flow]."""

    stretch: list[Array] = field(default_factory=list)
    """Latency over bound."""
    chance: list[Array] = field(default_factory=list)
    """That the bound breaks by each of the courses' steps: [flow, step]."""
    shares: Flags | None = None
    """Flows that began on a host with a trace in real time."""
    moves: int = 0


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the alarm knew, what it made of it, and what it warns of."""

    outlook: Outlook
    ahead: Foresight
    spots: list[HotSpot]


class RealHosts:
    """Queues of all hosts, message by message. The work that is left at the end of a second is met by the next.

    `background` is as `played` gives it.
    """

    def __init__(self, network: Network, background: list[Load], seed: int) -> None:
        self._network = network
        self._background = background
        self._rng = np.random.default_rng(seed)
        self.left_ms = np.zeros(len(network.hosts))

    def second(self, outlook: Outlook, factors: Array) -> Array:
        """The mean wait at each host in one second; flows come at these multiples of the outlook's rates.

        Where no flow stops nobody waits; what is left there is worked off beside the background.
        """
        stops = outlook.stops
        waits = np.zeros(len(self.left_ms))
        used = np.unique(stops.host)
        free = np.array([1.0 - load.rho for load in self._background])
        worked_off = np.maximum(0.0, self.left_ms - 1_000.0 * free)
        self.left_ms = np.where(np.isin(np.arange(len(waits)), used), self.left_ms, worked_off)
        for host in used.tolist():
            times, services = self.arrivals(outlook, host, np.flatnonzero(stops.host == host), factors)
            if not len(times):
                self.left_ms[host] = max(0.0, self.left_ms[host] - 1_000.0)
                continue
            order = times.argsort(kind="stable")
            # What is left of the second before comes first, as one message.
            arrivals = np.concatenate([[0.0], times[order]])
            works = np.concatenate([[self.left_ms[host]], services[order]])
            found = lindley(arrivals, works)
            waits[host] = found[1:].mean()
            self.left_ms[host] = max(0.0, found[-1] + works[-1] - (1_000.0 - arrivals[-1]))
        return waits

    def arrivals(self, outlook: Outlook, host: int, here: NDArray[np.int64], factors: Array) -> tuple[Array, Array]:
        """When messages come to a host in one second, in no order, and how long each takes; `here`: its stops."""
        stops, load = outlook.stops, self._background[host]
        streams = [(stops.rate_per_ms[k] * factors[stops.flow[k]], stops.service_ms[k], stops.cs2[k]) for k in here]
        if load.rate_per_ms > 0:
            streams.append((load.rate_per_ms, load.rho / load.rate_per_ms, BACKGROUND_CS2))
        times, services = [], []
        for rate, service, cs2 in streams:
            count = self._rng.poisson(rate * 1_000.0)
            times.append(self._rng.uniform(0.0, 1_000.0, count))
            services.append(draw(service, cs2, count, self._rng))
        return (np.concatenate(times), np.concatenate(services)) if times else (np.zeros(0), np.zeros(0))


def played(load: Load) -> Load:
    """The same load from one stream, which varies as `RealHosts` plays it."""
    if load.rate_per_ms <= 0:
        return load
    stream = Stream(load.rate_per_ms, load.rho / load.rate_per_ms, BACKGROUND_CS2, POISSON_CA2, load.weight)
    return stream.load(1.0)


def outlook_of(body: Body, flows: list[Flow], background: list[Load], left_ms: Array) -> Outlook:
    """Where the flows run now, at their mean rates; arrivals and services vary as `RealHosts` plays them."""
    hosts, index = body.network.hosts, body.network.host_index
    rows: list[tuple[float, ...]] = []
    base = np.zeros(len(flows))
    for number, flow in enumerate(flows):
        running = body.leaders[flow.name].running
        masks: dict[int, int] = {}
        for task, name in running.items():
            masks[index[name]] = masks.get(index[name], 0) | 1 << task
        for host, mask in sorted(masks.items()):
            for edge, stream in flow.graph.streams(mask):
                share = flow.graph.edges[edge].path_share
                service_ms = stream.work / hosts[host].capacity
                rows.append((number, host, stream.rate_per_ms, service_ms, stream.cs2, POISSON_CA2, share))
        base[number] = _base_ms(body, flow, [running.get(task) for task in range(flow.graph.task_count)])
    flow, host, rate, service, cs2, ca2, weight = np.array(rows).T
    stops = Stops(flow.astype(np.int64), host.astype(np.int64), rate, service, cs2, ca2, weight)
    bounds = np.array([each.latency_bound_ms for each in flows])
    names = tuple(each.name for each in flows)
    return Outlook(
        names, bounds, base, tuple(each.name for each in hosts), stops, background_sums(background), left_ms.copy()
    )


def _base_ms(body: Body, flow: Flow, where: list[str | None]) -> float:
    """What a flow's messages take beside waiting in queues of hosts.

    Not its latency less these waits: at the rates that leaders believe a host may be too full, and then both are
    infinite.
    """
    own = [None if host is None else body.network.host_index[host] for host in where]
    truth = body.truth
    costs = edge_costs_ms(
        body.network, flow, own, {}, wait_at=lambda _: 0.0, wire_loads=truth.wire_loads, cap=truth.cap
    )
    return end_to_end(flow.graph, costs).mean_ms


@dataclass(frozen=True, slots=True)
class Stage:
    """What all worlds of a trial have in common; `rates` [flow, second]: multiples of the flows' mean rates."""

    seed: int
    network: Network
    background: list[Load]
    drawn: list[Flow]
    rates: Array
    in_real_time: Flags
    """Flows whose trace is not stretched: its jumps take a second."""
    measured: Array
    """[second, flow]: what is counted of the rates."""
    courses: Array
    """[second, flow, step, course], as the alarm knows them from the end of the learning on."""
    delay_s: int
    """By so much what the alarm sees is old."""


def stage_of(trial: Trial, flows: int, *, delay_s: int = DELAY_S) -> Stage:
    """A network, and flows that follow traces drawn by chance."""
    network, ends = trial.network(_NETWORK)
    rng = Random(f"{trial.seed}/hotspots")
    background = [played(background_load(0.3, host.capacity, _QUERIES, rng=rng)) for host in network.hosts]
    drawn = [random_query(f"q{k}", rng.randint(2, 4), Shape.CHAIN, ends, _QUERIES, rng=rng) for k in range(flows)]
    series = own_series() if trial.traces is None else read_folder(trial.traces)
    names = sorted(series)
    chosen = [rng.choice(names) for _ in range(flows)]
    rates = np.array([replayed(name, series[name], rng, seconds=LEARNING_S + SECONDS) for name in chosen])
    in_real_time = np.array([name.endswith(REAL_TIME) for name in chosen])
    mean_rates = np.array([flow.sources[0].rate_per_ms * 1e3 for flow in drawn])
    measured = np.random.default_rng(trial.seed).poisson(mean_rates * rates.T) / mean_rates
    courses = _courses(measured, LEARNING_S - delay_s)[:SECONDS]
    return Stage(trial.seed, network, background, drawn, rates, in_real_time, measured, courses, delay_s)


def _courses(measured: Array, first: int) -> Array:
    """What the rates may do, as seen from each second from the first on: the same in all worlds."""
    courses, every = Courses(measured.shape[1], COURSES), np.arange(measured.shape[1])
    found = []
    for second, rates in enumerate(measured):
        courses.step(rates)
        if second >= first:
            found.append(courses.ahead(every))
    return np.array(found)


def _hot_spots(trial: Trial) -> list[Sample]:
    stage = stage_of(trial, FLOWS)
    worlds = {how: live(stage, how) for how in ("never", "reacting", "foreseeing")}
    sudden = worlds["never"].shares
    assert sudden is not None
    kinds = {"": np.ones(FLOWS, dtype=bool), ", no host in real time": ~sudden, ", hosts in real time": sudden}
    warnings = [
        sample
        for kind, which in kinds.items()
        for holds_s in (HOLDS_S if not kind else HOLDS_S[-1:])
        for sample in _warning_samples(worlds["never"], kind, which, holds_s, trial.seed)
    ]
    return [*warnings, pause_sample(trial.seed), *_violation_samples(worlds, trial.seed)]


def live(stage: Stage, how: str) -> Seen:
    """One world. `how`: never moving, reacting to broken bounds, or foreseeing them."""
    body, flows = _placed(stage)
    if how == "never":
        for leader in body.leaders.values():
            leader.course.rounds.watch = False
    hosts, seen = RealHosts(stage.network, stage.background, stage.seed), Seen()
    verdicts = FlowVerdicts(VerdictParams(holds_s=COURSES.steps[-1]))
    begun = len(body.decisions)
    waiting = deque([hosts.left_ms.copy()] * stage.delay_s, maxlen=stage.delay_s + 1)
    for second in range(LEARNING_S, LEARNING_S + SECONDS):
        outlook = outlook_of(body, flows, stage.background, hosts.left_ms)
        if seen.shares is None:
            seen.shares = _shares(outlook, stage.in_real_time)
        latency = outlook.latencies_ms(hosts.second(outlook, stage.rates[:, second])[:, None])[:, 0]
        seen.stretch.append(latency / outlook.bounds_ms)
        known = replace(outlook, backlog_ms=hosts.left_ms.copy())
        waiting.append(known.backlog_ms)
        foreseen = None
        if how != "reacting":
            old = replace(outlook, backlog_ms=waiting[0])
            ahead = foresee(old, stage.courses[second - LEARNING_S], np.array(COURSES.steps))
            seen.chance.append(ahead.chance)
            spots = hot_spots(old, ahead, verdicts.alarm.level)
            left_ms = dict(zip(known.flows, (known.bounds_ms - latency).tolist(), strict=True))
            verdicts.step(second, left_ms, {spot.flow for spot in spots}, known.company())
            foreseen = Foreseen(old, ahead, spots)
        if how != "never":
            recent = stage.measured[second - MEASURED_S + 1 : second + 1].mean(axis=0)
            _tell(body, flows, known, recent, broken=latency > outlook.bounds_ms, foreseen=foreseen)
        body.run_for(1_000.0)
    published = [each for _, each in body.decisions[begun:] if isinstance(each, Published)]
    seen.moves = sum(len(each.plan.moves) for each in published)
    return seen


def _shares(outlook: Outlook, in_real_time: Flags) -> Flags:
    """Flows that stop where one in real time does."""
    stops = outlook.stops
    hot = np.isin(stops.host, stops.host[in_real_time[stops.flow]])
    return np.isin(np.arange(len(outlook.flows)), stops.flow[hot])


def _placed(stage: Stage) -> tuple[Body, list[Flow]]:
    """A body in which all flows run, each with a bound by what it was placed for."""
    ants, leaders = RULES["ants"]
    body = Body(stage.network, chance=seeded(stage.seed), ants=ants, leaders=leaders, background=stage.background)
    body.acquaint()
    flows = []
    for each in stage.drawn:
        body.submit(each)
        body.run_until_settled()
        latency_ms = body.latency_ms(each.name)
        if math.isinf(latency_ms):  # a bound of four times that could never be broken
            raise NoFeasibleHost(f"ants found no place for {each.name}; take more hosts or fewer flows")
        flows.append(replace(each, latency_bound_ms=BOUND_FACTOR * latency_ms))
        body.change_flow(flows[-1])
    return body, flows


def _tell(
    body: Body,
    flows: list[Flow],
    outlook: Outlook,
    recent: Array,
    *,
    broken: Flags,
    foreseen: Foreseen | None,
) -> None:
    """What leaders hear after a second; `recent`: measured rates."""
    believed, leaving = recent, dict[str, HotSpot]()
    if foreseen is not None:
        ahead = foreseen.ahead
        # What is broken already is priced as it is: at what may still come, it may fit nowhere (as live, where a
        # backlog that grows goes before a forecast).
        believed = np.where(broken, recent, np.maximum(recent, ahead.factors.max(axis=1)))
        spots = reversed(foreseen.spots)
        leaving = {name: spot for spot in spots for name in movers(foreseen.outlook, ahead, spot)}
    _believe(body, flows, believed)
    for name, why in sorted(leaving.items()):
        body.warn(name, HotSpotAhead(why.host))
    for flow in np.flatnonzero(broken).tolist():
        stops = outlook.stops.host[outlook.stops.flow == flow]
        worst = outlook.hosts[stops[outlook.backlog_ms[stops].argmax()]]
        body.warn(flows[flow].name, HotSpotAhead(worst))  # the same ants, only later


def _believe(body: Body, flows: list[Flow], factors: Array) -> None:
    for flow, factor in zip(flows, factors.tolist(), strict=True):
        body.believe(faster(flow, max(factor, 0.01)))


def _warning_samples(seen: Seen, kind: str, which: Flags, holds_s: int, seed: int) -> list[Sample]:
    """Recall, precision and lead of the warnings in the world where nobody acts on them."""
    step = COURSES.steps.index(holds_s)
    alarm, verdicts = Alarm(AlarmParams()), Verdicts(1, int(which.sum()), VerdictParams(holds_s=holds_s))
    for second, (stretch, chance) in enumerate(zip(seen.stretch, seen.chance, strict=True)):
        verdicts.step(second, (chance[which, step] >= alarm.level)[None], stretch[which] > 1.0)
        alarm.learn(verdicts)
    hits, breaks = float(verdicts.hits[0]), float(verdicts.hits[0] + verdicts.misses[0])
    warnings = float(verdicts.hits[0] + verdicts.false[0])
    label = f"within {holds_s} s{kind}"
    leads = verdicts.leads_s[0]
    return [
        Sample(f"recall, {label}", hits, "share", None, Statistic.QUOTIENT, seed, of=breaks),
        Sample(f"precision, {label}", hits, "share", None, Statistic.QUOTIENT, seed, of=warnings),
        *(Sample(f"lead time, median, {label}", float(each), "s", None, Statistic.MEDIAN, seed) for each in leads),
        *(
            [Sample(f"hot spots{kind}", breaks, "episodes", None, Statistic.SUM, seed)]
            if holds_s == HOLDS_S[-1]
            else []
        ),
    ]


def pause_sample(seed: int) -> Sample:
    """What the lead of a warning is held against: a pause is predicted when none has been measured yet."""
    pause_ms = PauseModel().predict(None, None, None, unread_changes=0)
    return Sample(TWICE_THE_PAUSE, 2 * pause_ms / 1e3, "s", seed=seed)


def _violation_samples(worlds: dict[str, Seen], seed: int) -> list[Sample]:
    samples = []
    broken = {how: float((np.array(seen.stretch) > 1.0).sum()) for how, seen in worlds.items()}
    for how, seen in worlds.items():
        total = float(np.array(seen.stretch).size)
        label = f"flow-seconds beyond the bound, {how}{' moving' if how == 'never' else ''}"
        samples.append(Sample(label, broken[how], "share", None, Statistic.QUOTIENT, seed, of=total))
        if how != "never":
            samples.append(Sample(f"moves, {how}", float(seen.moves), "moves", seed=seed))
    samples.append(
        Sample(
            "flow-seconds beyond the bound, foreseeing",
            broken["foreseeing"],
            "ratio",
            "reacting",
            Statistic.QUOTIENT,
            seed,
            of=broken["reacting"],
        )
    )
    return samples


HOT_SPOTS = Experiment(
    name="models/hotspots",
    question="Are hot spots foreseen when real bursts come, and what does it save to act before the bound is broken?",
    paper="misses far fewer deadlines with prediction and migration, under load (Synergy figure 3.21); no recall told",
    trial=_hot_spots,
    seeds=5,
    takes_traces=True,
    targets=(
        AtLeast(f"recall, within {HOLDS_S[-1]} s", 0.9),
        AtLeast(f"precision, within {HOLDS_S[-1]} s", 0.8),
        InOrder((TWICE_THE_PAUSE, f"lead time, median, within {HOLDS_S[-1]} s"), rising=True),
        AtMost("flow-seconds beyond the bound, foreseeing", 0.5, "reacting"),
    ),
    reading=(
        f"What the alarm sees is {DELAY_S} s old, as it is live; leaders that react hear at once. A lead is from a"
        " warning to the break. It is to be at least twice the pause predicted for a move; ants and a plan take"
        " seconds beside that. The figures of decision 0193 were found without the delay"
    ),
)
