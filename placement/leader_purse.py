"""Purse: what the ants of one flow cost, and what its leader may spend on them.

Routing ants and scouts of a running flow are paid from the budget when they leave: the lost ones cost as much as those
that return. What one costs is learned from those that came home. All else is paid by nobody: the burst of a first
placement, measuring and enforcement ants, letters about taps, waves and what cells tell each other (decision 272).
"""

from placement.ants.order import ScoutReport
from placement.ants.routing import RoutingAntReturned
from placement.ants.scouting import ScoutFailed
from placement.leader_budget import Budget
from placement.leader_params import LeaderParams
from placement.model import FlowGraph

_UNKNOWN_BYTES = 100.0
"""Size of a message that nobody has measured yet."""
_LEARN = 0.2
"""Weight of one returned ant in what ants are thought to cost."""


class Purse:
    """The purse of one leader."""

    def __init__(self, params: LeaderParams) -> None:
        self.budget = Budget(params.budget_share, depth_ms=params.budget_depth_ms, least_per_ms=params.retainer_per_ms)
        self._every_edge = params.every_edge_travels
        self._watching = params.watching
        self._routing_cost, self._scout_cost = params.routing_ant_byte_hops, params.scout_byte_hops
        """Byte-hops of one ant; guesses until the first come home."""

    def learn(self, news: RoutingAntReturned | ScoutReport | ScoutFailed) -> None:
        """An ant came home, in time or late."""
        if isinstance(news, RoutingAntReturned):
            self._routing_cost += _LEARN * (news.byte_hops - self._routing_cost)
        else:
            self._scout_cost += _LEARN * (news.byte_hops - self._scout_cost)

    def pay(self, *, routing_ants: int = 0, scouts: int = 0, now_ms: float) -> None:
        """Routing ants or scouts of a running flow leave."""
        self.budget.pay(routing_ants * self._routing_cost + scouts * self._scout_cost, now_ms=now_ms)

    def earn(self, graph: FlowGraph, where: dict[int, str], *, hops: int, now_ms: float) -> None:
        """The flow now runs there. Where each edge is a hop through a broker it moves just that; else at least this:
        its thinnest stream between hosts, all the way."""
        streams = []
        for edge in graph.edges:
            origin = edge.tail_host if edge.from_source else where.get(edge.tail_task)
            target = edge.head_host if edge.to_sink else where.get(edge.head_task)
            if self._every_edge or (origin != target and origin is not None and target is not None):
                streams.append(edge.rate_per_ms * (edge.message_bytes or _UNKNOWN_BYTES))
        moved = sum(streams) if self._every_edge else min(streams, default=0.0) * max(1, hops)
        self.budget.earn(moved, now_ms=now_ms)

    def round_free_at_ms(self, chains: int, *, now_ms: float, owed_rounds: int = 0) -> float:
        """When a round of watching, over that many chains, has been earned, or may be owed with others like it."""
        chain = self._watching.routing_ants * self._routing_cost + self._watching.scouts * self._scout_cost
        return self.budget.free_at_ms(chain * chains, now_ms=now_ms, credit=chain * chains * owed_rounds)
