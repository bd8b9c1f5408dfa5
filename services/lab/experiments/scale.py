"""Scale: 300 queries on 200 to 600 hosts, how many could be placed, and what ants cost the network (Ants figure 4).

The workload is the same for every size, and heavy enough that 200 hosts have no room for all of it: the same queries in
the same order, with the same tasks, shapes, rates and message sizes. Larger networks have other hosts, so a query's
ends are not the same ones, but at the same share of the list of ends, in which neighbours stand together.

After placement the system runs on in steady state; every control message of that time is counted against the data on
the links: in the compact form in which ants count themselves, and as it would travel on the live topics (decision
0230). Rows say how many rounds of ants leaders sent in that time: the budget pays for few, and a share of traffic in
which nobody watches would be worth nothing (decision 0333).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import fmean

from placement.model import Flow, Network, Problem
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, mixed_query
from placement.simulator.traffic import data_byte_hops_per_ms
from placement.topology.transit_stub import sized
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES
from services.lab.experiments.sequential_success import IN_TURN, placed_in_turn, placed_together
from services.lab.samples import Sample, Statistic
from services.lab.targets import AtLeast, AtMost
from services.lab.wire_scales import WireScales

SIZES = (200, 400, 600)
QUERIES = 300
WORKLOAD = QueryParams(least_rate_per_ms=0.02, most_rate_per_ms=0.15)
STEADY_MS = 3_600_000.0
"""The budget pays a leader for about three rounds of ants in that time, and some leaders for none (decision 0333)."""
SHARE = "control share of link traffic in steady state"
LIVE_SHARE = "the same with the sizes of the live topics"
SHARES_MAX = {200: 0.01, 600: 0.02}
"""Percent, by hosts."""
WEIGHED_EVERY = 10
"""One envelope in so many is sealed for its true size."""
_SEATS = ("first", "second", "third")
"""Where the ends of a query sit before it is known which hosts there are."""


def _fig_4(trial: Trial) -> list[Sample]:
    samples: list[Sample] = []
    for asked in SIZES:
        network, ends = trial.network(sized(asked))
        size = asked if trial.topology is None else len(network.hosts)
        samples += _one_size(network, workload(ends, trial.seed), trial.seed, size)
        if trial.topology is not None:
            return samples  # the user's network has one size
    return samples + _shape(samples, trial.seed)


def _shape(samples: Sequence[Sample], seed: int) -> list[Sample]:
    """How success grows from the smallest network to larger ones, ants' growth over the optimum's."""
    found = {sample.measure: sample.value for sample in samples}
    ratios = {size: found.get(f"ants over the optimum in turn, {size} hosts", 0.0) for size in SIZES}
    least = SIZES[0]
    return [
        Sample(shape_row(size), ratios[size] / ratios[least], "ratio", "optimum in turn", seed=seed)
        for size in SIZES[1:]
        if ratios[least]
    ]


def shape_row(size: int) -> str:
    """The name of the row that compares two sizes."""
    return f"growth of success from {SIZES[0]} to {size} hosts, ants over the optimum in turn"


def workload(ends: Sequence[str], seed: int) -> list[Flow]:
    """The queries of a seed; of the network only the names of their ends depend on it."""
    rng = Random(f"{seed}/workload")
    flows = [mixed_query(f"q{k:03}", rng.randint(2, 6), _SEATS, WORKLOAD, rng=rng) for k in range(QUERIES)]
    return [_seated(flow, ends, rng=Random(f"{seed}/ends of {flow.name}")) for flow in flows]


def _seated(flow: Flow, ends: Sequence[str], *, rng: Random) -> Flow:
    """The flow between different hosts of a network."""
    hosts: list[str] = []
    while len(hosts) < len(_SEATS):
        host = ends[int(rng.random() * len(ends))]  # a share, and no rng.sample: that depends on how many there are
        if host not in hosts:
            hosts.append(host)
    at = dict(zip(_SEATS, hosts, strict=True))
    sources = tuple(replace(source, host=at[source.host]) for source in flow.sources)
    return replace(flow, sources=sources, sinks=tuple(replace(sink, host=at[sink.host]) for sink in flow.sinks))


def _one_size(network: Network, flows: list[Flow], seed: int, size: int) -> list[Sample]:
    ants, leaders = RULES["ants"]
    scales = WireScales(every=WEIGHED_EVERY)
    body = Body(network, chance=seeded(seed), ants=ants, leaders=leaders, scales=scales)
    body.acquaint()
    for flow in flows:
        body.submit(flow)
        body.run_for(500.0)
    body.run_until_settled(limit_ms=300_000.0)
    at_once = sum(math.isfinite(body.latency_ms(name)) for name in body.leaders)
    burst, wire_burst = body.traffic.total_byte_hops, scales.traffic.total_byte_hops
    before = _rounds(body)
    body.run_for(STEADY_MS)
    watched = [after - before[name] for name, after in _rounds(body).items() if name in before]
    running = [name for name in sorted(body.leaders) if math.isfinite(body.latency_ms(name))]
    data = sum(data_byte_hops_per_ms(body.network, body.leaders[n].flow, body.leaders[n].running) for n in running)
    label = f"{size} hosts"
    control, wire_control = body.traffic.total_byte_hops - burst, scales.traffic.total_byte_hops - wire_burst
    success = len(running) / len(flows)
    latency_ms = fmean(map(body.latency_ms, running)) if running else math.nan
    return [
        Sample(f"success rate of ants, {label}", success, "share", seed=seed, series="ants", x=size),
        *_rivals(Problem(network, tuple(flows)), len(running), seed, size),
        Sample(f"of these at the first attempt, {label}", at_once / len(flows), "share", seed=seed),
        Sample(f"mean latency of ants, {label}", latency_ms, "ms", seed=seed),
        *_control_shares(control, wire_control, data * STEADY_MS, label, seed),
        *_watching(watched, label, seed),
        Sample(f"control traffic of all placements, {label}", burst / 1e6, "MB hops", seed=seed),
        Sample(
            f"the same with the sizes of the live topics, placements, {label}", wire_burst / 1e6, "MB hops", seed=seed
        ),
        Sample(f"data on links, {label}", data / 1e3, "MB hops/s", seed=seed),
        Sample(f"hosts, {label}", float(len(network.hosts)), "hosts", seed=seed),
    ]


def _rounds(body: Body) -> dict[str, int]:
    """Of each flow that runs: how many rounds of ants its leader has sent."""
    return {name: body.leaders[name].course.round for name in sorted(body.truth.running)}


def _watching(rounds: list[int], label: str, seed: int) -> list[Sample]:
    """How often leaders looked in steady state, whose flows ran from its beginning to its end."""
    if not rounds:
        return []
    told = {
        "rounds of watching per leader in steady state, mean": (fmean(rounds), "rounds"),
        "rounds of watching per leader in steady state, least": (float(min(rounds)), "rounds"),
        "leaders that sent no round in steady state": (rounds.count(0) / len(rounds), "share"),
    }
    return [Sample(f"{measure}, {label}", value, unit, seed=seed) for measure, (value, unit) in told.items()]


def _control_shares(control: float, wire_control: float, data: float, label: str, seed: int) -> list[Sample]:
    """Of the traffic on links; none if no data cross any."""
    if not data:
        return []
    return [
        Sample(f"{SHARE}, {label}", control / data * 100, "%", seed=seed),
        Sample(f"{LIVE_SHARE}, {label}", wire_control / data * 100, "%", seed=seed),
    ]


def _rivals(problem: Problem, ants: int, seed: int, size: int) -> list[Sample]:
    """Every other strategy on the same queries in the same order, and ants over the best of them."""
    label, queries = f"{size} hosts", len(problem.flows)
    found = {
        f"{name} in turn": placed_in_turn(problem, strategy, rng=Random(f"{seed}/{size}/{name}"))
        for name, strategy in IN_TURN.items()
    }
    optimum = found["the optimum in turn"]
    found["centralised, all together"] = placed_together(problem, rng=Random(f"{seed}/{size}/together"))
    samples: list[Sample] = []
    for name, rival in found.items():
        success = rival.placed / queries
        samples.append(Sample(f"success rate of {name}, {label}", success, "share", seed=seed, series=name, x=size))
        samples.append(Sample(f"mean latency of {name}, {label}", rival.mean_ms, "ms", seed=seed))
    measure = f"queries whose exact search stopped without a proof, {label}"
    samples.append(Sample(measure, float(optimum.stopped), "queries", None, Statistic.SUM, seed))
    best = max(rival.placed for rival in found.values())
    for measure, of, baseline in (
        (f"ants over the optimum in turn, {label}", optimum.placed, "optimum in turn"),
        (f"ants over the best strategy, {label}", best, "best strategy"),
    ):
        if of:
            samples.append(Sample(measure, ants / of, "ratio", baseline, seed=seed))
    return samples


FIG_4 = Experiment(
    name="ants/fig-4",
    question="What share of 300 queries can be placed on 200 to 600 hosts, and what do ants cost the network?",
    paper="success like the optimum's; ants take 0.01 % of a link's traffic at 200 hosts, 0.022 % at 600",
    trial=_fig_4,
    seeds=10,
    reading="The budget is in the compact form in which ants count themselves. On the live topics the same messages "
    "are about twice as large, and so is their share; the target is held against both "
    "([decision 0230](decisions/0230-two-sizes-of-an-ant.md)). How often leaders looked in the time of which the share "
    "is told stands beside it ([decision 0333](decisions/0333-what-steady-state-and-budget-hold.md)). "
    "Success is to be read beside the mean latencies: who "
    "ignores latency leaves some hosts empty, and finds room there for the largest tasks "
    "([decision 0264](decisions/0264-whom-figure-4-leaves-out.md)). 'Same shape' is taken to mean that success grows "
    "from 200 hosts to 400 and 600 as the optimum's does, within 2 %. The best strategy is the best of six, the "
    "descent over the concatenation of all queries among them "
    "([decision 0288](decisions/0288-networks-that-have-no-room-and-faults-that-kill.md))",
    targets=(
        *(AtLeast(f"ants over the best strategy, {size} hosts", 0.98) for size in SIZES),
        *(AtLeast(shape_row(size), 0.98) for size in SIZES[1:]),
        *(AtMost(shape_row(size), 1.02) for size in SIZES[1:]),
        *(
            AtMost(f"{measure}, {size} hosts", most)
            for measure in (SHARE, LIVE_SHARE)
            for size, most in SHARES_MAX.items()
        ),
    ),
    x_label="hosts",
    y_label="success rate",
)
