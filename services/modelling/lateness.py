"""How many seconds hosts are behind the last closed second: their clocks are, or their way to the broker is long.

An operator that has nothing to do tells nothing, so silence of a seat is a rate of 0; but only once its host has told
of that second or a later one, or has told nothing at all for longer than a row may be late.
"""

from collections import deque
from collections.abc import Mapping
from statistics import median_low

LATE_S = 6
"""As far as a clock may be behind, and a second for the way; a host that is silent for longer has nothing to tell."""
LOOKS = 15
"""The usual is the median of so many: more than twice as many as a host that dies is late for."""


class Lateness:
    """`look` at each close; then how late a host is `now`, and how late it usually is."""

    def __init__(self) -> None:
        self._looks: dict[str, deque[int]] = {}
        self._usual: dict[str, int] = {}

    def look(self, closed: int, heard: Mapping[str, int]) -> None:
        """`heard`: of each host the last second that it told of. Others are forgotten."""
        self._looks = {host: self._looks.get(host, deque(maxlen=LOOKS)) for host in heard}
        for host, second in heard.items():
            behind_s = max(0, closed - second)
            self._looks[host].append(behind_s if behind_s <= LATE_S else 0)
        self._usual = {host: median_low(looks) for host, looks in self._looks.items()}

    def now(self, host: str) -> int:
        """Seconds up to the last closed one of which it may still tell."""
        looks = self._looks.get(host)
        return looks[-1] if looks else 0

    def usual(self, host: str) -> int:
        """What `now` was in most of the last closes."""
        return self._usual.get(host, 0)
