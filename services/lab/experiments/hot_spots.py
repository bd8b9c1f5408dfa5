"""Hot spots foreseen and avoided, against reacting to them: real bursts replayed in the simulator (Synergy 3.3 to 3.5).

Every host is a real queue, message by message; nothing of the queueing model is used to tell what is true. Rates are
those of real traces: minutes are replayed in ten seconds, with straight lines between them; traces of single requests
run in real time. Three worlds see the same rates: one that never moves, which says what forecasts were right; one whose
leaders hear of a bound when it is broken; one whose leaders hear before.
"""

from dataclasses import dataclass, field, replace
from random import Random
from statistics import median

import numpy as np
from numpy.typing import NDArray

from placement.fits.arrays import Array, Flags
from placement.forecast import Forecaster, ForecastParams
from placement.hotspots import HotSpotParams, Outlook, Stops, foresee, hot_spots, movers
from placement.leader_events import HotSpotAhead, Published
from placement.model import Flow, Network
from placement.queueing import Load
from placement.queueing.arrays import background_sums
from placement.queueing.real_queue import draw, lindley
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES
from services.lab.experiments.self_optimisation import faster
from services.lab.samples import Sample, Statistic
from services.lab.series import Series, own_series, read_folder

FLOWS = 8
SECONDS = 400
LEARNING_S = 300
"""Forecasters have seen this much before a trial begins."""
STEP_S = 10
"""A minute, or five, of a trace takes this long."""
HORIZONS_S = (1, 2, 3, 5, 10)
LEAD_S_MAX = 10
"""A warning is right if the bound breaks within this time, the longest horizon."""
GAP_S = 3
"""Breaks of the bound, or warnings, this close are one."""
BOUND_FACTOR = 4.0
"""A flow's bound over its latency at its mean rate when it was placed."""
REAL_TIME = " 1 s"
_NETWORK = TransitStubParams(transit_domains=1)
_QUERIES = QueryParams(least_rate_per_ms=0.04, most_rate_per_ms=0.1)


@dataclass(slots=True)
class Seen:
    """What one world was like, second by second: [second, flow]."""

    stretch: list[Array] = field(default_factory=list)
    """Latency over bound."""
    warned: list[Flags] = field(default_factory=list)
    moves: int = 0


class RealHosts:
    """Queues of all hosts, message by message. The work that is left at the end of a second is met by the next."""

    def __init__(self, network: Network, background: list[Load], seed: int) -> None:
        self._network = network
        self._background = background
        self._rng = np.random.default_rng(seed)
        self.left_ms = np.zeros(len(network.hosts))

    def second(self, outlook: Outlook, factors: Array) -> Array:
        """The mean wait at each host in one second; flows come at these multiples of the outlook's rates."""
        stops = outlook.stops
        waits = np.zeros(len(self.left_ms))
        for host in range(len(waits)):
            times, services = self._arrivals(outlook, host, np.flatnonzero(stops.host == host), factors)
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

    def _arrivals(self, outlook: Outlook, host: int, here: NDArray[np.int64], factors: Array) -> tuple[Array, Array]:
        stops, load = outlook.stops, self._background[host]
        streams = [(stops.rate_per_ms[k] * factors[stops.flow[k]], stops.service_ms[k], stops.cs2[k]) for k in here]
        if load.rate_per_ms > 0:
            streams.append((load.rate_per_ms, load.rho / load.rate_per_ms, 1.0))
        times, services = [], []
        for rate, service, cs2 in streams:
            count = self._rng.poisson(rate * 1_000.0)
            times.append(self._rng.uniform(0.0, 1_000.0, count))
            services.append(draw(service, cs2, count, self._rng))
        return (np.concatenate(times), np.concatenate(services)) if times else (np.zeros(0), np.zeros(0))


def outlook_of(body: Body, flows: list[Flow], background: list[Load], left_ms: Array) -> Outlook:
    """Where the flows run now, at their mean rates."""
    hosts, index = body.network.hosts, body.network.host_index
    rows: list[tuple[float, ...]] = []
    base = np.zeros(len(flows))
    for number, flow in enumerate(flows):
        running = body.leaders[flow.name].running
        masks: dict[int, int] = {}
        for task, name in running.items():
            masks[index[name]] = masks.get(index[name], 0) | 1 << task
        waits = 0.0
        for host, mask in sorted(masks.items()):
            for edge, stream in flow.graph.streams(mask):
                share = flow.graph.edges[edge].path_share
                service_ms = stream.work / hosts[host].capacity
                rows.append((number, host, stream.rate_per_ms, service_ms, stream.cs2, stream.ca2, share))
                waits += share * body.truth.waits_ms[host]
        base[number] = max(0.0, body.latency_ms(flow.name) - waits)
    flow, host, rate, service, cs2, ca2, weight = np.array(rows).T
    stops = Stops(flow.astype(np.int64), host.astype(np.int64), rate, service, cs2, ca2, weight)
    bounds = np.array([each.latency_bound_ms for each in flows])
    names = tuple(each.name for each in flows)
    return Outlook(
        names, bounds, base, tuple(each.name for each in hosts), stops, background_sums(background), left_ms.copy()
    )


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


def stage_of(trial: Trial, flows: int) -> Stage:
    """A network, and flows that follow traces drawn by chance."""
    network, ends = trial.network(_NETWORK)
    rng = Random(f"{trial.seed}/hotspots")
    background = [background_load(0.3, host.capacity, _QUERIES, rng=rng) for host in network.hosts]
    drawn = [random_query(f"q{k}", rng.randint(2, 4), Shape.CHAIN, ends, _QUERIES, rng=rng) for k in range(flows)]
    series = own_series() if trial.traces is None else read_folder(trial.traces)
    names = sorted(series)
    chosen = [rng.choice(names) for _ in range(flows)]
    rates = np.array([_replayed(name, series[name], rng) for name in chosen])
    in_real_time = np.array([name.endswith(REAL_TIME) for name in chosen])
    return Stage(trial.seed, network, background, drawn, rates, in_real_time)


def _hot_spots(trial: Trial) -> list[Sample]:
    stage = stage_of(trial, FLOWS)
    worlds = {how: live(stage, how) for how in ("never", "reacting", "foreseeing")}
    kinds = {
        "": np.ones(FLOWS, dtype=bool),
        ", minutes replayed": ~stage.in_real_time,
        ", real time": stage.in_real_time,
    }
    warnings = [
        sample
        for kind, which in kinds.items()
        for sample in _forecast_samples(worlds["never"], kind, which, trial.seed)
    ]
    return [*warnings, *_violation_samples(worlds, trial.seed)]


def _replayed(name: str, values: Series, rng: Random) -> Array:
    """LEARNING_S + SECONDS of a trace as multiples of their mean, one value a second."""
    need = LEARNING_S + SECONDS
    steps = need if name.endswith(REAL_TIME) else need // STEP_S + 2
    start = rng.randrange(max(1, len(values) - steps))
    chosen = np.resize(values[start : start + steps], steps)
    if steps != need:
        chosen = np.interp(np.arange(need) / STEP_S, np.arange(steps), chosen)
    return np.asarray(np.clip(chosen / (chosen.mean() or 1.0), 0.1, 10.0))


def live(stage: Stage, how: str) -> Seen:
    """One world. `how`: never moving, reacting to broken bounds, or foreseeing them."""
    body, flows = _placed(stage)
    if how == "never":
        for leader in body.leaders.values():
            leader.params = replace(leader.params, watch=False)
    hosts, seen = RealHosts(stage.network, stage.background, stage.seed), Seen()
    forecaster = Forecaster(len(flows), ForecastParams(horizons=HORIZONS_S, memory=512))
    counts = np.random.default_rng(stage.seed)
    mean_rates = np.array([flow.sources[0].rate_per_ms * 1e3 for flow in flows])
    begun = len(body.decisions)
    for second in range(LEARNING_S + SECONDS):
        now = stage.rates[:, second]
        forecaster.step(counts.poisson(mean_rates * now) / mean_rates)
        if second < LEARNING_S:
            continue
        outlook = outlook_of(body, flows, stage.background, hosts.left_ms)
        latency = outlook.latencies_ms(hosts.second(outlook, now)[:, None])[:, 0]
        seen.stretch.append(latency / outlook.bounds_ms)
        known = replace(outlook, backlog_ms=hosts.left_ms.copy())
        seen.warned.append(_tell(body, flows, known, forecaster, broken=latency > outlook.bounds_ms, how=how))
        body.run_for(1_000.0)
    published = [each for _, each in body.decisions[begun:] if isinstance(each, Published)]
    seen.moves = sum(len(each.plan.moves) for each in published)
    return seen


def _placed(stage: Stage) -> tuple[Body, list[Flow]]:
    """A body in which all flows run, each with a bound by what it was placed for."""
    ants, leaders = RULES["ants"]
    body = Body(stage.network, chance=seeded(stage.seed), ants=ants, leaders=leaders, background=stage.background)
    body.acquaint()
    flows = []
    for each in stage.drawn:
        body.submit(each)
        body.run_until_settled()
        flows.append(replace(each, latency_bound_ms=BOUND_FACTOR * body.latency_ms(each.name)))
        body.change_flow(flows[-1])
    return body, flows


def _tell(body: Body, flows: list[Flow], outlook: Outlook, forecaster: Forecaster, *, broken: Flags, how: str) -> Flags:
    """What leaders hear after a second, and which flows a warning was given for."""
    measured, ahead = forecaster.history.last(3).mean(axis=0), forecaster.forecast()
    foresight = foresee(outlook, ahead.values, ahead.errors, np.array(HORIZONS_S, dtype=float))
    spots = hot_spots(outlook, foresight, HotSpotParams())
    if how == "foreseeing":
        # What is broken already is priced as it is: at what may still come, it may fit nowhere (as live, where a
        # backlog that grows goes before a forecast).
        _believe(body, flows, np.where(broken, measured, np.maximum(measured, ahead.values.max(axis=1))))
        leaving = {name: spot for spot in reversed(spots) for name in movers(outlook, foresight, spot)}
        for name, why in sorted(leaving.items()):
            body.warn(name, HotSpotAhead(why.host, why.in_s * 1e3, why.sure))
    elif how == "reacting":
        _believe(body, flows, measured)
    if how != "never":
        for flow in np.flatnonzero(broken).tolist():
            stops = outlook.stops.host[outlook.stops.flow == flow]
            worst = outlook.hosts[stops[outlook.backlog_ms[stops].argmax()]]
            body.warn(flows[flow].name, HotSpotAhead(worst, 0.0, 1.0))  # the same ants, only later
    return np.array([any(spot.flow == flow.name for spot in spots) for flow in flows])


def _believe(body: Body, flows: list[Flow], factors: Array) -> None:
    for flow, factor in zip(flows, factors.tolist(), strict=True):
        body.believe(faster(flow, max(factor, 0.01)))


def _forecast_samples(seen: Seen, kind: str, which: Flags, seed: int) -> list[Sample]:
    """Recall, precision and lead of the warnings in the world where nobody acts on them."""
    broken, warned = np.array(seen.stretch)[:, which] > 1.0, np.array(seen.warned)[:, which]
    found = episodes = right = warnings = 0
    leads = []
    for flow in range(broken.shape[1]):
        breaks, alarms = _runs(broken[:, flow]), _runs(warned[:, flow])
        for start, _ in breaks:
            if start < LEAD_S_MAX:
                continue
            # The rest of an alarm that an earlier break raised foresees nothing: it must have begun in a calm second.
            before = [
                begin
                for begin, end in alarms
                if begin < start and end >= start - LEAD_S_MAX and not broken[begin, flow]
            ]
            episodes += 1
            found += bool(before)
            leads += [start - max(before)] if before else []
        for begin, end in alarms:
            if begin + LEAD_S_MAX < len(broken) and not broken[begin, flow]:
                warnings += 1
                right += bool(broken[begin : end + LEAD_S_MAX + 1, flow].any())
    lead = (
        [Sample(f"lead time, median{kind}", float(median(leads)), "s", None, Statistic.MEDIAN, seed)] if leads else []
    )
    return [
        Sample(f"recall{kind}", float(found), "share", None, Statistic.QUOTIENT, seed, of=float(episodes)),
        Sample(f"precision{kind}", float(right), "share", None, Statistic.QUOTIENT, seed, of=float(warnings)),
        Sample(f"hot spots{kind}", float(episodes), "episodes", None, Statistic.SUM, seed),
        *lead,
    ]


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """(first, last) second of each stretch, with gaps of less than GAP_S bridged."""
    found: list[tuple[int, int]] = []
    for second in np.flatnonzero(flags).tolist():
        if found and second - found[-1][1] <= GAP_S:
            found[-1] = (found[-1][0], second)
        else:
            found.append((second, second))
    return found


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
)
