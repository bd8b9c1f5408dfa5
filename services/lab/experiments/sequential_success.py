"""How many queries a perfect placer of single queries could place, one after the other."""

from placement.evaluator_incremental import Ledger
from placement.model import Problem
from placement.strategies import NoFeasibleHost
from placement.strategies.exact_search import search


def placed_in_turn(problem: Problem, *, max_branches: int = 200) -> int:
    """Place flow after flow exactly; those without room are left out."""
    ledger = Ledger(problem.network, background=problem.host_loads, wire_background=problem.wire_loads)
    index = problem.network.host_index
    placed = 0
    for flow in problem.flows:
        alone = Problem(problem.network, (flow,), tuple(ledger.loads), tuple(ledger.wire_loads))
        try:
            found = search(alone, social=True, max_branches=max_branches, gap=1e-3)
        except NoFeasibleHost:
            continue
        ledger.put(flow, [index[found.placement.hosts[flow.name, task.name]] for task in flow.tasks])
        placed += 1
    return placed
