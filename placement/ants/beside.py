"""Hosts beside a scout's trail: which few of all that a cell knows of are most worth a detour."""

from bisect import insort
from collections.abc import Callable, Iterable
from operator import itemgetter

from placement.ants.host_view import HostView
from placement.ants.order import Order
from placement.ants.pricing import Pricer


class _Ranking:
    """The few cheapest hosts seen so far."""

    __slots__ = ("_few", "best")

    def __init__(self, few: int) -> None:
        self._few = few
        self.best: list[tuple[float, str, HostView, float]] = []

    def beats(self, cost_ms: float) -> bool:
        """Whether a host that costs at least so much would not be among them."""
        return len(self.best) == self._few and cost_ms > self.best[-1][0]

    def add(self, cost_ms: float, view: HostView, offset_ms: float) -> None:
        """One more host, with what it costs."""
        insort(self.best, (cost_ms, view.host, view, offset_ms), key=itemgetter(0, 1))
        del self.best[self._few :]


def best_beside(
    order: Order, near: Iterable[tuple[HostView, float]], pricer: Callable[[HostView], Pricer], *, few: int
) -> list[tuple[HostView, float]]:
    """The few best hosts for one task, and the few best for the whole chain, with their distances."""
    whole, middle = order.masks[0][-1], 1 << order.tasks[len(order.tasks) // 2]
    one, every = _Ranking(few), _Ranking(few)
    weight, demand = order.flow.weight, order.flow.graph.demand
    one_work, all_work = weight * demand(middle).path_work, weight * demand(whole).path_work
    for view, offset_ms in near:
        detour_ms = 2 * order.shares[0] * offset_ms * weight
        # Most are too far even without any queue, and need no price. Only beside own tasks may a task cost less.
        if view.capacity > 0.0 and view.host not in order.settled_masks:
            hopeless = one.beats(detour_ms + one_work / view.capacity)
            if hopeless and every.beats(detour_ms + all_work / view.capacity):
                continue
        prices = pricer(view)
        one.add(prices.adds(middle).cost_ms + detour_ms, view, offset_ms)
        every.add(prices.adds(whole).cost_ms + detour_ms, view, offset_ms)
    return list({view.host: (view, offset_ms) for _, _, view, offset_ms in one.best + every.best}.values())
