"""Branch and bound over hosts for tasks, best bound first, until the best placement found is proven.

Each branch is bounded by the programme over pieces (exact_bound), which also proposes a placement. Where pieces
meet on a host the proposal may cost more than the bound: then one task there is branched on, at this host or
anywhere else. Loose edges (diamonds) are settled first, by trying their head on every host. Branches in which a flow
can't keep its bound (exact_longest) are cut off, and a placement that breaks one is not taken (decision 0331). The
search ends by proof, or by `max_branches`: a count, not a clock, so that it ends alike everywhere.
"""

import heapq
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.evaluator import evaluate
from placement.model.placement import Placement
from placement.model.problem import Problem
from placement.strategies.exact_bound import Bound, Decisions, bound
from placement.strategies.exact_longest import promises, refuse_too_tight
from placement.strategies.exact_pieces import Forest, build_forest
from placement.strategies.exact_tables import Tables, build_tables
from placement.strategies.protocol import BoundTooTight, NoFeasibleHost, StoppedWithoutProof, broken_ms, in_words

Hosts = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Found:
    """The best placement found, what no placement can beat, and how many branches were bounded."""

    placement: Placement
    cost_ms: float
    """What was minimised: weighted mean latencies, and the background's loss if social."""
    bound_ms: float
    branches: int

    @property
    def gap(self) -> float:
        """How far the cost may be above the optimum, as a share of the bound."""
        return self.cost_ms / self.bound_ms - 1.0 if self.bound_ms > 0.0 else 0.0

    def proven(self, gap: float) -> bool:
        """Whether the search ended by proof, at that tolerance."""
        return self.cost_ms * (1.0 - gap) <= self.bound_ms


class _Best:
    """The cheapest placement seen that keeps every bound, and the one that came nearest to that."""

    def __init__(self, problem: Problem, tables: Tables) -> None:
        self.cost_ms = math.inf
        self.hosts: Hosts = np.zeros(tables.task_count, dtype=np.intp)
        self._problem = problem
        self._tables = tables
        self._bounded = any(math.isfinite(flow.latency_bound_ms) for flow in problem.flows)
        self._least_excess_ms = math.inf
        self._nearest = ""

    def consider(self, hosts: Hosts) -> None:
        """The tables are exact but for queues before wires that edges of the flow share; there the evaluator prices."""
        cost_ms = self._tables.cost(hosts)
        if cost_ms >= self.cost_ms:  # queues before shared wires only add to it
            return
        if self._bounded or self._problem.network.has_queues:
            found = evaluate(self._problem, name_hosts(self._problem, self._tables, hosts))
            if self._problem.network.has_queues:
                cost_ms = found.cost_ms + self._impact_ms(hosts)
            broken = broken_ms(found)
            if broken:
                excess_ms = sum(by_ms for _, by_ms in broken)
                if excess_ms < self._least_excess_ms:
                    self._least_excess_ms, self._nearest = excess_ms, " and ".join(in_words(broken))
                return
        if cost_ms < self.cost_ms:
            self.cost_ms, self.hosts = cost_ms, hosts

    def nothing(self, branches: int, *, stopped: bool) -> NoFeasibleHost:
        """Why there is no placement to tell of."""
        names = ", ".join(flow.name for flow in self._problem.flows)
        nearest = f"; the nearest {self._nearest}" if self._nearest else ""
        if stopped:
            return StoppedWithoutProof(
                f"{names}: nothing found in {branches} branches, without proof{nearest}; raise max_branches"
            )
        if nearest:
            return BoundTooTight(
                f"{names}: no placement keeps every bound (all ruled out by {branches} bounds){nearest}; "
                "relax it or add a host"
            )
        return NoFeasibleHost(
            f"{names}: no placement fits (all ruled out by {branches} bounds); add a host or withdraw a flow"
        )

    def _impact_ms(self, hosts: Hosts) -> float:
        masks: dict[int, int] = {}
        for task, host in enumerate(hosts):
            masks[int(host)] = masks.get(int(host), 0) | 1 << task
        return sum(float(self._tables.impacts[mask, host]) for host, mask in masks.items())


def search(problem: Problem, *, social: bool, max_branches: int, gap: float) -> Found:
    """The optimum of a small problem. Raises NoFeasibleHost if nothing fits, StoppedWithoutProof if that is unknown."""
    tables = build_tables(problem, social=social)
    forest, kept, best = build_forest(tables), promises(problem, tables), _Best(problem, tables)
    start = Decisions.none(tables.host_count)
    refuse_too_tight(kept, start)
    first = bound(tables, forest, start)
    waiting: list[tuple[float, int, Decisions, Bound]] = [(first.cost, 0, start, first)]
    branches, lowest_pruned = 1, math.inf
    while waiting and waiting[0][0] < best.cost_ms * (1.0 - gap) and branches < max_branches:
        _, _, decisions, here = heapq.heappop(waiting)
        best.consider(here.hosts)
        for child in _children(tables, forest, decisions, here):
            branches += 1
            if not all(promise.check(child) for promise in kept):
                continue
            below = bound(tables, forest, child)
            if below.cost < best.cost_ms * (1.0 - gap):
                heapq.heappush(waiting, (below.cost, branches, child, below))
            else:
                lowest_pruned = min(lowest_pruned, below.cost)
    if math.isinf(best.cost_ms):
        raise best.nothing(branches, stopped=bool(waiting) and math.isfinite(waiting[0][0]))
    proven_to = min(best.cost_ms, lowest_pruned, waiting[0][0] if waiting else math.inf)
    return Found(name_hosts(problem, tables, best.hosts), best.cost_ms, proven_to, branches)


def enumerate_all(problem: Problem, *, social: bool) -> Found:
    """Every placement, priced: the proof that needs no argument, for the very small."""
    tables = build_tables(problem, social=social)
    best = _Best(problem, tables)
    count = 0
    for choice in itertools.product(range(tables.host_count), repeat=tables.task_count):
        best.consider(np.array(choice, dtype=np.intp))
        count += 1
    if math.isinf(best.cost_ms):
        raise best.nothing(count, stopped=False)
    return Found(name_hosts(problem, tables, best.hosts), best.cost_ms, best.cost_ms, count)


def name_hosts(problem: Problem, tables: Tables, hosts: Hosts) -> Placement:
    """Host indices by task number as a placement."""
    names = [host.name for host in problem.network.hosts]
    return Placement.of({key: names[int(host)] for key, host in zip(tables.names, hosts, strict=True)})


def _children(tables: Tables, forest: Forest, decisions: Decisions, here: Bound) -> list[Decisions]:
    """Split a branch in two at the task that most likely explains the gap, or by all hosts of a loose edge's head."""
    for joint in forest.loose:
        ends = 1 << joint.head | 1 << joint.tail
        if not decisions.fixed & ends:
            allowed = np.flatnonzero((decisions.never >> joint.head & 1) == 0)
            return [decisions.at(joint.head, int(host)) for host in allowed]
    free = [task for task in range(tables.task_count) if not decisions.fixed >> task & 1]
    if not free:
        return []
    tops = [task for task in forest.bottom_up if _is_top(forest, here.hosts, task)]
    crowd = np.bincount(here.hosts[tops], minlength=tables.host_count)
    # Where several pieces share a host the bound may be low; settling their tasks there first closes it fastest.
    task = max(free, key=lambda each: (crowd[here.hosts[each]], -each))
    host = int(here.hosts[task])
    return [decisions.at(task, host), decisions.off(task, host)]


def _is_top(forest: Forest, hosts: Hosts, task: int) -> bool:
    return task not in forest.up or hosts[forest.up[task][0]] != hosts[task]
