"""Steepest descent from a start to where no single move helps; and from several starts, of which the best counts."""

from collections.abc import Mapping
from dataclasses import replace

from placement.model.problem import Problem
from placement.strategies.descent import Descent
from placement.strategies.protocol import Chance, NoFeasibleHost, Proposal, Strategy, in_words, propose

MOST_ROUNDS = 100_000


def descend(problem: Problem, begun: Proposal, *, moves_per_round: int, max_rounds: int) -> tuple[Proposal, str]:
    """Where it ends, and in words how."""
    descent = Descent(problem, begun.placement)
    moves, rounds, made = 0, 0, 1
    while made and rounds < max_rounds:
        made = descent.step(moves_per_round)
        moves += made
        rounds += 1
    ended = "no single move helps" if not made else f"stopped at max_rounds {max_rounds}, moves were left"
    after = propose(problem, descent.placement, ())
    # The descent prices wires at their background load and knows no bounds; where that misled it, the start was better.
    best = min(replace(begun, reasons=in_words(begun.broken_ms)), after, key=lambda each: each.worth)
    return best, f"{begun.cost_ms:.1f} -> {best.cost_ms:.1f} ms in {moves} moves, {ended}"


def best_descent(problem: Problem, starts: Mapping[str, Strategy], *, rng: Chance) -> tuple[Proposal, str]:
    """The best end of descents from all starts that have room, one move at a time, and the name of its start."""
    found: list[tuple[Proposal, str]] = []
    refusals: list[NoFeasibleHost] = []
    for name, start in starts.items():
        try:
            begun = start.place(problem, rng=rng)
            found.append((descend(problem, begun, moves_per_round=1, max_rounds=MOST_ROUNDS)[0], name))
        except NoFeasibleHost as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    return min(found, key=lambda each: each[0].worth)
