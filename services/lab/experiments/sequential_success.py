"""How many queries each strategy could place, in turn or all together; a query without room is left out."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean

from placement.evaluator_incremental import Ledger
from placement.model import Flow, Placement, Problem
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
    ledger = _ledger(problem)
    stopped = _fill(ledger, problem.flows, strategy, rng=rng, max_branches=max_branches)
    return _told(ledger, stopped)


def placed_together(problem: Problem, *, rng: Random) -> InTurn:
    """The paper's [16]: descend over the concatenation of all flows, from all at the producer.

    Flows for which that start has no room are left out of it, and get another chance after the descent has made some.
    """
    begun = _ledger(problem)
    _fill(begun, problem.flows, Producer(), rng=rng)
    kept = tuple(flow for flow in problem.flows if flow.name in begun.running)
    found = Centralised(moves_per_round=1).place(replace(problem, flows=kept), rng=rng).placement
    ledger = _ledger(problem)
    for flow in kept:
        _put(ledger, flow, found)
    _fill(ledger, [flow for flow in problem.flows if flow not in kept], Centralised(), rng=rng)
    return _told(ledger)


def _ledger(problem: Problem) -> Ledger:
    return Ledger(problem.network, background=problem.host_loads, wire_background=problem.wire_loads)


def _fill(
    ledger: Ledger, flows: Iterable[Flow], strategy: Strategy | None, *, rng: Random, max_branches: int = 200
) -> int:
    """Put flow after flow where there is room; how many searches stopped before they knew."""
    stopped = 0
    for flow in flows:
        alone = Problem(ledger.network, (flow,), tuple(ledger.loads), tuple(ledger.wire_loads))
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
        _put(ledger, flow, found)
    return stopped


def _put(ledger: Ledger, flow: Flow, placement: Placement) -> None:
    index = ledger.network.host_index
    ledger.put(flow, [index[placement.hosts[flow.name, task.name]] for task in flow.tasks])


def _told(ledger: Ledger, stopped: int = 0) -> InTurn:
    latencies_ms = [ledger.latency(name).mean_ms for name in sorted(ledger.running)]
    return InTurn(len(latencies_ms), fmean(latencies_ms) if latencies_ms else math.nan, stopped)
