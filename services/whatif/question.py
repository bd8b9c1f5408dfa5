"""A question and its answer: what would run where, and what would that cost, against now. Pure.

Ants answer, as the same brain does live (services/whatif/ants.py). Beside them stands steepest descent over the whole
problem (`placement.strategies.Centralised`), which sees all of it at once and starts from nothing: how good a placement
there is at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from placement.evaluator import evaluate
from placement.model.validator import violations
from placement.strategies import Centralised
from placement.strategies.protocol import NoFeasibleHost
from services.whatif.ants import let_ants_answer
from services.whatif.world import World

Moves = tuple[tuple[str, str | None, str], ...]
"""Tasks that would go elsewhere, as (task, from, to)."""


@dataclass(frozen=True, slots=True)
class Central:
    """One flow, by steepest descent."""

    latency_ms: float
    moves: Moves


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """One flow: mean latency before and after, and what would move. `refused`: why ants found no place for it.

    `central`: the same by steepest descent; None if that places nothing.
    """

    flow: str
    latency_now_ms: float | None
    latency_ms: float | None
    moves: Moves
    refused: str | None
    central: Central | None


@dataclass(frozen=True, slots=True)
class Answer:
    """All flows. `infeasible`: why there is no placement of everything at all.

    `seed` of the ants; `notes`: what of the answer does not rest on the time asked about.
    """

    flows: tuple[FlowAnswer, ...] = ()
    infeasible: str | None = None
    seed: int = 1
    notes: tuple[str, ...] = ()


def answer(now: World, then: World, *, seed: int = 1, notes: tuple[str, ...] = ()) -> Answer:
    """How the world as it is compares with what would be done in the changed one."""
    if not then.hosts:
        return Answer(infeasible="no host would be left", seed=seed, notes=notes)
    before = now.problem()
    runs = now.placement()
    worth = evaluate(before, runs) if not violations(before, runs) else None
    central, infeasible = _central(now, then, seed=seed)
    found = let_ants_answer(then, seed=seed)
    return Answer(
        tuple(
            FlowAnswer(
                flow=name,
                latency_now_ms=worth.of(name).latency.mean_ms + now.hops_ms[name] if worth is not None else None,
                latency_ms=found[name].latency_ms,
                moves=_moves(now, name, found[name].hosts) if found[name].refused is None else (),
                refused=found[name].refused,
                central=central.get(name),
            )
            for name in sorted(then.flows)
        ),
        infeasible,
        seed,
        notes,
    )


def _central(now: World, then: World, *, seed: int) -> tuple[dict[str, Central], str | None]:
    """Steepest descent over everything at once; nothing, and why, if there is no placement at all."""
    problem = then.problem()
    try:
        placement = Centralised(start="sequential").place(problem, rng=Random(seed)).placement
    except NoFeasibleHost as fault:
        return {}, str(fault)
    after = evaluate(problem, placement)
    hosts: dict[str, dict[str, str]] = {name: {} for name in then.flows}
    for (flow, task), host in placement.hosts.items():
        hosts[flow][task] = host
    return {
        name: Central(after.of(name).latency.mean_ms + then.hops_ms[name], _moves(now, name, hosts[name]))
        for name in then.flows
    }, None


def _moves(now: World, flow: str, hosts: Mapping[str, str]) -> Moves:
    return tuple(
        (task, now.running.get((flow, task)), host)
        for task, host in sorted(hosts.items())
        if now.running.get((flow, task)) != host
    )
