"""Tapping: a scout finds a task that another flow already runs, and lets its own flow use that one's results.

Ants 3.10: a reusable task is one that produces the same result; the scout reuses it instead of hypothetically
instantiating a new one. A tap covers the first tasks of a chain: the tapped one and all that would only feed it.
It adds no load. What it costs the flow is how old messages already are when they leave the tapped task; from there on
the chain is priced as always (decision 50).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from placement.ants.order import Offer, Order, Spot
from placement.ants.programme import Way, Ways


@dataclass(frozen=True, slots=True)
class Serving:
    """A task that runs on a host for some flow, as others may find it."""

    flow: str
    task: str
    identity: str
    seniority: int
    home: str


def offers(
    order: Order, host: str, serving: Sequence[Serving], age_ms: Callable[[str, str], float | None]
) -> list[tuple[int, Offer]]:
    """(position in the chain, offer) for every task of the order that already runs here for an older flow.

    Only older flows serve: two that serve each other would each wait for the other (no circles, whoever asks when).
    """
    if not serving or not order.tappable:
        return []
    mine = (order.seniority, order.flow.name)
    found = []
    for position, identity in order.tappable:
        for task in serving:
            if task.identity != identity or task.flow in order.avoided or (task.seniority, task.flow) >= mine:
                continue
            age = age_ms(task.flow, task.task)
            if age is not None:
                found.append((position, Offer(task.flow, task.task, host, task.home, age)))
    return found


def tapped(order: Order, position: int, offer: Offer, spot: Spot) -> Way:
    """The way that begins with a tap: everything up to and with that position is served by another flow."""
    weight, age_ms = order.flow.weight, offer.age_ms
    own_ms = order.through[position] * age_ms
    # Branches that join above the tap are served too, but a rival way has not paid for them yet: rank without them.
    beside_ms = (order.through[position] - order.shares[position]) * age_ms
    spots = (spot,) * (position + 1)
    return Way(weight * own_ms, own_ms, -weight * beside_ms, spots, (), spot, offer, position + 1)


def with_taps(ways: Ways, order: Order, found: Sequence[tuple[int, Offer]], spot: Spot) -> Ways:
    """The ways of a scout, and those that begin with a tap here where they are cheaper than what it brought."""
    rows = [list(row) for row in ways]
    for position, offer in found:
        way = tapped(order, position, offer, spot)
        if way.own_ms >= order.flow.latency_bound_ms:
            continue
        row = rows[position + 1]
        rivals = [k for k, rival in enumerate(row) if rival.at.host == spot.host]
        if not rivals:
            row.append(way)
        elif way.score_ms < row[rivals[0]].score_ms:
            row[rivals[0]] = way
    return tuple(tuple(row) for row in rows)
