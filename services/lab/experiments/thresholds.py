"""Thresholds: what beta costs and saves under cross-traffic (Ants table 1).

A 10-task query runs for 15 minutes while cross-traffic changes on every host once a minute. Loss is the integral over
time of its latency above the best achievable one, which an exact search finds anew after every change; where it ends
without a proof its bound counts, and losses are told a little too large. Shares of losses
are of their sums over all seeds: a table has one loss a row, and a seed whose query is hardly hit would else weigh as
much as one that is.

A flow whose host is too full counts as 2 s of latency, so a few such minutes make most of the loss without updates. The
shares are therefore told a second time over the intervals in which nothing is that full. And because ants lose what
they need to react to a change, all is told for changes every 20 s too (decision 0047). The budget of ants is lifted, as
in figure 3a; beta 1.1 is told a second time with the budget as it is by default (decision 0333).
"""

from dataclasses import dataclass, replace
from random import Random

from placement.model import Flow, Problem
from placement.queueing import Load
from placement.simulator.body import Body
from placement.simulator.queries import QueryParams, Shape, background_load, random_query
from placement.strategies import Exact, NoFeasibleHost, StoppedWithoutProof
from placement.strategies.protocol import Proposal
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.optimum import least_ms, unproven
from services.lab.experiments.placing import RULES, still
from services.lab.experiments.self_optimisation import BY_DEFAULT, is_move, watchful
from services.lab.samples import Sample, Statistic
from services.lab.targets import AtMost, InOrder
from services.lab.topologies import SEARCHED_HOSTS

BETAS = (1.1, 1.25, 1.5, 1.75, 2.0)
PERTURBATIONS = 15
"""As many as the paper's query moved at beta 1.1."""
EVERY_MS = {"": 60_000.0, ", changes every 20 s": 20_000.0}
"""How often cross-traffic changes, by what the rows of it add to their names."""
CAP_MS = 2_000.0
"""Latency of a flow whose host is too full."""
LOOK_MS = 100.0
"""How often latency is looked at: ants need a few hundred milliseconds to move a query."""
LOAD = 0.45
"""Mean load of the hosts; each gets any load up to twice that."""
NEITHER_FULL = ", intervals in which neither meets a full host"
NO_ROOM = "changes after which no placement has room, nobody loses anything"
_NETWORK = TransitStubParams(transit_domains=1)


@dataclass(frozen=True, slots=True)
class _Run:
    """What one setting of beta lost in each interval between two changes, and where it met a host that is too full."""

    updates: int
    losses: list[float]
    saturated: list[bool]


def _table_1(trial: Trial) -> list[Sample]:
    network, ends = trial.network(_NETWORK, most_hosts=SEARCHED_HOSTS)
    ants, leaders = RULES["ants"]
    rng = Random(f"{trial.seed}/table-1")
    queries = QueryParams()
    flow = random_query("query", 10, Shape.CHAIN, ends, queries, rng=rng)
    background = [background_load(LOAD, host.capacity, queries, rng=rng) for host in network.hosts]
    changes: list[tuple[list[Load], float]] = []
    samples: list[Sample] = []
    for _ in range(PERTURBATIONS):
        change = [background_load(LOAD, host.capacity, queries, rng=rng) for host in network.hosts]
        problem = Problem(network, (flow,), background=tuple(change))
        best = _best(problem, rng)
        changes.append((change, CAP_MS if best is None else least_ms(best)))
        samples.append(Sample(NO_ROOM, float(best is None), "changes", None, Statistic.SUM, trial.seed))
        if best is not None:
            samples.append(unproven(best, "changes", seed=trial.seed))
    for pace, every_ms in EVERY_MS.items():
        runs: dict[str, _Run] = {}
        for label, how, beta in [
            *((f"beta {beta:g}", watchful(leaders), beta) for beta in BETAS),
            (f"beta 1.1 {BY_DEFAULT}", leaders, 1.1),
            ("no updates", still(leaders), 1.1),
        ]:
            body = Body(network, chance=seeded(trial.seed), ants=ants, leaders=how, background=background)
            run = runs[label] = _run(body, replace(flow, beta=beta), changes, every_ms)
            loss = sum(run.losses)
            samples.append(Sample(f"updates, {label}{pace}", float(run.updates), "moves", seed=trial.seed))
            samples.append(Sample(f"loss, {label}{pace}", loss, "ms s", seed=trial.seed))
            if how.watch and how.budget_share is None and not pace:
                samples.append(Sample("", loss, "ms s", seed=trial.seed, series="loss", x=beta))
                samples.append(Sample("", float(run.updates), "moves", seed=trial.seed, series="updates", x=beta))
        samples += _shares(runs, pace, trial.seed)
    return samples


def _best(problem: Problem, rng: Random) -> Proposal | None:
    """The best placement of the query; None if there is none. A search that stopped before leaves the seed out."""
    try:
        return Exact().place(problem, rng=rng)
    except StoppedWithoutProof:
        raise
    except NoFeasibleHost:
        return None


def _run(body: Body, flow: Flow, changes: list[tuple[list[Load], float]], every_ms: float) -> _Run:
    body.acquaint()
    body.submit(flow)
    body.run_until_settled()
    body.run_for(every_ms)
    losses, saturated = [], []
    for change, best_ms in changes:
        for host, load in zip(body.network.hosts, change, strict=True):
            body.set_background(host.name, load)
        loss, full = 0.0, False
        for _ in range(int(every_ms / LOOK_MS)):
            latency_ms = body.latency_ms(flow.name)
            full = full or latency_ms >= CAP_MS
            loss += max(0.0, min(latency_ms, CAP_MS) - best_ms) * LOOK_MS / 1000
            body.run_for(LOOK_MS)
        losses.append(loss)
        saturated.append(full)
    return _Run(sum(is_move(decision) for _, decision in body.decisions), losses, saturated)


def _shares(runs: dict[str, _Run], pace: str, seed: int) -> list[Sample]:
    """Loss at each beta over the loss without updates: over all intervals, and over those without a full host."""
    idle = runs["no updates"]
    samples = []
    for label, run in list(runs.items())[:-1]:
        kinds = {
            "": [True] * PERTURBATIONS,
            ", intervals in which the unmoved query meets no full host": [not full for full in idle.saturated],
            NEITHER_FULL: [not (one or other) for one, other in zip(run.saturated, idle.saturated, strict=True)],
        }
        for kind, counts in kinds.items():
            lost, of = (sum(loss for loss, ok in zip(each.losses, counts, strict=True) if ok) for each in (run, idle))
            measure = f"loss at {label} over loss without updates{kind}{pace}"
            samples.append(Sample(measure, lost, "ratio", "no updates", Statistic.QUOTIENT, seed, of=of))
    full = sum(idle.saturated) / PERTURBATIONS
    return [*samples, Sample(f"intervals in which the unmoved query meets a full host{pace}", full, "share", seed=seed)]


TABLE_1 = Experiment(
    name="ants/table-1",
    question="How do updates fall and losses grow with beta?",
    paper="updates 15, 10, 7, 2, 1 and losses 0, 25.87, 59.23, 78.67, 101.23 ms for beta 1.1, 1.25, 1.5, 1.75, 2.0",
    trial=_table_1,
    seeds=30,
    reading="A query whose host is too full counts as 2 s of latency, and a few such minutes make most of the loss "
    "without updates. So the target is held against both shares: that of all intervals, and that of those in which "
    "neither query meets a full host, where there is far less to save. Ants look every 5 s here, whatever it costs; "
    "rows named 'with the default budget' are what they do within it, where **the share that is lost at beta 1.1 is "
    "many times as large** ([decision 0333](decisions/0333-what-steady-state-and-budget-hold.md)). Thirty seeds are "
    "asked for because ten do not tell beta 1.75 from 2: with the seeds 101 to 110 alone their losses were the same to "
    "0.03 %, in the wrong order, and the target of rising losses was missed by that",
    targets=(
        InOrder(tuple(f"updates, beta {beta:g}" for beta in BETAS), rising=False),
        InOrder(tuple(f"loss, beta {beta:g}" for beta in BETAS), rising=True),
        AtMost("loss at beta 1.1 over loss without updates", 0.02),
        AtMost(f"loss at beta 1.1 over loss without updates{NEITHER_FULL}", 0.02),
    ),
    x_label="beta",
    y_label="loss (ms s), updates",
)
