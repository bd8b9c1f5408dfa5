"""Steepest descent that prices every candidate move from scratch, as the paper's [16] does: to be timed, not used."""

import math
import time
from dataclasses import dataclass

from placement.evaluator import evaluate
from placement.model import Placement, Problem
from placement.strategies.descent import SMALLEST_GAIN


@dataclass(frozen=True, slots=True)
class Descended:
    """How far it came, and what it took."""

    placement: Placement
    pricings: int
    moves: int
    spent_s: float
    """Of the processor."""
    ended: bool
    """Whether no move helps any more; else its time was over."""


def descend(problem: Problem, start: Placement, *, most_s: float = math.inf) -> Descended:
    """From a start, the best single move again and again, until none helps or so much processor time is spent."""
    begun_s = time.process_time()
    here, cost_ms, pricings, moves = start, evaluate(problem, start).cost_ms, 1, 0
    tasks = [(flow.name, task.name) for flow in problem.flows for task in flow.tasks]
    while True:
        best, best_ms = here, cost_ms * (1 - SMALLEST_GAIN)
        for flow, task in tasks:
            for host in problem.network.hosts:
                spent_s = time.process_time() - begun_s
                if spent_s >= most_s:
                    return Descended(here, pricings, moves, spent_s, ended=False)
                moved = here.moved(flow, task, host.name)
                moved_ms = evaluate(problem, moved).cost_ms
                pricings += 1
                if moved_ms < best_ms:
                    best, best_ms = moved, moved_ms
        if best is here:
            return Descended(here, pricings, moves, time.process_time() - begun_s, ended=True)
        here, cost_ms, moves = best, best_ms, moves + 1
