"""Steepest descent that prices every candidate move from scratch, as the paper's [16] does: to be timed, not used."""

from placement.evaluator import evaluate
from placement.model import Placement, Problem
from placement.strategies.descent import SMALLEST_GAIN


def descend(problem: Problem, start: Placement) -> tuple[Placement, int]:
    """From a start, the best single move again and again until none helps; and how many pricings that took."""
    here, cost_ms, pricings = start, evaluate(problem, start).cost_ms, 1
    while True:
        best, best_ms = here, cost_ms * (1 - SMALLEST_GAIN)
        for flow in problem.flows:
            for task in flow.tasks:
                for host in problem.network.hosts:
                    moved = here.moved(flow.name, task.name, host.name)
                    moved_ms = evaluate(problem, moved).cost_ms
                    pricings += 1
                    if moved_ms < best_ms:
                        best, best_ms = moved, moved_ms
        if best is here:
            return here, pricings
        here, cost_ms = best, best_ms
