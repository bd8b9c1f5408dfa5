"""Bursty rates from real traces: moves an hour and latency, with and without the damping (beyond the paper).

Latency is looked at from the moment in which rates change, so what flows lose until ants have reacted counts. A move
pauses its tasks: what that costs is charged as leaders predict it, also to those who do not think of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from placement.leader_events import Published
from placement.leader_params import IMPROVED_LEADER
from placement.simulator.body import Body, Decision
from placement.simulator.queries import QueryParams, background_load, mixed_query
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.placing import RULES
from services.lab.experiments.self_optimisation import faster, is_move, watchful
from services.lab.samples import Sample
from services.lab.series import read_folder
from services.lab.targets import AtMost, InOrder
from services.lab.traces import TRACES, rate_factors, real_trace

FLOWS = 10
STEPS = 60
STEP_MS = 5_000.0
LOOK_MS = 100.0
"""How often latency is looked at within a step."""
CAP_MS = 2_000.0
"""Latency of a flow that does not run, or whose host is too full."""
PAUSE_MS = IMPROVED_LEADER.pause_ms
"""Predicted pause of a moved task."""
RETURN_WINDOWS = (1, 10)
"""In cool-downs. Within one the damping forbids a return, so only the longer window tells whether flows oscillate."""
_NETWORK = TransitStubParams(transit_domains=1)


def _bursty(trial: Trial) -> list[Sample]:
    network, ends = trial.network(_NETWORK)
    rng = Random(f"{trial.seed}/bursty")
    queries = QueryParams()
    background = [background_load(0.4, host.capacity, queries, rng=rng) for host in network.hosts]
    flows = [mixed_query(f"q{k:02}", rng.randint(2, 6), ends, queries, rng=rng) for k in range(FLOWS)]
    traces = _traces(trial)
    bursts = [rate_factors(traces[k % len(traces)], steps=STEPS, start=rng.randrange(0, 5_000)) for k in range(FLOWS)]
    ants, leaders = RULES["ants"]
    damped = watchful(leaders)
    cool_down_ms = damped.cool_down_rounds * damped.watch_every_ms
    hours = STEPS * STEP_MS / 3_600_000
    samples: list[Sample] = []
    for series, how, beta in (
        ("damped", damped, 1.1),
        ("undamped", replace(damped, cool_down_rounds=0, pause_ms=0.0), 1.0),
        ("never moving", replace(damped, watch=False), 1.1),
    ):
        body = Body(network, chance=seeded(trial.seed), ants=ants, leaders=how, background=background)
        body.acquaint()
        for flow in flows:
            body.submit(replace(flow, beta=beta))
            body.run_until_settled()
        begun = len(body.decisions)
        total_ms = total_paused_ms = 0.0
        for step in range(STEPS):
            for flow, burst in zip(flows, bursts, strict=True):
                if flow.name in body.leaders:
                    body.change_flow(replace(faster(flow, burst[step]), beta=beta))
            seen = len(body.decisions)
            mean_ms = mean_over_step(body, [flow.name for flow in flows])
            paused_ms = pauses(decision for _, decision in body.decisions[seen:]) / STEP_MS / FLOWS
            mean_ms += paused_ms
            total_ms, total_paused_ms = total_ms + mean_ms, total_paused_ms + paused_ms
            samples.append(Sample("", mean_ms, "ms", seed=trial.seed, series=series, x=(step + 1) * STEP_MS / 1000))
        moves = sum(is_move(decision) for _, decision in body.decisions[begun:])
        samples.append(Sample(f"moves an hour and flow, {series}", moves / hours / FLOWS, "1/h", seed=trial.seed))
        samples.append(Sample(f"mean latency, {series}", total_ms / STEPS, "ms", seed=trial.seed))
        samples.append(Sample(f"of it pauses of moves, {series}", total_paused_ms / STEPS, "ms", seed=trial.seed))
        for times in RETURN_WINDOWS:
            window_ms = times * cool_down_ms
            back = returns(body.decisions[begun:], window_ms)
            measure = f"moves straight back (A-B-A) within {window_ms / 1000:g} s, {series}"
            samples.append(Sample(measure, float(back), "moves", seed=trial.seed))
    return samples


def _traces(trial: Trial) -> list[Sequence[float]]:
    """Ours, or the user's own."""
    if trial.traces is None:
        return [real_trace(name) for name in TRACES]
    return [values.tolist() for values in read_folder(trial.traces).values()]


def mean_over_step(body: Body, flows: Sequence[str]) -> float:
    """Let a step pass; the mean latency of all flows from its first moment on."""
    looks = int(STEP_MS / LOOK_MS)
    total_ms = 0.0
    for _ in range(looks):
        total_ms += sum(min(body.latency_ms(name), CAP_MS) for name in flows)
        body.run_for(LOOK_MS)
    return total_ms / looks / len(flows)


def pauses(decisions: Iterable[Decision]) -> float:
    """What moves cost, in ms of latency times ms: half a pause for whatever comes within one, as leaders weigh it."""
    moved = sum(
        move.origin is not None
        for decision in decisions
        if isinstance(decision, Published)
        for move in decision.plan.moves
    )
    return moved * PAUSE_MS**2 / 2


def returns(decisions: Iterable[tuple[float, Decision]], window_ms: float) -> int:
    """Moves of a task to the host that it left, with its move before, less than so long ago."""
    came_from: dict[tuple[str, str], tuple[str | None, float]] = {}
    found = 0
    for at_ms, decision in decisions:
        if isinstance(decision, Published):
            for move in decision.plan.moves:
                origin, left_ms = came_from.get((move.flow, move.task), (None, 0.0))
                found += move.target == origin and origin is not None and at_ms - left_ms < window_ms
                came_from[move.flow, move.task] = (move.origin, at_ms)
    return found


BURSTY = Experiment(
    name="ants/bursty",
    question="Do flows oscillate when rates follow real, bursty traces, and what does the damping cost?",
    paper="named as future work (section 5); nothing measured",
    trial=_bursty,
    seeds=10,
    reading="Within one cool-down a damped flow may not go back at all; whether flows oscillate is told by the returns "
    "within ten",
    targets=(
        AtMost("moves straight back (A-B-A) within 15 s, damped", 0),
        InOrder(
            tuple(f"moves straight back (A-B-A) within 150 s, {how}" for how in ("damped", "undamped")), rising=True
        ),
        InOrder(tuple(f"mean latency, {how}" for how in ("damped", "undamped", "never moving")), rising=True),
    ),
    takes_traces=True,
    x_label="time (s)",
    y_label="mean latency (ms)",
)
