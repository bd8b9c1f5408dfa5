"""Event kernel: a heap of things to happen, ordered by virtual time and then by who asked first."""

import heapq
from collections.abc import Callable
from typing import Any


class SimulationRunawayError(RuntimeError):
    """More events than a run may have: something sends without end."""


class Kernel:
    """A virtual clock and what is still to happen on it."""

    def __init__(self, *, max_events: int = 100_000_000) -> None:
        self.now_ms = 0.0
        self.events = 0
        self._max_events = max_events
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._asked = 0

    def after(self, delay_ms: float, action: Callable[..., None], *arguments: Any) -> None:
        """Let something happen `delay_ms` from now; equal times happen in the order of asking."""
        assert delay_ms >= 0, delay_ms
        self._asked += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._asked, action, arguments))

    def at(self, time_ms: float, action: Callable[..., None], *arguments: Any) -> None:
        """Let something happen at a time that is not past."""
        self.after(max(0.0, time_ms - self.now_ms), action, *arguments)

    def run(self, *, until_ms: float, idle: Callable[[], bool] | None = None) -> None:
        """Run until a time, or until `idle` says after an event that enough has happened."""
        while self._heap and self._heap[0][0] <= until_ms:
            time_ms, _, action, arguments = heapq.heappop(self._heap)
            assert time_ms >= self.now_ms, (time_ms, self.now_ms)
            self.now_ms = time_ms
            self.events += 1
            if self.events > self._max_events:
                raise SimulationRunawayError(
                    f"{self.events} events by {self.now_ms:.0f} ms; run for a shorter time or raise max_events"
                )
            action(*arguments)
            if idle is not None and idle():
                return
        self.now_ms = max(self.now_ms, until_ms)

    @property
    def waiting(self) -> int:
        """How many things are still to happen."""
        return len(self._heap)
