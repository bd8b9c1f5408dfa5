"""Turns: a hundred flows at once, or a dead host with fifty operators, must not let loose all ants at once."""

from typing import Any

from placement.leader_events import Healed, HostLost, NotCarriedOut, Place
from placement.leader_phases import Phase
from services.host.cell.body import CellBody

PLACING_MAX = 6
"""Leaders of one host that look for a first or a lost place at the same time; the others wait for their turn."""


class Turns:
    """Of the leaders of one host. `soon` tells a leader something, `give` lets those whose turn has come look."""

    def __init__(self, body: CellBody) -> None:
        self._body = body
        self._waiting: dict[str, list[Any]] = {}
        """Flow -> events that make its leader look for a place, until it is its turn."""

    @property
    def are_due(self) -> bool:
        """Whether a leader waits whose turn has come."""
        return bool(self._waiting) and self._has_room

    def soon(self, flow: str, event: Any) -> None:
        """Tell a leader at once if it does not make it look for a place; else when it is its turn."""
        leader = self._body.leaders[flow]
        is_lost = isinstance(event, HostLost) and event.host in leader.running.values()
        is_unplaced = isinstance(event, Healed) and leader.plan is None
        is_nowhere = isinstance(event, NotCarriedOut) and not event.where
        if isinstance(event, Place) or is_lost or is_unplaced or is_nowhere:
            waiting = self._waiting.setdefault(flow, [])
            if event not in waiting:
                waiting.append(event)
        else:
            self._body.tell_leader(flow, event)

    def give(self) -> None:
        """No new rounds while the ants of the old ones are stuck: the next look sees to it."""
        for flow in list(self._waiting):
            if not self._has_room:
                return
            for event in self._waiting.pop(flow):
                self._body.tell_leader(flow, event)

    def forget(self, flow: str) -> None:
        """The flow is not led here any more."""
        self._waiting.pop(flow, None)

    @property
    def _has_room(self) -> bool:
        idle = (Phase.RESTING, Phase.WITHDRAWN)
        placing = sum(leader.phase not in idle for leader in self._body.leaders.values())
        return placing < PLACING_MAX and not self._body.is_lagging()
