"""Everything at one end: all at the producer, or all at the consumer; the rest at the nearest host with room."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from placement.model.flow import Flow
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.strategies.filling import fill
from placement.strategies.protocol import Chance, Proposal, propose


@dataclass(frozen=True, slots=True)
class Producer:
    """Tasks at the source that feeds them; behind a join, the one on its first edge."""

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        placement = _near(problem, producer_of)
        return propose(problem, placement, _reasons(problem, placement, producer_of, "producer"))


@dataclass(frozen=True, slots=True)
class Consumer:
    """Tasks at the sink that they feed; before a fan-out, the one on its first edge."""

    def place(self, problem: Problem, *, rng: Chance) -> Proposal:
        placement = _near(problem, consumer_of)
        return propose(problem, placement, _reasons(problem, placement, consumer_of, "consumer"))


def producer_of(flow: Flow, task: int) -> str:
    """The host of the source that a task's first input comes from."""
    edge = flow.graph.into[task][0]
    return edge.tail_host if edge.from_source else producer_of(flow, edge.tail_task)


def consumer_of(flow: Flow, task: int) -> str:
    """The host of the sink that a task's first output goes to."""
    edge = flow.graph.out_of[task][0]
    return edge.head_host if edge.to_sink else consumer_of(flow, edge.head_task)


def _near(problem: Problem, end_of: Callable[[Flow, int], str]) -> Placement:
    network = problem.network

    def preference(flow: Flow, task: int) -> Iterable[int]:
        end = network.host_index[end_of(flow, task)]
        return (int(host) for host in np.argsort(network.delays_ms[end], kind="stable"))

    return fill(problem, preference)


def _reasons(problem: Problem, placement: Placement, end_of: Callable[[Flow, int], str], word: str) -> tuple[str, ...]:
    reasons = [f"each task at its {word}, or the nearest host with room"]
    for flow in problem.flows:
        for index, task in enumerate(flow.tasks):
            end, host = end_of(flow, index), placement.host_of(flow.name, task.name)
            if host != end:
                reasons.append(f"{flow.name}/{task.name} at {host}: its {word} {end} is full")
    return tuple(reasons)
