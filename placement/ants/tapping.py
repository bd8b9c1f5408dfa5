"""Tapping: a scout finds a task that another flow already runs, and lets its own flow use that one's results.

Ants 3.10: a reusable task is one that produces the same result; the scout reuses it instead of hypothetically
instantiating a new one. A tap covers the first tasks of a chain: the tapped one and all that would only feed it.
It adds no load. What it costs the flow is how old messages already are when they leave the tapped task; from there on
the chain is priced as always (decision 50).
"""

import math
from collections.abc import Iterable, Sequence

from placement.ants.order import Offer, Order, Serving, Spot
from placement.ants.programme import Way, Ways


def offers(order: Order, serving: Iterable[tuple[Serving, float]]) -> list[tuple[int, Offer, float]]:
    """(position in the chain, offer, distance) of the tasks of an order that run around here for an older flow.

    Only older flows serve: two that serve each other would each wait for the other (no circles, whoever asks when).
    """
    mine = (order.seniority, order.flow.name)
    positions = {identity: position for position, identity in order.tappable}
    found = []
    for task, distance_ms in serving:
        position, offer = positions.get(task.identity), task.offer
        if position is None or offer.flow in order.avoided or (task.seniority, offer.flow) >= mine:
            continue
        offer = order.corrected_offers.get(offer.place, offer)
        if math.isinf(offer.age_ms):
            continue  # it has gone; the digest is old
        found.append((position, offer, distance_ms))
    return found


def tapped(order: Order, position: int, offer: Offer, spot: Spot) -> Way:
    """The way that begins with a tap: everything up to and with that position is served by another flow."""
    weight, age_ms = order.flow.weight, offer.age_ms
    own_ms = order.through[position] * age_ms
    # Branches that join above the tap are served too, but a rival way has not paid for them yet: rank without them.
    beside_ms = (order.through[position] - order.shares[position]) * age_ms
    spots = (spot,) * (position + 1)
    return Way(weight * own_ms, own_ms, -weight * beside_ms, spots, (), spot, offer, position + 1)


def with_taps(ways: Ways, order: Order, found: Sequence[tuple[int, Offer, float]], *, position_ms: float) -> Ways:
    """The ways of a scout, and those that begin with a tap around here where they are cheaper than what it brought."""
    rows = [list(row) for row in ways]
    for position, offer, distance_ms in found:
        way = tapped(order, position, offer, Spot(offer.host, position_ms, distance_ms))
        if way.own_ms >= order.flow.latency_bound_ms:
            continue
        row = rows[position + 1]
        rivals = [k for k, rival in enumerate(row) if rival.at.host == offer.host]
        if not rivals:
            row.append(way)
        elif way.score_ms < row[rivals[0]].score_ms:
            row[rivals[0]] = way
    return tuple(tuple(row) for row in rows)
