"""Search: one attempt of a leader to find a complete placement, chain after chain (Ants 3.7, 3.8).

For each chain of the flow it waits for enough routing ants, then for enough scout reports or an outstanding one, and
takes the best. Everything it waits for has a time-out; nobody back in time means more ants, and in the end a failure.
"""

import math
from dataclasses import dataclass, field
from enum import Enum

from placement.ants.effects import Send, SetTimer
from placement.ants.order import ScoutReport
from placement.ants.params import AntParams
from placement.ants.routing import RoutingAntReturned
from placement.chance import Chance
from placement.leader_attempt import Attempt, Bounds, Reason
from placement.leader_events import TimerFired
from placement.leader_params import LeaderParams
from placement.leader_params import Release as AntRelease
from placement.leader_purse import Purse
from placement.leader_release import least_cost_ms, routing_ants, scouts
from placement.model import Flow
from placement.subqueries import next_subquery


class Stage(Enum):
    """Whom a search waits for."""

    ROUTING = "routing"
    SCOUTING = "scouting"
    FOUND = "found"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Means:
    """What every search of one leader has at hand."""

    home: str
    params: LeaderParams
    ants: AntParams
    fastest_capacity: float
    purse: Purse
    ways_ms: dict[tuple[str, str], float] = field(default_factory=dict)
    """The shortest way between two ends, as routing ants told in earlier rounds."""


SearchEffect = Send | SetTimer


class Search:
    """One attempt. `stage` says how it stands; `why` it failed, if it did; `attempt` holds what was found."""

    def __init__(
        self,
        flow: Flow,
        reason: Reason,
        number: int,
        bounds: Bounds,
        means: Means,
        *,
        tries: int,
        paid: bool,
        probing: bool = False,
    ) -> None:
        """So many `tries` missed their ants before this one, so patience is longer; `paid`: from the budget.

        `probing`: the leader has given up before and only looks, with few ants, whether there is room by now.
        """
        first = next_subquery(flow.graph, ())
        assert first is not None, f"{flow.name} has no task to place"
        self.attempt = Attempt(reason, number, first)
        self.stage = Stage.ROUTING
        self.why = ""
        self._flow = flow
        self._bounds = bounds
        self._means = means
        self._tries = tries
        self._paid = paid
        self._probing = probing
        self._deadline_ms = math.inf
        self._heard = False
        """Whether a routing ant of the present chain has come back, in time or late."""

    @property
    def _release(self) -> AntRelease:
        params = self._means.params
        return params.watching if self._probing or self.attempt.reason is Reason.WATCH else params.placing

    def begin(self, *, now_ms: float) -> list[SearchEffect]:
        """Release routing ants for the present chain."""
        attempt, means = self.attempt, self._means
        self.stage = Stage.ROUTING
        attempt.returned, attempt.reports = 0, []
        attempt.distance_ms = self._known_ms
        attempt.releases += 1
        count = self._release.routing_ants
        if self._paid:
            means.purse.pay(routing_ants=count, now_ms=now_ms)
        wait_ms = means.params.patience_ms
        if self._knows_the_way:
            wait_ms = min(wait_ms, means.params.patience_for_ms(self._known_ms))
        # This network's delays are not known yet, or not as they are now: wait longer each time.
        doublings = min(attempt.releases - 1 + self._tries, 6)
        ants = routing_ants(self._flow, attempt, home=means.home, count=count)
        return [*ants, self._patience(now_ms + wait_ms * 2**doublings)]

    @property
    def _ends(self) -> tuple[str, str]:
        subquery, where = self.attempt.subquery, self.attempt.where
        return subquery.start.resolve(where), subquery.end.resolve(where)

    @property
    def silent(self) -> frozenset[str]:
        """Hosts that this search chose itself, and from or to which no routing ant of the present chain came back.

        Digests may still tell of a host that nothing leads to any more (decision 344).
        """
        chain, where = self.attempt.subquery, self.attempt.where
        chosen = {where[end.task] for end in (chain.start, chain.end) if end.task >= 0}
        return frozenset() if self._heard else frozenset(chosen - {self._means.home})

    @property
    def _known_ms(self) -> float:
        """The shortest way of the present chain that ants have told of; infinite if none has."""
        return self._means.ways_ms.get(self._ends, math.inf)

    @property
    def _knows_the_way(self) -> bool:
        """Ants of an earlier round have laid the pheromone that scouts walk by (decision 258).

        Those of this round may stand in the very queues because of which the flow should leave: they are not waited
        for any longer than an ant that meets none. If scouts did not find a way without them, it is done as ever.
        """
        first = self.attempt.releases == 1 and not self._probing
        return self._means.params.learn_patience and first and math.isfinite(self._known_ms)

    def step(
        self, event: RoutingAntReturned | ScoutReport | TimerFired, *, now_ms: float, rng: Chance
    ) -> list[SearchEffect]:
        """Take an ant that came home, or the end of patience."""
        attempt = self.attempt
        if isinstance(event, TimerFired):
            return self._impatient(now_ms=now_ms, rng=rng)
        if event.round != attempt.round:
            return []
        if isinstance(event, RoutingAntReturned):
            self._heard = self._heard or event.destination == self._ends[1]
            if self.stage is not Stage.ROUTING:
                if event.destination == self._ends[1]:  # late, but it knows better than those of earlier rounds
                    self._means.ways_ms[self._ends] = event.distance_ms
                return []
            attempt.returned += 1
            attempt.trip_ms = max(attempt.trip_ms, event.trip_ms)
            attempt.distance_ms = (
                event.distance_ms if attempt.returned == 1 else min(attempt.distance_ms, event.distance_ms)
            )
            self._means.ways_ms[self._ends] = attempt.distance_ms
            enough = attempt.returned >= self._release.enough_routing_ants
            return self._scout(now_ms=now_ms, rng=rng) if enough else self._hurry(now_ms=now_ms)
        if self.stage is not Stage.SCOUTING or event.chain != attempt.chain:
            return []
        attempt.reports.append(event)
        enough = len(attempt.reports) >= self._release.enough_reports
        return self._choose(now_ms=now_ms) if enough or self._is_outstanding(event) else []

    def _hurry(self, *, now_ms: float) -> list[SearchEffect]:
        """The first ant that is back tells how long a trip takes: those who need much longer are not waited for."""
        params = self._means.params
        if self.attempt.returned > 1 or not params.learn_patience:
            return []
        known_ms = now_ms + params.patience_for_ms(self.attempt.trip_ms)
        return [self._patience(known_ms)] if known_ms < self._deadline_ms else []

    def _impatient(self, *, now_ms: float, rng: Chance) -> list[SearchEffect]:
        """Go on with those that came back in time; if nobody did, send more, or fail."""
        attempt = self.attempt
        routing = self.stage is Stage.ROUTING
        if routing and (attempt.returned or self._knows_the_way):
            return self._scout(now_ms=now_ms, rng=rng)
        if not routing and attempt.reports:
            return self._choose(now_ms=now_ms)
        if attempt.releases < (1 if self._probing else self._means.params.max_releases):
            return self.begin(now_ms=now_ms)
        who = "no routing ant" if routing else "no scout"
        self.stage = Stage.FAILED
        self.why = f"{who} came back from chain {attempt.chain} after {attempt.releases} releases"
        return []

    def _scout(self, *, now_ms: float, rng: Chance) -> list[SearchEffect]:
        """Enough routing ants are back: release scouts for the present chain."""
        attempt, means = self.attempt, self._means
        self.stage = Stage.SCOUTING
        order = attempt.order(self._flow, self._bounds)
        count = self._release.scouts * 2 ** min(attempt.releases - 1, 2)
        if self._paid:
            means.purse.pay(scouts=count, now_ms=now_ms)
        attempt.trip_ms = max(attempt.trip_ms, attempt.distance_ms)
        trip_ms = attempt.trip_ms
        if not means.ants.scouting.queues:
            # Scouts that dream go by other hosts than routing ants; those walked at least as far as the shortest way.
            trip_ms = max(trip_ms, 2 * attempt.distance_ms)
            most = means.params.scout_ways_max
            trip_ms = trip_ms if most is None else min(trip_ms, most * attempt.distance_ms)
        wait_ms = means.params.patience_for_ms(trip_ms) * 2 ** min(self._tries, 6)
        ants = scouts(order, means.ants, home=means.home, count=count, rng=rng)
        return [*ants, self._patience(now_ms + wait_ms)]

    def _choose(self, *, now_ms: float) -> list[SearchEffect]:
        """Take the best report of the present chain, and go on to the next chain if there is one."""
        attempt = self.attempt
        best = min(attempt.reports, key=lambda report: (report.score_ms, report.hosts))
        if attempt.settle(best, self._flow):
            self._heard = False
            return self.begin(now_ms=now_ms)
        self.stage = Stage.FOUND
        return []

    def _is_outstanding(self, report: ScoutReport) -> bool:
        """Within a hair of what no placement can beat (Ants 3.8)."""
        least_ms = least_cost_ms(
            self._flow,
            self.attempt.subquery,
            distance_ms=self.attempt.distance_ms,
            fastest_capacity=self._means.fastest_capacity,
        )
        return report.score_ms <= self._means.params.outstanding * least_ms

    def _patience(self, at_ms: float) -> SetTimer:
        self._deadline_ms = at_ms
        return SetTimer(self._flow.name, "patience", at_ms)
