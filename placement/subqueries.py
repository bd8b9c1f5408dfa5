"""Subqueries: the linear chains into which a flow is cut, one round of ants each (Ants 3.3, figure 1).

The longest chain comes first, then the chains that join it or branch off it, always the longest of what is left. A
chain starts at a source or at a task of an earlier chain, and ends at a sink or at a task of an earlier chain. Tasks
that only feed a tapped one belong to no chain: they need not run.
Where a task of a chain also has edges beside the chain, the chain carries hints: which pinned ends pull at that task,
and how strongly. Placing the longest chain blindly costs 23 % at joins; with the pull of the other producers, nothing
(decision 43).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

from placement.model import FlowGraph, GraphEdge


@dataclass(frozen=True, slots=True)
class End:
    """Where an edge leads: a pinned host, or a task that an earlier chain placed."""

    host: str = ""
    task: int = -1

    def resolve(self, placed: Mapping[int, str]) -> str:
        """The host of this end, given where earlier chains were placed."""
        return self.host if self.task < 0 else placed[self.task]


@dataclass(frozen=True, slots=True)
class Pull:
    """An end beside the chain that wants a task near. `exact`: the edge is priced here and nowhere else."""

    end: End
    path_share: float
    exact: bool
    upstream: bool
    """Messages come from that end; else they go there."""


@dataclass(frozen=True, slots=True)
class Subquery:
    """One chain: `tasks` in order, `shares` of the flow's paths over its len(tasks) + 1 edges, pulls on each task."""

    tasks: tuple[int, ...]
    start: End
    end: End
    shares: tuple[float, ...]
    pulls: tuple[tuple[Pull, ...], ...]

    def mask(self, first: int, last: int) -> int:
        """The tasks from position `first` up to and with `last`, as a set of the flow's tasks."""
        mask = 0
        for task in self.tasks[first : last + 1]:
            mask |= 1 << task
        return mask


class _Rest:
    """What is left of a flow: tasks that must run and are not placed yet, and the edges that carry messages."""

    def __init__(self, graph: FlowGraph, settled: Collection[int], tapped: frozenset[int]) -> None:
        self.graph = graph
        self.settled = frozenset(settled) | tapped
        self.open = graph.needed(tapped) - self.settled
        live = {edge.index for edge in graph.live_edges(tapped)}
        self.into = tuple(tuple(edge for edge in edges if edge.index in live) for edges in graph.into)
        self.out_of = tuple(tuple(edge for edge in edges if edge.index in live) for edges in graph.out_of)


def subqueries(graph: FlowGraph) -> tuple[Subquery, ...]:
    """Cut a flow into chains, in the order in which they must be placed."""
    placed: set[int] = set()
    found: list[Subquery] = []
    while (chain := next_subquery(graph, placed)) is not None:
        found.append(chain)
        placed.update(chain.tasks)
    return tuple(found)


def next_subquery(graph: FlowGraph, settled: Collection[int], tapped: frozenset[int] = frozenset()) -> Subquery | None:
    """The next chain to place when earlier chains settled those tasks, and tapped those; None if none is left."""
    rest = _Rest(graph, settled, tapped)
    return _subquery(rest, _longest(rest)) if rest.open else None


def _longest(rest: _Rest) -> tuple[int, ...]:
    """The longest chain of tasks not placed yet; among equals, the one that carries more messages, then the first."""
    best: dict[int, tuple[int, float, tuple[int, ...]]] = {}
    for task in rest.graph.order:
        if task not in rest.open:
            continue
        rate = max(edge.rate_per_ms for edge in rest.into[task])
        before = [best[edge.tail_task] for edge in rest.into[task] if edge.tail_task in best]
        length, carried, chain = max(before, key=lambda chain: (chain[0], chain[1]), default=(0, 0.0, ()))
        best[task] = (length + 1, carried + rate, (*chain, task))
    return max(best.values(), key=lambda chain: (chain[0], chain[1]))[2]


def _subquery(rest: _Rest, tasks: tuple[int, ...]) -> Subquery:
    first = max(rest.into[tasks[0]], key=lambda edge: (edge.path_share, -edge.index))
    last = max(rest.out_of[tasks[-1]], key=lambda edge: (edge.path_share, -edge.index))
    inner = [next(edge for edge in rest.out_of[tail] if edge.head_task == head) for tail, head in pairwise(tasks)]
    chain_edges = [first, *inner, last]
    used = {edge.index for edge in chain_edges}
    pulls = tuple(_pulls(rest, task, tasks, used) for task in tasks)
    return Subquery(
        tasks,
        End(first.tail_host, first.tail_task),
        End(last.head_host, last.head_task),
        tuple(edge.path_share for edge in chain_edges),
        pulls,
    )


def _pulls(rest: _Rest, task: int, chain: tuple[int, ...], used: set[int]) -> tuple[Pull, ...]:
    found: list[Pull] = []
    for edge in (*rest.into[task], *rest.out_of[task]):
        if edge.index in used:
            continue
        upstream = edge.head_task == task
        other = edge.tail_task if upstream else edge.head_task
        if other in chain:
            continue  # an edge that skips tasks of the same chain pulls both its ends together anyway
        if other < 0 or other in rest.settled:
            found.append(Pull(_end(edge, upstream=upstream), edge.path_share, exact=True, upstream=upstream))
        else:
            ends = _far_ends(rest, other, chain, upstream=upstream)
            found += [Pull(end, edge.path_share / len(ends), exact=False, upstream=upstream) for end in ends]
    return tuple(found)


def _end(edge: GraphEdge, *, upstream: bool) -> End:
    return End(edge.tail_host, edge.tail_task) if upstream else End(edge.head_host, edge.head_task)


def _far_ends(rest: _Rest, task: int, chain: tuple[int, ...], *, upstream: bool) -> list[End]:
    """The pinned or placed ends that a branch through unplaced tasks leads to; none if it only returns to the chain."""
    ends: list[End] = []
    waiting, seen = [task], {task, *chain}
    while waiting:
        here = waiting.pop(0)
        for edge in rest.into[here] if upstream else rest.out_of[here]:
            other = edge.tail_task if upstream else edge.head_task
            if other < 0 or other in rest.settled:
                ends.append(_end(edge, upstream=upstream))
            elif other not in seen:
                seen.add(other)
                waiting.append(other)
    return ends
