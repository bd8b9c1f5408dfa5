"""Centralised placement: the paper's baseline [16], steepest descent over the concatenation of all flows.

It sees everything and decides everything: from a start it makes the single-task move that lowers the mean latency
over all paths of all flows most, until none does. Unhurried that is one move a round, as in the paper;
`moves_per_round` above 1 takes the best moves that don't touch each other's hosts or flows, which costs little
quality and far less time (decision 0034). It looks at means; a bound that its placement breaks is told.
"""

from dataclasses import dataclass, replace
from typing import Literal

from placement.model.errors import require
from placement.model.problem import Problem
from placement.strategies.chance import RandomHosts
from placement.strategies.descents import MOST_ROUNDS, descend
from placement.strategies.ends import Producer
from placement.strategies.protocol import Chance, Proposal
from placement.strategies.sequential import SequentialOptimum

Start = Literal["producer", "random", "sequential"]


@dataclass(frozen=True, slots=True)
class Centralised:
    """Where to start, how many moves a round, and when to stop at the latest."""

    start: Start = "producer"
    moves_per_round: int = 32
    max_rounds: int = MOST_ROUNDS

    def __post_init__(self) -> None:
        starts = ("producer", "random", "sequential")
        require(self.start in starts, f"start is {self.start!r}; choose one of {', '.join(starts)}")
        require(self.moves_per_round >= 1, f"moves_per_round is {self.moves_per_round}; give 1 or more")
        require(self.max_rounds >= 0, f"max_rounds is {self.max_rounds}; give 0 or more")

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        begun = self._begin(problem, rng)
        best, how = descend(problem, begun, moves_per_round=self.moves_per_round, max_rounds=self.max_rounds)
        return replace(best, reasons=(f"steepest descent from {self.start}: {how}", *best.reasons))

    def _begin(self, problem: Problem, rng: Chance) -> Proposal:
        if self.start == "producer":
            return Producer().place(problem, rng=rng)
        if self.start == "random":
            return RandomHosts().place(problem, rng=rng)
        return SequentialOptimum().place(problem, rng=rng)
