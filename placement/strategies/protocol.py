"""What every strategy takes and gives: a problem in, a proposal with reasons out.

A strategy is a frozen dataclass: its fields are its parameters, which check themselves. Chance is an argument. A
proposal is only that; the validator decides whether it can run and the evaluator what it is worth, for all
strategies alike.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from placement.evaluator import Evaluation, evaluate
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.model.validator import violations


class NoFeasibleHost(Exception):  # noqa: N818 - the style guide's own name for it
    """No host has room for a task; the message says how much is missing and what to do."""


class StoppedWithoutProof(NoFeasibleHost):
    """A search ended at its limit before it found anything: there may be room. The message says what to raise."""


class BoundTooTight(NoFeasibleHost):
    """Some placement has room for all tasks, but none keeps every flow's bound. The message says whose, by how much."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A valid placement, its price by the evaluator, and why it looks as it does."""

    placement: Placement
    cost_ms: float
    """Sum over flows of weight times mean latency."""
    reasons: tuple[str, ...]
    bound_ms: float = 0.0
    """No placement does better in what the strategy minimised; 0 if it knows nothing."""
    gap: float = math.inf
    """How far the placement may be above the optimum, as a share of the bound."""
    proven: bool = False
    """Whether the gap is within the strategy's tolerance."""
    broken_ms: tuple[tuple[str, float], ...] = ()
    """Flows whose longest path is above their bound, and by how much; the reasons say so too."""

    @property
    def worth(self) -> tuple[float, float]:
        """The smaller the better: bounds come first, then the price."""
        return (math.fsum(by_ms for _, by_ms in self.broken_ms), self.cost_ms)


class Chance(Protocol):
    """What a strategy may ask of a random generator; `random.Random` has it."""

    def sample(self, population: Sequence[int], k: int) -> list[int]:
        """`k` different members in random order."""


class Strategy(Protocol):
    """One way to place all flows of a problem."""

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        """Propose a placement, or raise NoFeasibleHost."""


def propose(problem: Problem, placement: Placement, reasons: tuple[str, ...]) -> Proposal:
    """Price a strategy's placement; one that can't run (a wire too full, a way cut) is refused with the reason."""
    wrong = violations(problem, placement)
    if wrong:
        raise NoFeasibleHost("; ".join(each.message for each in wrong))
    found = evaluate(problem, placement)
    broken = broken_ms(found)
    return Proposal(placement, found.cost_ms, (*reasons, *in_words(broken)), broken_ms=broken)


def broken_ms(found: Evaluation) -> tuple[tuple[str, float], ...]:
    """Flows whose longest path is above their bound, and by how much."""
    return tuple((worth.flow, -worth.slack_ms) for worth in found.flows if worth.slack_ms < 0.0)


def in_words(broken: Iterable[tuple[str, float]]) -> tuple[str, ...]:
    """A reason for each bound that is not kept."""
    return tuple(f"breaks the bound of {flow} by {by_ms:.2f} ms" for flow, by_ms in broken)
