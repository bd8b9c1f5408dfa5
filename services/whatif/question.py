"""A question and its answer: what would run where, and what would that cost, against now. Pure.

The answer comes from steepest descent over the whole problem (`placement.strategies.Centralised`), which sees all of
it at once; ants, who see their surroundings, come close to it but need not choose the same hosts.
"""

from dataclasses import dataclass
from random import Random

from placement.evaluator import evaluate
from placement.model.validator import violations
from placement.strategies import Centralised
from placement.strategies.protocol import NoFeasibleHost
from services.whatif.world import World


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """One flow: mean latency before and after, and the tasks that would go elsewhere as (task, from, to)."""

    flow: str
    latency_now_ms: float | None
    latency_ms: float
    moves: tuple[tuple[str, str | None, str], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """All flows; or why there is no placement at all."""

    flows: tuple[FlowAnswer, ...] = ()
    infeasible: str | None = None


def answer(now: World, then: World, *, seed: int = 1) -> Answer:
    """How the world as it is compares with what would be done in the changed one."""
    before = now.problem()
    runs = now.placement()
    worth = evaluate(before, runs) if not violations(before, runs) else None
    problem = then.problem()
    try:
        proposal = Centralised(start="sequential").place(problem, rng=Random(seed))
    except NoFeasibleHost as fault:
        return Answer(infeasible=str(fault))
    after = evaluate(problem, proposal.placement)
    return Answer(
        tuple(
            FlowAnswer(
                flow=name,
                latency_now_ms=worth.of(name).latency.mean_ms + now.hops_ms[name] if worth is not None else None,
                latency_ms=after.of(name).latency.mean_ms + then.hops_ms[name],
                moves=tuple(
                    (task, now.running.get((flow, task)), host)
                    for (flow, task), host in sorted(proposal.placement.hosts.items())
                    if flow == name and now.running.get((flow, task)) != host
                ),
            )
            for name in sorted(then.flows)
        )
    )
