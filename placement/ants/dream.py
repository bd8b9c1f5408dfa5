"""Dreams: where a scout that may go anywhere in one hop looks first (decision 55).

In an overlay the best host often is no neighbour of any host on the way: real delays break the triangle inequality, and
two legs over a host elsewhere beat the direct one. A scout that has an atlas imagines how busy each host is, except
those of which the cell has heard, finds the cheapest way for its chain in that world, and goes to look at those hosts.
Each scout dreams another world, so that together they look where the best places may be, not where one guess says.
"""

from collections.abc import Mapping

import numpy as np

from placement.ants.order import Order
from placement.atlas import Atlas, Matrix
from placement.chance import Chance

MOST_BUSY = 0.9
"""A host of which nothing is known may be this busy, or idle, or anything in between."""


def stations(
    order: Order, atlas: Atlas, known_rho: Mapping[str, float], *, dreams: int, rng: Chance
) -> tuple[str, ...]:
    """The hosts of several dreams, from the start towards the end.

    The carried programme places tasks in the order in which its scout passes hosts.
    """
    hosts = {host for _ in range(dreams) for host in dream(order, atlas, known_rho, rng=rng)}
    start, end, delays_ms = atlas.index[order.start], atlas.index[order.end], atlas.delays_ms

    def towards_end(host: str) -> tuple[float, str]:
        at = atlas.index[host]
        before_ms, after_ms = delays_ms[start, at], delays_ms[at, end]
        return 0.0 if before_ms == after_ms else float(before_ms - after_ms), host  # neither may be in reach

    return tuple(sorted(hosts, key=towards_end))


def dream(order: Order, atlas: Atlas, known_rho: Mapping[str, float], *, rng: Chance) -> tuple[str, ...]:
    """The hosts, in order, of the cheapest way in one imagined world, without the chain's own ends."""
    rho = np.array([known_rho.get(host, -1.0) for host in atlas.hosts])
    imagined = np.array([rng.random() for _ in atlas.hosts]) * MOST_BUSY
    slowness = 1 / (atlas.capacities.clip(1e-9) * (1 - np.where(rho < 0, imagined, np.minimum(rho, MOST_BUSY))))
    start, end = atlas.index[order.start], atlas.index[order.end]
    total = order.shares[0] * atlas.delays_ms[start]
    before: list[Matrix] = []
    for place, task in enumerate(order.tasks):
        if place:
            longer = total[:, None] + order.shares[place] * atlas.delays_ms
            before.append(longer.argmin(axis=0))
            total = longer.min(axis=0)
        total = total + order.flow.graph.demand(1 << task).path_work * slowness + _pulls(order, place, atlas)
    at = int((total + order.shares[-1] * atlas.delays_ms[:, end]).argmin())
    way = [at]
    for step in reversed(before):
        way.append(int(step[way[-1]]))
    hosts = dict.fromkeys(atlas.hosts[at] for at in reversed(way))
    return tuple(host for host in hosts if host not in (order.start, order.end))


def _pulls(order: Order, place: int, atlas: Atlas) -> Matrix:
    """What the ends beside the chain pay for each host that a task could go to."""
    pull = np.zeros(len(atlas.hosts))
    for anchor in order.anchors[place]:
        if anchor.host in atlas.index:
            table = atlas.delays_ms if anchor.exact else atlas.relayed_ms
            at = atlas.index[anchor.host]
            pull += anchor.share * (table[at] if anchor.upstream else table[:, at])
    return pull
