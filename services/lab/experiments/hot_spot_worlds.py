"""Worlds in which real bursts make hot spots: one that never moves, one that reacts, one that foresees.

All see the same rates, those of real traces: minutes are replayed in ten seconds, with straight lines between them;
traces of single requests run in real time; none comes faster than an ordinary host can carry. Time goes on in tenths of
a second, in which a host looks at its queue.

A bound is broken when the messages of a second took longer than it on average; that is so, and can be seen, when their
time has passed without a result. Leaders that react are told at once. Those that foresee are told that as well; before,
they hear what hosts see coming in their own queues, a tenth of a second later, and what models say, which come some
seconds after what they are of.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random
from statistics import median

import numpy as np

from placement.fits.arrays import Array, Flags
from placement.hotspots import (
    CourseParams,
    Courses,
    NearParams,
    Outlook,
    VerdictParams,
    foresee,
    hot_spots,
    movers,
    near_leavers,
    near_spots,
)
from placement.leader_events import HotSpotAhead, Published
from placement.model import Flow, Network
from placement.queueing import Load
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.strategies import NoFeasibleHost
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Trial
from services.lab.experiments.hot_spot_queues import POISSON_CA2, RealHosts, outlook_of, played
from services.lab.experiments.placing import RULES
from services.lab.experiments.self_optimisation import faster
from services.lab.replay import REAL_TIME, replayed
from services.lab.series import own_series, read_folder
from services.modelling.flow_verdicts import FlowVerdicts

FLOWS = 8
SECONDS = 400
LEARNING_S = 300
"""Rates have been seen for so long before a trial begins."""
NEAR = NearParams()
STEPS = NEAR.looks
"""In a second."""
COURSES = CourseParams()
DELAY_S = 2
"""Live, a model comes one to three seconds after its second."""
MEASURED_S = 3
"""Rates are measured over so long."""
MOST_LOAD = 0.8
"""Of what an ordinary host has left, by one task of a flow: faster it never comes, for no place would help then."""
BACKGROUND = 0.3
"""Of each host, on average, by what belongs to no flow."""
BOUND_FACTOR = 4.0
"""A flow's bound over its latency at its mean rate when it was placed."""
_NETWORK = TransitStubParams(transit_domains=1)
_QUERIES = QueryParams(least_rate_per_ms=0.04, most_rate_per_ms=0.1, least_ca2=POISSON_CA2, most_ca2=POISSON_CA2)


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
    """[step, flow]: what is counted of the rates."""
    courses: Array
    """[second, flow, horizon, course], as models know them from the end of the learning on."""
    delay_s: int
    """By so much what models see is old."""


def stage_of(trial: Trial, flows: int, *, delay_s: int = DELAY_S) -> Stage:
    """A network, and flows that follow traces drawn by chance."""
    network, ends = trial.network(_NETWORK)
    rng = Random(f"{trial.seed}/hotspots")
    background = [played(background_load(BACKGROUND, host.capacity, _QUERIES, rng=rng)) for host in network.hosts]
    drawn = [random_query(f"q{k}", rng.randint(2, 4), Shape.CHAIN, ends, _QUERIES, rng=rng) for k in range(flows)]
    series = own_series() if trial.traces is None else read_folder(trial.traces)
    names = sorted(series)
    chosen = [rng.choice(names) for _ in range(flows)]
    room = MOST_LOAD * (1 - BACKGROUND) * median(host.capacity for host in network.hosts)
    most = np.array([room / _heaviest(flow) for flow in drawn])
    replays = [replayed(name, series[name], rng, seconds=LEARNING_S + SECONDS) for name in chosen]
    rates = np.minimum(np.array(replays), most[:, None])
    in_real_time = np.array([name.endswith(REAL_TIME) for name in chosen])
    in_step = np.array([flow.sources[0].rate_per_ms * 1e3 / STEPS for flow in drawn])
    counted = np.random.default_rng(trial.seed).poisson(in_step * np.repeat(rates.T, STEPS, axis=0))
    measured = counted / in_step
    by_second = measured.reshape(-1, STEPS, flows).mean(axis=1)
    courses = _courses(by_second, LEARNING_S - delay_s)[:SECONDS]
    return Stage(trial.seed, network, background, drawn, rates, in_real_time, measured, courses, delay_s)


def _heaviest(flow: Flow) -> float:
    """The load of the task that brings most, on a host of capacity 1 and at the mean rate."""
    graph = flow.graph
    tasks = range(graph.task_count)
    return max(sum(stream.rate_per_ms * stream.work for _, stream in graph.streams(1 << task)) for task in tasks)


def _courses(measured: Array, first: int) -> Array:
    """What the rates may do, as seen from each second from the first on: the same in all worlds."""
    courses, every = Courses(measured.shape[1], COURSES), np.arange(measured.shape[1])
    found = []
    for second, rates in enumerate(measured):
        courses.step(rates)
        if second >= first:
            found.append(courses.ahead(every))
    return np.array(found)


@dataclass(slots=True)
class Seen:
    """What one world was like, step by step: [step, flow]."""

    stretch: list[Array] = field(default_factory=list)
    """Latency over bound, of those who came then."""
    broken: list[Flags] = field(default_factory=list)
    """Bounds that were broken by then."""
    near: list[Flags] = field(default_factory=list)
    """Flows that a host saw in danger."""
    chance: list[Array] = field(default_factory=list)
    """Of each second, by models: that the bound breaks by each of the courses' horizons: [flow, horizon]."""
    shares: Flags | None = None
    """Flows that began on a host with a trace in real time."""
    moves: int = 0

    def by_second(self) -> Array:
        """[second, flow]: latency over bound."""
        steps = np.array(self.stretch)
        return np.asarray(steps.reshape(-1, STEPS, steps.shape[1]).mean(axis=1))


class Deadlines:
    """`step`: whose last second of messages took too long, of those whose time has passed by now."""

    def __init__(self, bounds_ms: Array) -> None:
        self._bounds_ms = bounds_ms
        self._back = np.ceil(bounds_ms * STEPS / 1e3).astype(int)
        self._latency_ms: deque[Array] = deque(maxlen=int(self._back.max()) + STEPS)

    def step(self, latency_ms: Array) -> Flags:
        """The flows whose bounds are broken."""
        self._latency_ms.append(latency_ms)
        past = np.array(self._latency_ms)
        ends = len(past) - self._back
        means = [past[max(0, end - STEPS) : end, flow].mean() if end > 0 else 0.0 for flow, end in enumerate(ends)]
        return np.asarray(np.array(means) > self._bounds_ms)


class World:
    """One world. `how`: never moving, reacting to broken bounds, or foreseeing them."""

    def __init__(self, stage: Stage, how: str) -> None:
        self._stage, self._how = stage, how
        self._body, self._flows = placed(stage)
        if how == "never":
            for leader in self._body.leaders.values():
                leader.course.rounds.watch = False
        self._hosts = RealHosts(stage.network, stage.background, stage.seed)
        self._deadlines = Deadlines(np.array([flow.latency_bound_ms for flow in self._flows]))
        self._verdicts = FlowVerdicts(VerdictParams(holds_s=COURSES.steps[-1]))
        self._waiting = deque([self._hosts.left_ms.copy()] * stage.delay_s, maxlen=stage.delay_s + 1)
        self._waits_ms: deque[Array] = deque(maxlen=STEPS)
        """At all hosts, of those who came at each look of the last second."""
        self._asked: dict[int, int] = {}
        """Of each host the step in which it told last,"""
        self._leaving: dict[str, str] = {}
        """and who should leave which, to be heard with the next step."""
        self._told: dict[str, int] = {}
        """Of each flow the step in which its leader was told last."""
        self._where: tuple[object, Outlook] | None = None
        self.seen = Seen()

    def run(self) -> Seen:
        """From the first second to the last."""
        begun = len(self._body.decisions)
        for step in range(LEARNING_S * STEPS, (LEARNING_S + SECONDS) * STEPS):
            self._step(step)
            self._body.run_for(1_000.0 / STEPS)
        published = [each for _, each in self._body.decisions[begun:] if isinstance(each, Published)]
        self.seen.moves = sum(len(each.plan.moves) for each in published)
        return self.seen

    def _step(self, step: int) -> None:
        stage, seen, hosts = self._stage, self.seen, self._hosts
        outlook, (second, later) = self._outlook(), divmod(step, STEPS)
        if seen.shares is None:
            seen.shares = _shares(outlook, stage.in_real_time)
        waits = hosts.step(outlook, stage.rates[:, second], lasts_ms=1_000.0 / STEPS)
        latency_ms = outlook.latencies_ms(waits[:, None])[:, 0]
        seen.stretch.append(latency_ms / outlook.bounds_ms)
        broken = self._deadlines.step(latency_ms)
        seen.broken.append(broken)
        known = replace(outlook, backlog_ms=hosts.left_ms.copy())
        leaving: dict[str, str] = {}
        if later == STEPS - 1:
            leaving |= self._look_far(second, known)
        if self._how != "reacting":
            leaving |= self._look_near(step, known)
        if self._how != "never":
            for flow in np.flatnonzero(broken).tolist():
                stops = known.stops.host[known.stops.flow == flow]
                leaving[known.flows[flow]] = known.hosts[stops[known.backlog_ms[stops].argmax()]]
            self._warn(step, known, leaving, broken)

    def _look_near(self, step: int, known: Outlook) -> dict[str, str]:
        """What hosts see coming; who should leave which host by what they saw a step ago, of each once a second."""
        self._waits_ms.append(known.backlog_ms)
        lately, past = self._lately(step, NEAR.lately_s), np.array(self._waits_ms)
        leaving, self._leaving, names = self._leaving, dict[str, str](), set[str]()
        for host in np.unique(known.stops.host[known.backlog_ms[known.stops.host] > 0]).tolist():
            spots = near_spots(known, host, past[:, host].tolist(), lately, NEAR)
            names |= {spot.flow for spot in spots}
            if spots and step - self._asked.get(host, -STEPS) >= STEPS:
                self._asked[host] = step
                self._leaving |= dict.fromkeys(near_leavers(known, host, lately, spots[0]), known.hosts[host])
        self.seen.near.append(np.array([name in names for name in known.flows]))
        return leaving

    def _look_far(self, second: int, known: Outlook) -> dict[str, str]:
        """What leaders believe of rates, once a second, and what models see coming; who should leave which host."""
        recent = self._lately((second + 1) * STEPS - 1, MEASURED_S)
        if self._how == "reacting":
            self._believe(recent)
            return {}
        self._waiting.append(known.backlog_ms)
        old = replace(known, backlog_ms=self._waiting[0])
        ahead = foresee(old, self._stage.courses[second - LEARNING_S], np.array(COURSES.steps))
        self.seen.chance.append(ahead.chance)
        spots = hot_spots(old, ahead, self._verdicts.alarm.level)
        late = np.any(self.seen.broken[-STEPS:], axis=0)
        slack = dict(zip(known.flows, np.where(late, -1.0, 1.0).tolist(), strict=True))
        self._verdicts.step(second, slack, {spot.flow for spot in spots}, known.company())
        if self._how == "never":
            return {}
        warned = spots if self._verdicts.alarm.speaks else []
        # What is broken already is priced as it is: at what may still come, it may fit nowhere.
        self._believe(np.where(late, recent, np.maximum(recent, ahead.factors.max(axis=1))))
        return {name: spot.host for spot in reversed(warned) for name in movers(old, ahead, spot)}

    def _warn(self, step: int, known: Outlook, leaving: dict[str, str], broken: Flags) -> None:
        """Leaders hear of it, each once a second at most; hosts in danger are priced at what comes now."""
        fresh = {name: host for name, host in leaving.items() if step - self._told.get(name, -STEPS) >= STEPS}
        if not fresh:
            return
        index = {name: place for place, name in enumerate(known.hosts)}
        here = np.isin(known.stops.host, [index[host] for host in fresh.values()])
        lately = np.maximum(self._lately(step, NEAR.lately_s), self._lately(step, MEASURED_S))
        self._believe(lately, np.unique(known.stops.flow[here]).tolist())
        for name, host in sorted(fresh.items()):
            self._told[name] = step
            self._body.warn(name, HotSpotAhead(host, broken=bool(broken[known.flows.index(name)])))

    def _lately(self, step: int, span_s: float) -> Array:
        """Measured rates of the time that ends with this step, over the mean ones."""
        return np.asarray(self._stage.measured[step + 1 - round(span_s * STEPS) : step + 1].mean(axis=0))

    def _believe(self, factors: Array, which: Iterable[int] | None = None) -> None:
        for number in range(len(self._flows)) if which is None else which:
            self._body.believe(faster(self._flows[number], max(float(factors[number]), 0.01)))

    def _outlook(self) -> Outlook:
        """Found anew when a flow has moved."""
        leaders = self._body.leaders
        where = [tuple(sorted(leaders[flow.name].running.items())) for flow in self._flows]
        if self._where is None or self._where[0] != where:
            self._where = (where, outlook_of(self._body, self._flows, self._stage.background, self._hosts.left_ms))
        return self._where[1]


def live(stage: Stage, how: str) -> Seen:
    """One world, from its first second to the last."""
    return World(stage, how).run()


def _shares(outlook: Outlook, in_real_time: Flags) -> Flags:
    """Flows that stop where one in real time does."""
    stops = outlook.stops
    hot = np.isin(stops.host, stops.host[in_real_time[stops.flow]])
    return np.isin(np.arange(len(outlook.flows)), stops.flow[hot])


def placed(stage: Stage) -> tuple[Body, list[Flow]]:
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
