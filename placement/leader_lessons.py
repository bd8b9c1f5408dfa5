"""Lessons: what failures have taught a leader, and for how long its scouts are told (decisions 56 and 57).

Cells far from a host may have old news of it. An enforcement ant that was turned back has seen how things are, and a
leader that heard of a dead host knows more than the cells around its scouts.
"""

import math
from dataclasses import replace

from placement.ants.enforcement import Enforced
from placement.ants.host_view import HostView
from placement.ants.order import Offer
from placement.leader_attempt import Bounds


class Lessons:
    """Of one leader."""

    def __init__(self, shun_ms: float) -> None:
        self._shun_ms = shun_ms
        self._shunned: dict[str, float] = {}
        """Hosts that died or let enforcement ants vanish, and until when no task goes there."""
        self._suspected: dict[str, float] = {}
        """Hosts where an enforcement ant or a release of routing ants was missed once, and until when a second time
        counts."""
        self._corrections: dict[str, HostView] = {}
        """Hosts that turned an enforcement ant of this search back, as it saw them."""
        self._stale: dict[tuple[str, str, str], Offer] = {}
        """(flow, task, host) of offers that it found gone or grown old, as they are."""

    def __bool__(self) -> bool:
        """Whether this search has been taught anything that makes another try worth it."""
        return bool(self._corrections or self._stale)

    def learn(self, news: Enforced) -> None:
        """An enforcement ant came back without success."""
        if news.seen is not None:
            self._corrections[news.seen.host] = news.seen
        if news.stale is not None:
            self._stale[news.stale.place] = news.stale

    def shun(self, *hosts: str, now_ms: float) -> None:
        """Cells further away may still tell scouts of a dead host; the leader knows better, for a while."""
        self._shunned |= dict.fromkeys(hosts, now_ms + self._shun_ms)

    def missed(self, *hosts: str, now_ms: float, times: int = 1) -> None:
        """Ants that went to these did not come back in time, `times` in a row. They may have been slow, or lost at any
        of them: only those that are missed twice are kept away from (decisions 282 and 344)."""
        again = [host for host in hosts if times > 1 or self._suspected.get(host, -math.inf) > now_ms]
        self._suspected |= dict.fromkeys(hosts, now_ms + self._shun_ms)
        self.shun(*again, now_ms=now_ms)

    def healed(self) -> None:
        """Something that was dead lives again: it may be any of them."""
        self._shunned.clear()
        self._suspected.clear()

    def forget(self) -> None:
        """The search is over, or has found nothing; by the next one what hosts were like may be old itself."""
        self._corrections.clear()
        self._stale.clear()

    def taught(self, bounds: Bounds, tasks: int, *, now_ms: float) -> Bounds:
        """What scouts are told, with all this."""
        for kept in (self._shunned, self._suspected):
            for host in [host for host, until_ms in kept.items() if until_ms <= now_ms]:
                del kept[host]
        shunned = tuple((host, (1 << tasks) - 1) for host in sorted(self._shunned))
        return replace(
            bounds,
            barred=(*bounds.barred, *shunned),
            corrections=tuple(self._corrections.values()),
            stale=tuple(self._stale.values()),
        )
