"""Roster: which hosts live, by the broker's time alone. Pure.

A host reports once a second on a topic with append times. The newest time on that topic is "now": our own reports push
it on. Where nobody was heard for a while, all get their time anew: one of them has to be the first to be heard again.
So nobody seems dead because the broker or the whole machine stood still, or because this process slept and now reads
what it missed. Each gets it once until it is heard: else a host that reports too seldom would keep the dead alive.
"""

from dataclasses import dataclass, field

from services.settings import SILENT_S
from topics.messages import HostMetrics

SILENT_MS = SILENT_S * 1e3
"""It is known a second later at most."""
DEAF_MS = 2_000.0
"""If no host was heard for so long, it is not the hosts' fault."""


@dataclass(slots=True)
class Roster:
    """All hosts that reported lately."""

    silent_ms: float = SILENT_MS
    now_ms: float = 0.0
    _last_ms: dict[str, float] = field(default_factory=dict)
    _spared: set[str] = field(default_factory=set)
    """Those that got their time anew and were not heard since."""

    def heard(self, row: HostMetrics, appended_ms: float) -> None:
        """A report was appended to the topic at that time."""
        deaf_ms = appended_ms - self.now_ms
        if deaf_ms > DEAF_MS:
            live = self.live()
            again = live if deaf_ms > self.silent_ms else live - self._spared  # no living host is so slow
            self._last_ms |= dict.fromkeys(again, appended_ms)
            self._spared = set(live)
        self._spared.discard(row.host)
        self.now_ms = max(self.now_ms, appended_ms)
        self._last_ms[row.host] = max(appended_ms, self._last_ms.get(row.host, 0.0))

    def live(self) -> frozenset[str]:
        """Hosts that have reported in time."""
        self._last_ms = {host: at for host, at in self._last_ms.items() if self.now_ms - at <= self.silent_ms}
        return frozenset(self._last_ms)
