"""What a scout pays for tasks of its flow on a host, given what it knows of that host and of its own flow there."""

import math
from typing import NamedTuple

from placement.ants.host_view import HostView
from placement.ants.order import Order
from placement.evaluator_pricing import price_on_host
from placement.queueing import IDLE, Load, load_of


class Marginal(NamedTuple):
    """What more tasks add on a host: the flow's own latency, and the weighted cost that a leader compares."""

    own_ms: float
    cost_ms: float


NO_ROOM = Marginal(math.inf, math.inf)
NOTHING = Marginal(0.0, 0.0)


def without(load: Load, part: Load) -> Load:
    """A load after a part of it left; what rounding leaves behind is nothing.

    A stale digest may not contain the part at all: a sum that would become zero or less counts as gone too.
    """
    left = Load(*(max(0.0, whole - piece) for whole, piece in zip(load, part, strict=True)))
    gone = left.rate_per_ms <= 1e-9 * load.rate_per_ms or min(left.rho, left.rate_squares) <= 0.0
    return IDLE if gone else left


class Pricer:
    """Prices one order on one host as it was told of, and remembers its answers."""

    __slots__ = (
        "_barred",
        "_base",
        "_cap",
        "_graph",
        "_known",
        "_order",
        "_settled",
        "_settled_price",
        "_social",
        "loop_ms",
        "view",
    )

    def __init__(self, order: Order, view: HostView, *, cap: float, social: bool, loop_ms: float = 0.0) -> None:
        """`loop_ms`: what data take from this host to itself."""
        self.view = view
        self.loop_ms = loop_ms
        self._order = order
        self._graph = order.flow.graph
        self._cap = cap
        self._social = social
        own = order.running_masks.get(view.host, 0)
        self._base = view.load
        if own:
            streams = (stream for _, stream in self._graph.streams(own))
            self._base = without(view.load, load_of(streams, view.capacity))
        self._barred = order.barred_masks.get(view.host, 0)
        self._settled = order.settled_masks.get(view.host, 0)
        self._settled_price = self._price(self._settled) if self._settled else NOTHING
        self._known: dict[int, Marginal] = {}

    def answers(self, cap: float, *, social: bool, loop_ms: float) -> bool:
        """Whether it was made for these."""
        return self._cap == cap and self._social is social and self.loop_ms == loop_ms

    def adds(self, mask: int) -> Marginal:
        """What the tasks in `mask` add to what this order's flow already pays here."""
        known = self._known.get(mask)
        if known is None:
            whole = NO_ROOM if mask & self._barred else self._price(self._settled | mask)
            if math.isinf(whole.cost_ms) or math.isinf(self._settled_price.cost_ms):
                known = NO_ROOM
            else:
                before = self._settled_price
                known = Marginal(whole.own_ms - before.own_ms, whole.cost_ms - before.cost_ms)
            self._known[mask] = known
        return known

    def _price(self, mask: int) -> Marginal:
        price = price_on_host(self._graph, mask, self.view.capacity, self._base, self._cap)
        impact_ms = price.impact_ms if self._social else 0.0
        own_ms = price.own_ms + (self.loop_ms * self._graph.inner_share(mask) if self.loop_ms else 0.0)
        return Marginal(own_ms, self._order.flow.weight * own_ms + impact_ms)


def pricer_for(order: Order, view: HostView, *, cap: float, social: bool, loop_ms: float) -> Pricer:
    """A pricer for a host as it was told of; the one that another scout with the same order made elsewhere, if any."""
    found: Pricer | None = order.pricers.get(view.host)
    if found is None or found.view is not view or not found.answers(cap, social=social, loop_ms=loop_ms):
        found = order.pricers[view.host] = Pricer(order, view, cap=cap, social=social, loop_ms=loop_ms)
    return found
