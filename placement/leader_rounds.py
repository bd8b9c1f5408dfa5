"""Rounds: when a leader that watches a running flow may send ants again.

Rounds go at an interval and are paid for by the data that the flow moves. Some need not wait for the interval: those
after an alarm. And some are paid for later: those of a flow that has become another one, that an alarm or a hot spot
ahead is about, or that does not get through where it runs.
"""

import math

from placement.leader_params import LeaderParams
from placement.leader_purse import Purse
from placement.model import Flow
from placement.subqueries import subqueries

HOTTER = 0.15
"""A flow that comes faster by this share than when ants last left for a hot spot is another matter."""


class Rounds:
    """Of one leader. `flow` is always the flow as it is now."""

    def __init__(self, flow: Flow, params: LeaderParams, purse: Purse) -> None:
        self.watch = params.watch
        """False: the flow stays where it is, unless something happens to it there."""
        self.alarmed = False
        """A host of the flow became crowded, or is about to, during the present search."""
        self._params = params
        self._purse = purse
        self._warned_ms = -math.inf
        """When ants were last sent because of a hot spot ahead,"""
        self._warned_of = flow
        """the flow as it was then,"""
        self._was_broken = False
        """and whether a bound was broken by then."""
        self._looking_at = self._looked_at = flow
        """The flow as it was when ants left for it: for this search, and for the last one that told something."""
        self._hops = 1
        """Of the scouts that found the running plan."""

    def begin(self, flow: Flow) -> None:
        """Ants leave."""
        self._looking_at = flow

    def learned(self, *, hops: int | None = None) -> None:
        """The present search told something; `hops` of its scouts, if the flow goes where they have been."""
        self._looked_at = self._looking_at
        self._hops = hops if hops is not None else self._hops

    def earn(self, flow: Flow, where: dict[int, str], *, now_ms: float) -> None:
        """From now on the flow, which runs there, pays for ants."""
        self._purse.earn(flow.graph, where, hops=self._hops, now_ms=now_ms)

    def has_drifted(self, flow: Flow) -> bool:
        """Whether the flow has become another since ants last brought news of it: worth ants on credit."""
        share = self._params.look_at_drift
        return self.watch and share is not None and flow.drift_from(self._looked_at) >= share

    def are_free(self, flow: Flow, *, now_ms: float) -> bool:
        """Whether a round has been earned, or may be owed."""
        return self.free_at_ms(flow, now_ms=now_ms) <= now_ms

    def heed_warning(self, flow: Flow, *, broken: bool, now_ms: float) -> bool:
        """Whether ants are sent because of a hot spot ahead: on credit, but not more often than rounds go.

        Unless it is worse than when they left last: they may have found then that the flow can stay.
        """
        faster = _rate_per_ms(flow) >= (1 + HOTTER) * _rate_per_ms(self._warned_of)
        worse = faster or (broken and not self._was_broken)
        if not worse and now_ms - self._warned_ms < self._params.watch_every_ms:
            return False
        owed = self._params.hot_rounds_owed_max
        if owed is not None and self.free_at_ms(flow, now_ms=now_ms, owed_rounds=owed) > now_ms:
            return False
        self._warned_ms, self._warned_of, self._was_broken = now_ms, flow, broken
        return True

    def heed_alarm(self, flow: Flow, *, now_ms: float) -> bool:
        """Whether ants are sent because a host of the flow became crowded: as long as they may be owed."""
        return self.free_at_ms(flow, now_ms=now_ms, owed_rounds=self._params.owed_rounds_max) <= now_ms

    def next_at_ms(self, flow: Flow, *, now_ms: float, stuck: bool = False) -> float:
        """As soon as the interval and the budget allow; after an alarm, without the interval and on credit.

        `stuck`: the flow does not get through where it runs, so its rounds are owed, too.
        """
        pause_ms = 0.0 if self.alarmed else self._params.watch_every_ms
        owed = self._params.owed_rounds_max if self.alarmed or stuck else 0
        self.alarmed = False
        return max(now_ms + pause_ms, self.free_at_ms(flow, now_ms=now_ms, owed_rounds=owed))

    def free_at_ms(self, flow: Flow, *, now_ms: float, owed_rounds: int = 0) -> float:
        """When a round has been earned, or may be owed with so many others."""
        owed = max(owed_rounds, self._params.owed_rounds_max if self.has_drifted(flow) else 0)
        return self._purse.round_free_at_ms(len(subqueries(flow.graph)), now_ms=now_ms, owed_rounds=owed)


def _rate_per_ms(flow: Flow) -> float:
    return sum(source.rate_per_ms for source in flow.sources)
