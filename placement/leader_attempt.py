"""Attempt: one try to find a complete placement for a flow, chain after chain."""

from dataclasses import dataclass, field
from enum import Enum

from placement.ants.enforcement import Stop
from placement.ants.order import Anchor, Order, ScoutReport
from placement.model import Flow
from placement.subqueries import Subquery


class Reason(Enum):
    """Why a leader looks for a placement."""

    FIRST = "the flow is new"
    WATCH = "a better place may have appeared"
    LOST = "a host of the flow was lost"
    USER = "a user asked for it"


@dataclass(slots=True)
class Attempt:
    """What has been found so far. `round` names the ants in the field: answers of earlier rounds are ignored."""

    reason: Reason
    round: int
    chain: int = 0
    releases: int = 0
    returned: int = 0
    trip_ms: float = 0.0
    distance_ms: float = float("inf")
    reports: list[ScoutReport] = field(default_factory=list)
    placed: dict[int, str] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)
    cost_ms: float = 0.0
    longest_trip_ms: float = 0.0
    hops: int = 0

    def order(self, flow: Flow, subquery: Subquery, running: dict[int, str]) -> Order:
        """What to tell the scouts of the present chain."""
        anchors = tuple(
            tuple(Anchor(pull.end.resolve(self.placed), pull.path_share, pull.exact) for pull in pulls)
            for pulls in subquery.pulls
        )
        return Order(
            flow=flow,
            round=self.round,
            chain=self.chain,
            tasks=subquery.tasks,
            start=subquery.start.resolve(self.placed),
            end=subquery.end.resolve(self.placed),
            shares=subquery.shares,
            anchors=anchors,
            settled=masks(self.placed),
            running=masks(running),
        )

    def settle(self, report: ScoutReport, subquery: Subquery) -> None:
        """Take a report for the present chain and go on to the next."""
        self.placed |= dict(zip(subquery.tasks, report.hosts, strict=True))
        for host, price_ms in report.prices:
            self.prices[host] = self.prices.get(host, 0.0) + price_ms
        self.cost_ms += report.cost_ms
        self.longest_trip_ms = max(self.longest_trip_ms, self.trip_ms)
        self.hops += report.hops
        self.chain += 1
        self.releases = 0

    def stops(self) -> tuple[Stop, ...]:
        """The hosts of the complete placement with their tasks and reported prices, in order of name."""
        return tuple(Stop(host, mask, self.prices[host]) for host, mask in masks(self.placed))


def masks(placed: dict[int, str]) -> tuple[tuple[str, int], ...]:
    """(host, set of tasks) of a placement given as task -> host, in order of host."""
    found: dict[str, int] = {}
    for task, host in placed.items():
        found[host] = found.get(host, 0) | 1 << task
    return tuple(sorted(found.items()))
