"""One bound of the exact search: the dynamic programme over pieces, under the decisions made so far."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.queueing.arrays import Array
from placement.strategies.exact_pieces import Forest
from placement.strategies.exact_tables import Tables


@dataclass(frozen=True)
class Decisions:
    """What a branch has settled: per host, masks of the tasks that must be and that may not be there."""

    must: NDArray[np.int64]
    never: NDArray[np.int64]
    fixed: int = 0
    """Mask of the tasks with a host."""

    @classmethod
    def none(cls, host_count: int) -> "Decisions":
        return cls(np.zeros(host_count, dtype=np.int64), np.zeros(host_count, dtype=np.int64))

    def at(self, task: int, host: int) -> "Decisions":
        """The task sits at that host."""
        must, never = self.must.copy(), self.never | (1 << task)
        must[host] |= 1 << task
        never[host] = self.never[host]
        return Decisions(must, never, self.fixed | 1 << task)

    def off(self, task: int, host: int) -> "Decisions":
        """The task sits anywhere but at that host."""
        never = self.never.copy()
        never[host] |= 1 << task
        return Decisions(self.must, never, self.fixed)

    def host_of(self, task: int) -> int | None:
        """The host that the task was given, if any."""
        found = np.flatnonzero(self.must >> task & 1)
        return int(found[0]) if len(found) else None


@dataclass(frozen=True)
class Bound:
    """No placement under the decisions costs less than `cost`; `hosts` (by task) is where the programme put them."""

    cost: float
    hosts: NDArray[np.intp]


def bound(tables: Tables, forest: Forest, decisions: Decisions) -> Bound:
    """Leaves to roots: the cheapest pieces, each on its cheapest host, and no child on its parent's host."""
    least = _least_shares(forest, decisions)
    pins = _pins(tables, forest, decisions)
    count = tables.host_count
    best = np.full((tables.task_count, count), math.inf)
    chosen = np.zeros((tables.task_count, count), dtype=np.intp)
    hung = np.zeros((tables.task_count, count))
    hung_at = np.zeros((tables.task_count, count), dtype=np.intp)
    for task in forest.bottom_up:
        for number in forest.by_top[task]:
            piece = forest.pieces[number]
            cost = least[number] + _sum_bits(pins, piece.mask)
            for child in piece.hanging:
                cost = cost + hung[child]
            better = cost < best[task]
            best[task][better] = cost[better]
            chosen[task][better] = number
        if task in forest.up:
            ways = forest.up[task][1] + best[task][None, :]
            np.fill_diagonal(ways, math.inf)
            hung_at[task] = ways.argmin(axis=1)
            hung[task] = ways[np.arange(count), hung_at[task]]
    hosts = np.zeros(tables.task_count, dtype=np.intp)
    total = tables.constant
    waiting = [(root, int(best[root].argmin())) for root in forest.roots]
    for root, host in waiting:
        total += float(best[root][host])
    while waiting:
        task, host = waiting.pop()
        piece = forest.pieces[int(chosen[task][host])]
        for member in range(tables.task_count):
            if piece.mask >> member & 1:
                hosts[member] = host
        waiting += [(child, int(hung_at[child][host])) for child in piece.hanging]
    return Bound(total, hosts)


def _least_shares(forest: Forest, decisions: Decisions) -> Array:
    """[piece, host]: the smallest share over the subsets that the decisions allow on each host."""
    subsets = forest.subsets[:, None]
    allowed = (subsets & decisions.never[None, :]) == 0
    allowed &= (subsets & decisions.must[None, :]) == decisions.must[None, :]
    shares = np.where(allowed, forest.shares, math.inf)
    least: Array = np.minimum.reduceat(shares, forest.group_starts, axis=0)
    return least


def _pins(tables: Tables, forest: Forest, decisions: Decisions) -> Array:
    """Travel to and from fixed points: sources, sinks, and the fixed ends of loose edges."""
    pins = tables.pins
    for joint in forest.loose:
        head, tail = decisions.host_of(joint.head), decisions.host_of(joint.tail)
        if head is not None:
            pins = pins.copy()
            pins[joint.tail] += joint.travel[:, head]
        elif tail is not None:
            pins = pins.copy()
            pins[joint.head] += joint.travel[tail]
    return pins


def _sum_bits(rows: Array, mask: int) -> Array:
    picked: Array = rows[[task for task in range(len(rows)) if mask >> task & 1]].sum(axis=0)
    return picked
