"""The carried dynamic programme: how our scouts choose (decision 42).

A scout carries, for each number of tasks placed so far, the cheapest few ways to have placed them on the hosts it
passed and on the best few hosts beside its trail. At each cell every way may go on with a segment of any length on any
host in reach. Ways differ in the host they end at, so the best few for each count are kept, not one.
A way never returns to a host it has left: plain dynamic programming would price A -> B -> A as if A were two hosts.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from placement.ants.order import Offer, Order, Spot
from placement.ants.pricing import Pricer
from placement.ants.trail import Trail


def _no_loop(_host: str) -> float:
    return 0.0


class Distances(NamedTuple):
    """What a cell knows of the delay between two hosts, beside what the walk tells; None where it knows nothing."""

    exact: Callable[[str, str], float | None] | None
    """The delay that data would have, where every host reaches every other directly (overlay); None elsewhere."""
    link: Callable[[str, str], float | None]
    """The delay of a link between them; data may also go another way."""
    loop: Callable[[str], float] = _no_loop
    """The delay of data from a host to itself: more than none where all data go through brokers and these are far."""


class Way(NamedTuple):
    """The first tasks of an order, placed. `steer_ms` is the pull of branches beside the chain, no cost."""

    cost_ms: float
    own_ms: float
    steer_ms: float
    spots: tuple[Spot, ...]
    prices: tuple[tuple[str, float], ...]
    at: Spot
    """Where the last placed task is, or the start."""
    tap: Offer | None = None
    covered: int = 0
    """How many of the first tasks the tap covers: they run nowhere for this flow."""

    @property
    def score_ms(self) -> float:
        return self.cost_ms + self.steer_ms

    def uses(self, host: str) -> bool:
        """Whether one of the placed tasks is at that host."""
        for used, _ in self.prices:  # noqa: SIM110 - asked half a million times a run; any() costs three times as much
            if used == host:
                return True
        return False

    def edges_between_hosts(self, start: str, end: str) -> int:
        """Edges of a complete way that leave their host: the hops of its data where every host reaches every other,
        however its scout walked. What a tap covers does not move."""
        hosts = (start, *(spot.host for spot in self.spots), end)[self.covered :]
        return sum(origin != target for origin, target in pairwise(hosts))


class Candidate(NamedTuple):
    """A host that a scout may use from where it stands, with the pull of each task's anchors there."""

    pricer: Pricer
    spot: Spot
    pulls: tuple[tuple[float, float], ...]
    """(exact, steering) in weighted ms for each task."""


_ROUNDING_MS = 1e-6
"""More than sums of costs differ by when they are added up in another order."""

Ways = tuple[tuple[Way, ...], ...]
"""[number of tasks placed]: the ways kept."""


def no_tasks_yet(order: Order) -> Ways:
    """The ways of a scout that has placed nothing."""
    start = Way(0.0, 0.0, 0.0, (), (), Spot(order.start, 0.0, 0.0))
    return ((start,), *(() for _ in order.tasks))


def reach_ms(origin: Spot, target: Spot, distances: Distances) -> float:
    """Travel time between two spots: known directly, or along the trail and out to each side."""
    if origin.host == target.host:
        return distances.loop(origin.host)
    if distances.exact is not None:
        exact_ms = distances.exact(origin.host, target.host)
        if exact_ms is not None:
            return exact_ms
    walk_ms = abs(target.position_ms - origin.position_ms) + origin.offset_ms + target.offset_ms
    if origin.offset_ms == 0.0 and target.offset_ms == 0.0:
        return walk_ms  # both on the trail
    link_ms = distances.link(origin.host, target.host)
    return walk_ms if link_ms is None else min(walk_ms, link_ms)


def anchored(ways: Ways, near_ms: Mapping[str, float], here: Spot, distances: Distances) -> Ways:
    """Ways that end on a host near this cell, with the shorter way to it that the cell knows."""

    def nearer(way: Way) -> Way:
        offset_ms = 0.0 if way.at.host == here.host else near_ms.get(way.at.host)
        if offset_ms is None or offset_ms >= reach_ms(way.at, here, distances):
            return way
        return way._replace(at=Spot(way.at.host, here.position_ms, offset_ms))

    return tuple(tuple(nearer(way) for way in row) for row in ways)


def cut_back(ways: Ways, position_ms: float) -> Ways:
    """The scout cut a cycle out of its trail: hosts passed on it now lie beside the trail, where the cycle began."""

    def beside(way: Way) -> Way:
        beyond_ms = way.at.position_ms - position_ms
        if beyond_ms <= 0:
            return way
        return way._replace(at=Spot(way.at.host, position_ms, way.at.offset_ms + beyond_ms))

    return tuple(tuple(beside(way) for way in row) for row in ways)


def extend(ways: Ways, order: Order, candidates: Sequence[Candidate], distances: Distances, *, keep: int) -> Ways:
    """Let every way go on at every candidate; keep the cheapest few for each count of tasks placed."""
    best: list[dict[str, Way]] = [{way.at.host: way for way in row} for row in ways]
    for candidate in candidates:
        _extend_at(best, order, candidate, distances)
    here = candidates[0].spot
    weight = order.flow.weight

    def rank(way: Way) -> tuple[float, str]:
        # Where the rest of the way is known, that counts; else at least the way to here has to be gone.
        rest_ms = distances.exact(way.at.host, order.end) if distances.exact is not None else None
        if rest_ms is None:
            rest_ms = reach_ms(way.at, here, distances)
        return way.score_ms + weight * order.shares[len(way.spots)] * rest_ms, way.at.host

    return tuple(tuple(sorted(row.values(), key=rank)[:keep]) for row in best)


def _extend_at(best: list[dict[str, Way]], order: Order, candidate: Candidate, distances: Distances) -> None:
    spot, pulls, adds_of = candidate.spot, candidate.pulls, candidate.pricer.adds
    weight, bound_ms = order.flow.weight, order.flow.latency_bound_ms
    host = spot.host
    count = len(order.tasks)
    limits = [_limit_ms(row.get(host)) for row in best]  # what a rival way that ends at this host costs
    for placed in range(count - 1, -1, -1):  # downwards: a way extended here is not extended here again
        share = order.shares[placed]
        masks = order.masks[placed]
        most_ms = max(limits[placed + 1 :])
        for way in best[placed].values():
            before_ms, way_ms, steer_ms, spots, prices, at, tap, covered = way
            if before_ms + steer_ms >= most_ms or way.uses(host):
                continue
            travel_ms = share * reach_ms(at, spot, distances)
            cost_ms = before_ms + weight * travel_ms
            arrived_ms = cost_ms + steer_ms
            if arrived_ms >= most_ms:
                continue
            way_ms += travel_ms
            exact_ms = 0.0
            for last in range(placed, count):
                pull_ms, hint_ms = pulls[last]
                exact_ms += pull_ms
                steer_ms += hint_ms
                if cost_ms + exact_ms + steer_ms >= limits[last + 1]:
                    continue  # dearer than the rival even if the tasks cost nothing
                added_own_ms, added_ms = adds_of(masks[last])
                own_ms = way_ms + added_own_ms + exact_ms / weight
                if added_ms == math.inf or own_ms >= bound_ms:
                    break
                total_ms = cost_ms + exact_ms + added_ms
                if total_ms + steer_ms < limits[last + 1]:
                    longer = Way(
                        total_ms,
                        own_ms,
                        steer_ms,
                        spots + (spot,) * (last + 1 - placed),
                        (*prices, (host, added_ms)),
                        spot,
                        tap,
                        covered,
                    )
                    best[last + 1][host] = longer
                    limits[last + 1] = _limit_ms(longer)
            else:
                # From here on all ways pay the same: one that arrives dearer than this one stays dearer. Not where
                # this one stopped early: a dearer but faster way may still keep the bound.
                most_ms = min(most_ms, arrived_ms + _ROUNDING_MS)


def _limit_ms(rival: Way | None) -> float:
    return rival.cost_ms + rival.steer_ms - 1e-12 if rival is not None else math.inf


def finish(ways: Ways, order: Order, trail: Trail, distances: Distances) -> Way | None:
    """The best complete way, brought to the destination; None if no way placed all tasks within the bound."""
    end = Spot(order.end, trail.distance_ms[-1], 0.0)
    best: Way | None = None
    for way in ways[-1]:
        travel_ms = order.shares[-1] * reach_ms(way.at, end, distances)
        done = way._replace(cost_ms=way.cost_ms + order.flow.weight * travel_ms, own_ms=way.own_ms + travel_ms)
        if done.own_ms < order.flow.latency_bound_ms and (best is None or done.score_ms < best.score_ms):
            best = done
    return best
