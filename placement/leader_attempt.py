"""Attempt: one try to find a complete placement for a flow, chain after chain."""

import math
from dataclasses import dataclass, field
from enum import Enum

from placement.ants.enforcement import Leg, Stop
from placement.ants.host_view import HostView
from placement.ants.order import Anchor, Offer, Order, ScoutReport
from placement.evaluator_paths import Latency, end_to_end
from placement.leader_events import Alternative
from placement.model import Flow, Placement, Tap
from placement.subqueries import Subquery, next_subquery

ALTERNATIVES_KEPT = 3
"""Of each chain: what a person wants to know when asking why a task is where it is."""


class Reason(Enum):
    """Why a leader looks for a placement."""

    FIRST = "the flow is new"
    WATCH = "a better place may have appeared"
    LOST = "a host of the flow was lost"
    UNSERVED = "a task that the flow taps is ending"
    CUT_OFF = "its data did not get through where it ran"
    USER = "a user asked for it"
    HOT = "a hot spot is forecast where it runs"
    PROPOSE = "a user asked what it would do"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a leader tells its scouts beside the chain."""

    running: dict[int, str]
    """Where the flow's tasks run now, on hosts that live."""
    kept: tuple[int, ...]
    """Tasks that others tap."""
    avoided: tuple[str, ...]
    """Flows not to tap."""
    seniority: int
    barred: tuple[tuple[str, int], ...] = ()
    """(host, tasks) that left it so recently that they must not return yet."""
    corrections: tuple[HostView, ...] = ()
    """Hosts that refused an enforcement ant of this search, as they are."""
    stale: tuple[Offer, ...] = ()
    """Offers that an enforcement ant of this search found gone or grown old, as they are."""


@dataclass(slots=True)
class Attempt:
    """What has been found so far. `round` names the ants in the field: answers of earlier rounds are ignored."""

    reason: Reason
    round: int
    subquery: Subquery
    """The chain that ants look for now."""
    chain: int = 0
    """Its number."""
    releases: int = 0
    returned: int = 0
    trip_ms: float = 0.0
    distance_ms: float = float("inf")
    reports: list[ScoutReport] = field(default_factory=list)
    placed: dict[int, str] = field(default_factory=dict)
    taps: dict[int, Offer] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)
    cost_ms: float = 0.0
    own_ms: float = 0.0
    alternatives: list[Alternative] = field(default_factory=list)
    longest_trip_ms: float = 0.0
    way_ms: float = 0.0
    """All chains end to end by the hosts that were taken, links alone: no two of them are further apart."""
    hops: int = 0

    @property
    def where(self) -> dict[int, str]:
        """Task -> the host where its results come from, run or tapped."""
        return self.placed | {task: offer.host for task, offer in self.taps.items()}

    def order(self, flow: Flow, bounds: Bounds) -> Order:
        """What to tell the scouts of the present chain."""
        subquery, where = self.subquery, self.where
        anchors = tuple(
            tuple(Anchor(pull.end.resolve(where), pull.path_share, pull.exact, pull.upstream) for pull in pulls)
            for pulls in subquery.pulls
        )
        return Order(
            flow=flow,
            round=self.round,
            chain=self.chain,
            tasks=subquery.tasks,
            start=subquery.start.resolve(where),
            end=subquery.end.resolve(where),
            shares=subquery.shares,
            anchors=anchors,
            settled=masks(self.placed),
            running=masks(bounds.running),
            tapped=tuple(sorted(self.taps)),
            kept=bounds.kept,
            avoided=bounds.avoided,
            seniority=bounds.seniority,
            barred=bounds.barred,
            corrections=bounds.corrections,
            stale=bounds.stale,
        )

    def settle(self, report: ScoutReport, flow: Flow) -> bool:
        """Take a report for the present chain and go on to the next; False if that was the last."""
        tasks, covered = self.subquery.tasks, report.covered
        self.placed |= dict(zip(tasks[covered:], report.hosts[covered:], strict=True))
        if report.tap is not None:
            self.taps[tasks[covered - 1]] = report.tap
        for host, price_ms in report.prices:
            self.prices[host] = self.prices.get(host, 0.0) + price_ms
        self.alternatives += self._passed_over(report, flow)
        self.cost_ms += report.cost_ms
        self.own_ms += report.own_ms
        self.longest_trip_ms = max(self.longest_trip_ms, self.trip_ms)
        # What is left of the cost without its hosts' prices is travel, each edge with its share of the paths.
        travel_ms = (report.cost_ms - sum(price_ms for _, price_ms in report.prices)) / flow.weight
        self.way_ms += travel_ms / min(self.subquery.shares)
        self.hops += report.hops
        self.chain += 1
        self.releases = 0
        left = next_subquery(flow.graph, self.placed, frozenset(self.taps))
        if left is not None:
            self.subquery = left
        return left is not None

    def _passed_over(self, taken: ScoutReport, flow: Flow) -> list[Alternative]:
        """The best other placements of the present chain that scouts reported."""
        names = [flow.tasks[task].name for task in self.subquery.tasks]
        ranked = sorted(self.reports, key=lambda report: (report.score_ms, report.hosts))
        others = {report.hosts: report for report in reversed(ranked) if report.hosts != taken.hosts}
        return [
            Alternative(
                tuple(zip(names[each.covered :], each.hosts[each.covered :], strict=True)),
                each.cost_ms,
                each.own_ms,
                taken.cost_ms,
            )
            for each in sorted(others.values(), key=lambda report: (report.score_ms, report.hosts))[:ALTERNATIVES_KEPT]
        ]

    def placement(self, flow: Flow) -> Placement:
        """The complete placement, with names."""
        tasks = flow.tasks
        return Placement.of(
            {(flow.name, tasks[task].name): host for task, host in self.placed.items()},
            (Tap(flow.name, tasks[task].name, offer.flow, offer.task) for task, offer in self.taps.items()),
        )

    def stops(self, flow: Flow) -> tuple[Stop, ...]:
        """The hosts of the complete placement with their tasks and reported prices, in order of name."""
        at = dict(masks(self.placed))
        taps: dict[str, tuple[Offer, ...]] = {}
        for _, offer in sorted(self.taps.items()):
            taps[offer.host] = (*taps.get(offer.host, ()), offer)
        legs = self._legs(flow) if held_to_longest_path(flow) else {}
        return tuple(
            Stop(host, at.get(host, 0), self.prices.get(host, 0.0), taps.get(host, ()), tuple(legs.get(host, ())))
            for host in sorted({*at, *taps})
        )

    def _legs(self, flow: Flow) -> dict[str, list[Leg]]:
        """Host to the edges that an enforcement ant prices there: each where it enters, those to sinks where they
        leave."""
        where = self.where
        found: dict[str, list[Leg]] = {}
        for edge in flow.graph.live_edges(frozenset(self.taps)):
            origin = edge.tail_host if edge.from_source else where[edge.tail_task]
            target = edge.head_host if edge.to_sink else where[edge.head_task]
            here, far = (origin, target) if edge.to_sink else (target, origin)
            found.setdefault(here, []).append(Leg(edge.index, far))
        return found

    def longest_ms(self, flow: Flow, edges_ms: tuple[tuple[int, float], ...]) -> float:
        """The longest path by what an enforcement ant found of each edge; taps count with their mean age."""
        known_ms = dict(edges_ms)
        costs = [known_ms.get(edge, 0.0) for edge in range(len(flow.edges))]
        taps = {task: Latency(offer.age_ms, offer.age_ms) for task, offer in self.taps.items()}
        return end_to_end(flow.graph, costs, taps).longest_ms


def held_to_longest_path(flow: Flow) -> bool:
    """Whether a flow has a bound that its mean may keep and its longest path may break."""
    edges = flow.graph.edges
    return math.isfinite(flow.latency_bound_ms) and any(edge.path_share < 1.0 for edge in edges)


def masks(placed: dict[int, str]) -> tuple[tuple[str, int], ...]:
    """(host, set of tasks) of a placement given as task -> host, in order of host."""
    found: dict[str, int] = {}
    for task, host in placed.items():
        found[host] = found.get(host, 0) | 1 << task
    return tuple(sorted(found.items()))
