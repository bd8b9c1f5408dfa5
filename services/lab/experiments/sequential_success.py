"""How many queries each strategy could place, one after the other; a query without room is left out."""

import math
from dataclasses import dataclass
from random import Random
from statistics import fmean

from placement.evaluator_incremental import Ledger
from placement.model import Placement, Problem
from placement.strategies import (
    Centralised,
    Consumer,
    NoFeasibleHost,
    Producer,
    RandomHosts,
    StoppedWithoutProof,
    Strategy,
)
from placement.strategies.exact_search import search

IN_TURN: dict[str, Strategy | None] = {
    "the optimum": None,
    "centralised": Centralised(),
    "producer": Producer(),
    "consumer": Consumer(),
    "random": RandomHosts(),
}
"""Who places each query when its turn comes; None: an exact search."""


@dataclass(frozen=True, slots=True)
class InTurn:
    """Queries placed, and those for which the exact search stopped before it found a place or ruled all out."""

    placed: int
    mean_ms: float
    """Latency of those that were placed."""
    stopped: int = 0


def placed_in_turn(problem: Problem, strategy: Strategy | None, *, rng: Random, max_branches: int = 200) -> InTurn:
    """Place flow after flow, each given those before it."""
    ledger = Ledger(problem.network, background=problem.host_loads, wire_background=problem.wire_loads)
    index = problem.network.host_index
    stopped = 0
    for flow in problem.flows:
        alone = Problem(problem.network, (flow,), tuple(ledger.loads), tuple(ledger.wire_loads))
        try:
            found: Placement = (
                search(alone, social=True, max_branches=max_branches, gap=1e-3).placement
                if strategy is None
                else strategy.place(alone, rng=rng).placement
            )
        except StoppedWithoutProof:
            stopped += 1
            continue
        except NoFeasibleHost:
            continue
        ledger.put(flow, [index[found.hosts[flow.name, task.name]] for task in flow.tasks])
    latencies_ms = [ledger.latency(name).mean_ms for name in sorted(ledger.running)]
    return InTurn(len(latencies_ms), fmean(latencies_ms) if latencies_ms else math.nan, stopped)
