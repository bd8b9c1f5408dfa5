"""The exact optimum over all flows together, with its proof: the cheapest placement that keeps every flow's bound.

Up to `exhaustive_limit` placements all are priced. Beyond, branch and bound, with a bound proven at every step.
Beyond `max_tasks` tasks in all the tables would not fit: the best of steepest descents from several starts is proposed
instead (decision 0332), and the proposal says that it is no proof, what it is bounded by, and which flows' bounds it
breaks.
"""

import math
from dataclasses import dataclass, replace

from placement.model.errors import require
from placement.model.problem import Problem
from placement.strategies.coarse_bound import coarse_bound_ms
from placement.strategies.descents import best_descent
from placement.strategies.exact_search import enumerate_all, search
from placement.strategies.protocol import Chance, Proposal, propose
from placement.strategies.sequential import SIMPLE_STARTS, SequentialOptimum, describe


@dataclass(frozen=True, slots=True)
class Exact:
    """How hard to search. Limits are counts, never seconds, so the same problem ends alike everywhere."""

    social: bool = False
    """Whether what the background's flows lose counts too; the paper's optimum looks at its own latency only."""
    exhaustive_limit: int = 2000
    max_tasks: int = 10
    max_branches: int = 5000
    gap: float = 1e-6
    """A placement within this share of the bound counts as proven."""

    def __post_init__(self) -> None:
        require(self.exhaustive_limit >= 0, f"exhaustive_limit is {self.exhaustive_limit}; give 0 or more")
        require(1 <= self.max_tasks <= 14, f"max_tasks is {self.max_tasks}; tables of 2^tasks need 1 to 14")
        require(self.max_branches >= 1, f"max_branches is {self.max_branches}; give 1 or more")
        require(0 <= self.gap < 1, f"gap is {self.gap}; give a share in [0, 1)")

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        tasks = sum(len(flow.tasks) for flow in problem.flows)
        if tasks > self.max_tasks:
            return self._best_known(problem, tasks, rng)
        if len(problem.network.hosts) ** tasks <= self.exhaustive_limit:
            found = enumerate_all(problem, social=self.social)
            reason = f"all {found.branches} placements priced"
        else:
            found = search(problem, social=self.social, max_branches=self.max_branches, gap=self.gap)
            reason = describe("all flows", found, self.gap)
        proposal = propose(problem, found.placement, (reason,))
        return replace(proposal, bound_ms=found.bound_ms, gap=found.gap, proven=found.proven(self.gap))

    def _best_known(self, problem: Problem, tasks: int, rng: Chance) -> Proposal:
        turn = SequentialOptimum(max_tasks=self.max_tasks, max_branches=self.max_branches, gap=self.gap)
        proposal, start = best_descent(problem, SIMPLE_STARTS | {"flows placed in turn": turn}, rng=rng)
        reason = f"{tasks} tasks in all, more than {self.max_tasks}: steepest descent from {start}, no proof"
        least = coarse_bound_ms(problem)
        gap = proposal.cost_ms / least - 1.0 if least > 0 else math.inf
        return replace(proposal, reasons=(reason, *proposal.reasons), bound_ms=least, gap=gap)
