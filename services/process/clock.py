"""The cluster's time: this host's clock, corrected by how much the broker's differs from it.

Whenever a report lands on a topic with append times, the broker has looked at its clock between our sending and its
answer. Of the last few such exchanges the fastest one tells the difference best, as in NTP: it can be wrong by half its
round trip at most. Where the newest contradicts it, somebody has set a clock, and the newest alone counts.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

SAMPLES = 16
SLACK_MS = 10.0
"""What clocks that nobody sets may drift apart meanwhile, and more than what a stamp is cut by."""


def local_ms() -> float:
    """Milliseconds since 1970 by this machine's clock."""
    return time.time_ns() / 1e6


class BrokerClock:
    """`now_ms` is the broker's time, as well as it is known; `is_set` fires with the first exchange."""

    def __init__(self, local: Callable[[], float] = local_ms) -> None:
        self.local_ms = local
        self.offset_ms = 0.0
        """The broker's clock minus ours."""
        self.is_set = asyncio.Event()
        self._exchanges: deque[tuple[float, float]] = deque(maxlen=SAMPLES)

    def now_ms(self) -> float:
        """The broker's time."""
        return self.at_ms(self.local_ms())

    def at_ms(self, local_ms: float) -> float:
        """The broker's time at a moment of our clock."""
        return local_ms + self.offset_ms

    def exchanged(self, *, sent_ms: float, stamped_ms: float, answered_ms: float) -> None:
        """Something was sent and answered at these local times, and stamped by the broker in between."""
        # A stamp is cut to whole milliseconds: on average it is half of one too early.
        offset_ms = stamped_ms + 0.5 - (sent_ms + answered_ms) / 2
        took_ms = answered_ms - sent_ms
        if took_ms < 0:
            return  # our clock was set back meanwhile
        if self._exchanges and abs(offset_ms - self.offset_ms) > (took_ms + min(self._exchanges)[0]) / 2 + SLACK_MS:
            self._exchanges.clear()  # both can't be right: one of the clocks was set
        self._exchanges.append((took_ms, offset_ms))
        self.offset_ms = min(self._exchanges)[1]
        self.is_set.set()
