"""Random placement: every task on a host drawn at random among those with room. The paper's worst case."""

from collections.abc import Iterable
from dataclasses import dataclass

from placement.model.flow import Flow
from placement.model.problem import Problem
from placement.strategies.filling import fill
from placement.strategies.protocol import Chance, Proposal, propose


@dataclass(frozen=True, slots=True)
class RandomHosts:
    """No parameters: the generator decides."""

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        count = len(problem.network.hosts)

        def preference(_flow: Flow, _task: int) -> Iterable[int]:
            return rng.sample(range(count), count)

        placement = fill(problem, preference)
        return propose(problem, placement, ("each task on a host drawn at random among those with room",))
