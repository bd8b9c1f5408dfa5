"""The relaxation behind the exact optimum: pieces of the graph pay alone, so a programme over a tree finds the minimum.

A spanning forest joins the tasks. A piece is a set of tasks connected in the forest that sit together on one host.
What a piece really pays depends on the whole subset T on its host; for a given T its share is exact, and the smallest
share over all T that could be there can only be too low. Pieces paying this smallest share are independent of each
other, and the cheapest way to cut the forest into pieces and to give each a host is a plain programme from the
leaves to the roots: a lower bound, and a placement to try. Edges outside the forest (a diamond has one) count once
one of their ends is fixed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.queueing.arrays import RHO, SERVICE, WEIGHT, Array
from placement.strategies.exact_tables import Joint, Tables

Masks = NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """Tasks connected in the forest, the topmost of them, and the children that hang below."""

    mask: int
    top: int
    hanging: tuple[int, ...]


@dataclass(frozen=True)
class Forest:
    """The spanning forest, its pieces by top task, and each piece's share for every subset that it can be part of."""

    roots: tuple[int, ...]
    bottom_up: tuple[int, ...]
    up: dict[int, tuple[int, Array]]
    """Task to its parent and the travel [parent's host, own host] between them."""
    loose: tuple[Joint, ...]
    pieces: tuple[Piece, ...]
    by_top: tuple[tuple[int, ...], ...]
    """Task to the numbers of the pieces that it tops."""
    subsets: Masks
    """The subset T of each row of `shares`, rows grouped by piece."""
    group_starts: NDArray[np.intp]
    shares: Array


def build_forest(tables: Tables) -> Forest:
    """Choose the forest, list its pieces, compute their shares."""
    roots, bottom_up, up, loose = _span(tables)
    children: list[list[int]] = [[] for _ in range(tables.task_count)]
    for task, (parent, _) in sorted(up.items()):
        children[parent].append(task)
    pieces: list[Piece] = []
    by_top: list[tuple[int, ...]] = [()] * tables.task_count
    grown: list[list[int]] = [[] for _ in range(tables.task_count)]
    for task in bottom_up:
        masks = [1 << task]
        for child in children[task]:
            masks += [mask | below for mask in masks for below in grown[child]]
        grown[task] = masks
        first = len(pieces)
        pieces += [Piece(mask, task, _hanging(mask, children)) for mask in sorted(masks)]
        by_top[task] = tuple(range(first, len(pieces)))
    neighbours = [0] * tables.task_count
    for task, (parent, _) in up.items():
        neighbours[task] |= 1 << parent
        neighbours[parent] |= 1 << task
    subsets, starts, shares = _shares(tables, pieces, neighbours)
    return Forest(roots, bottom_up, up, loose, tuple(pieces), tuple(by_top), subsets, starts, shares)


def _span(
    tables: Tables,
) -> tuple[tuple[int, ...], tuple[int, ...], dict[int, tuple[int, Array]], tuple[Joint, ...]]:
    """Walk the tasks breadth first; edges to tasks already reached stay loose."""
    touching: list[list[Joint]] = [[] for _ in range(tables.task_count)]
    for joint in tables.joints:
        touching[joint.tail].append(joint)
        touching[joint.head].append(joint)
    up: dict[int, tuple[int, Array]] = {}
    roots: list[int] = []
    order: list[int] = []
    used: set[int] = set()
    reached: set[int] = set()
    for root in range(tables.task_count):
        if root in reached:
            continue
        roots.append(root)
        reached.add(root)
        waiting = [root]
        while waiting:
            task = waiting.pop(0)
            order.append(task)
            for joint in touching[task]:
                other = joint.head if joint.tail == task else joint.tail
                if other not in reached:
                    reached.add(other)
                    used.add(id(joint))
                    up[other] = (task, joint.travel if joint.tail == task else joint.travel.T)
                    waiting.append(other)
    loose = tuple(joint for joint in tables.joints if id(joint) not in used)
    return tuple(roots), tuple(reversed(order)), up, loose


def _hanging(mask: int, children: list[list[int]]) -> tuple[int, ...]:
    inside = [task for task in range(len(children)) if mask >> task & 1]
    return tuple(child for task in inside for child in children[task] if not mask >> child & 1)


def _shares(tables: Tables, pieces: list[Piece], neighbours: list[int]) -> tuple[Masks, NDArray[np.intp], Array]:
    """For each piece, every subset of which it is a whole piece, and what it pays then on each host."""
    everything = np.arange(1 << tables.task_count, dtype=np.int64)
    whole_rho = tables.sums[:, :, RHO].sum(axis=1)
    subsets, starts, shares = [], [], []
    at = 0
    for piece in pieces:
        members = [task for task in range(tables.task_count) if piece.mask >> task & 1]
        around = 0
        for task in members:
            around |= neighbours[task]
        around &= ~piece.mask
        fitting = everything[((everything & piece.mask) == piece.mask) & ((everything & around) == 0)]
        rows = tables.sums[fitting][:, members].sum(axis=1)
        part = rows[:, RHO] / whole_rho[fitting]
        paid = _times(rows[:, WEIGHT], tables.waits[fitting]) + _times(rows[:, SERVICE], tables.factors[SERVICE])
        subsets.append(fitting)
        shares.append(paid + _times(part, tables.impacts[fitting]))
        starts.append(at)
        at += len(fitting)
    return np.concatenate(subsets), np.array(starts, dtype=np.intp), np.concatenate(shares)


def _times(amounts: Array, prices: Array) -> Array:
    """[amount, host]: amounts times prices. Nothing costs nothing, also on a host that is too full.

    A piece that only tasks of its own subset feed, over loose edges, weighs nothing; its neighbours pay for it.
    """
    with np.errstate(invalid="ignore"):
        found: Array = np.where(amounts[:, None] > 0.0, amounts[:, None] * prices, 0.0)
    return found
