"""Sequential optimum: flow by flow in order of name, each placed exactly, given those before it.

What a perfect placer of single flows would do as queries arrive one by one. Not the optimum of all flows together.
"""

import math
from dataclasses import dataclass, replace

from placement.evaluator_incremental import Ledger
from placement.model.errors import require
from placement.model.flow import Flow
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.strategies.chance import RandomHosts
from placement.strategies.descents import best_descent
from placement.strategies.ends import Consumer, Producer
from placement.strategies.exact_search import Found, search
from placement.strategies.protocol import Chance, NoFeasibleHost, Proposal, Strategy, propose

SIMPLE_STARTS: dict[str, Strategy] = {
    "the producer": Producer(),
    "the consumer": Consumer(),
    "random hosts": RandomHosts(),
}
"""Where descents begin: one start alone may lie in a hollow."""


@dataclass(frozen=True, slots=True)
class SequentialOptimum:
    """How large a flow may be for the exact search, and how hard to search."""

    social: bool = True
    """Whether a flow's price counts what earlier flows lose."""
    max_tasks: int = 10
    max_branches: int = 2000
    gap: float = 1e-4

    def __post_init__(self) -> None:
        require(1 <= self.max_tasks <= 14, f"max_tasks is {self.max_tasks}; tables of 2^tasks need 1 to 14")
        require(self.max_branches >= 1, f"max_branches is {self.max_branches}; give 1 or more")
        require(0 <= self.gap < 1, f"gap is {self.gap}; give a share in [0, 1)")

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        ledger = Ledger(
            problem.network,
            background=problem.host_loads,
            wire_background=problem.wire_loads,
            cap=problem.utilisation_cap,
        )
        reasons = []
        index = problem.network.host_index
        for flow in problem.flows:
            alone = Problem(
                problem.network,
                (flow,),
                background=tuple(ledger.loads),
                wire_background=tuple(ledger.wire_loads),
                utilisation_cap=problem.utilisation_cap,
            )
            placement, reason = self._place_one(alone, flow, rng)
            ledger.put(flow, [index[placement.hosts[flow.name, task.name]] for task in flow.tasks])
            reasons.append(reason)
        return propose(problem, ledger.placement(), tuple(reasons))

    def _place_one(self, alone: Problem, flow: Flow, rng: Chance) -> tuple[Placement, str]:
        if len(flow.tasks) > self.max_tasks:
            best, start = best_descent(alone, SIMPLE_STARTS, rng=rng)
            reason = f"{flow.name}: {len(flow.tasks)} tasks are too many for a proof; steepest descent from {start}"
            return best.placement, reason
        try:
            found = self._search(alone)
        except NoFeasibleHost:
            if math.isinf(flow.latency_bound_ms):
                raise
            # Another strategy would place it, too, and the proposal says by how much the bound is broken.
            found = self._search(replace(alone, flows=(replace(flow, latency_bound_ms=math.inf),)))
        return found.placement, describe(flow.name, found, self.gap)

    def _search(self, alone: Problem) -> Found:
        return search(alone, social=self.social, max_branches=self.max_branches, gap=self.gap)


def describe(name: str, found: Found, gap: float) -> str:
    """One line on how a search ended."""
    if found.proven(gap):
        return f"{name}: optimal within {gap:.4%}, proven by {found.branches} bounds"
    return f"{name}: stopped without proof after {found.branches} bounds, at most {found.gap:.2%} above the optimum"
