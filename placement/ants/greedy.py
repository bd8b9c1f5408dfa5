"""The paper's scout: places greedily on the hosts it passes, and on the way back shifts single tasks (Ants 3.7)."""

import math
from collections.abc import Sequence

from placement.ants.order import Order, Spot
from placement.ants.pricing import Pricer
from placement.ants.programme import Candidate, Distances, Way, reach_ms


def place_greedily(way: Way, order: Order, candidate: Candidate, distances: Distances, *, greed: int) -> Way:
    """Place up to `greed` more tasks here while the host's load stays below the cap and the way within its bound."""
    placed = len(way.spots)
    if placed == len(order.tasks):
        return way
    weight = order.flow.weight
    travel_ms = order.shares[placed] * reach_ms(way.at, candidate.spot, distances)
    longer = way
    exact_ms = steer_ms = 0.0
    for last in range(placed, min(len(order.tasks), placed + greed)):
        adds = candidate.pricer.adds(order.masks[placed][last])
        exact_ms += candidate.pulls[last][0]
        steer_ms += candidate.pulls[last][1]
        own_ms = way.own_ms + travel_ms + adds.own_ms + exact_ms / weight
        if math.isinf(adds.cost_ms) or own_ms >= order.flow.latency_bound_ms:
            break
        longer = Way(
            way.cost_ms + weight * travel_ms + adds.cost_ms + exact_ms,
            own_ms,
            way.steer_ms + steer_ms,
            way.spots + (candidate.spot,) * (last + 1 - placed),
            (*way.prices, (candidate.spot.host, adds.cost_ms)),
            candidate.spot,
            way.tap,
            way.covered,
        )
    return longer


def shift(
    way: Way,
    order: Order,
    here: Pricer,
    near: Sequence[tuple[Pricer, float]],
    *,
    trail_end: Spot,
    distances: Distances,
) -> Way:
    """Move tasks from this host to adjacent ones that serve them faster.

    The paper compares service times and does not look at the detour; so does this rule. Our own scouts need no shift.
    """
    for place, task in enumerate(order.tasks):
        spot = way.spots[place]
        if spot.host != here.view.host or place < way.covered:
            continue
        alone = 1 << task
        best_ms, target = here.adds(alone).own_ms, None
        for pricer, offset_ms in near:
            if pricer.adds(alone).own_ms < best_ms:
                best_ms, target = pricer.adds(alone).own_ms, (pricer, offset_ms)
        if target is not None:
            pricer, offset_ms = target
            moved = Spot(pricer.view.host, spot.position_ms, offset_ms)
            changed = _moved(way, order, place, moved, pricers=(here, pricer), trail_end=trail_end, distances=distances)
            way = way if changed is None else changed
    return way


def _moved(
    way: Way,
    order: Order,
    place: int,
    target: Spot,
    *,
    pricers: tuple[Pricer, Pricer],
    trail_end: Spot,
    distances: Distances,
) -> Way | None:
    """The way with one task moved, priced anew at both hosts; None if there is no room for it after all."""
    spots = (*way.spots[:place], target, *way.spots[place + 1 :])
    prices = dict(way.prices)
    own_ms, cost_ms = way.own_ms, way.cost_ms
    for pricer in pricers:
        host = pricer.view.host
        before, after = (_mask_at(order, some, host, way.covered) for some in (way.spots, spots))
        old = pricer.adds(before) if before else None
        new = pricer.adds(after) if after else None
        if new is not None and math.isinf(new.cost_ms):
            return None
        own_ms += (new.own_ms if new else 0.0) - (old.own_ms if old else 0.0)
        cost_ms += (new.cost_ms if new else 0.0) - (old.cost_ms if old else 0.0)
        prices.pop(host, None)
        if new is not None:
            prices[host] = new.cost_ms
    after_ms, before_ms = (_travel_ms(order, some, trail_end, distances, way.covered) for some in (spots, way.spots))
    detour_ms = after_ms - before_ms
    return Way(
        cost_ms + order.flow.weight * detour_ms,
        own_ms + detour_ms,
        way.steer_ms,
        spots,
        tuple(sorted(prices.items())),
        spots[-1],
        way.tap,
        way.covered,
    )


def _mask_at(order: Order, spots: Sequence[Spot], host: str, covered: int) -> int:
    mask = 0
    for task, spot in zip(order.tasks[covered:], spots[covered:], strict=True):
        if spot.host == host:
            mask |= 1 << task
    return mask


def _travel_ms(order: Order, spots: Sequence[Spot], trail_end: Spot, distances: Distances, covered: int) -> float:
    """From the start, or from where the chain is tapped, to its end."""
    stops = (Spot(order.start, 0.0, 0.0), *spots, trail_end)[covered:]
    legs = zip(stops, stops[1:], order.shares[covered:], strict=False)
    return sum(share * reach_ms(origin, target, distances) for origin, target, share in legs)
