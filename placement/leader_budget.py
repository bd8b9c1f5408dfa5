"""Budget: a token bucket in byte-hops, filled by the data that a flow moves, emptied by its routing ants and scouts.

Ants are paid for when they leave, at what earlier ones cost; a round that has not been earned yet has to wait.
"""

import math


class Budget:
    """Of one leader, for the routing ants and scouts of a running flow (leader_purse.py says who is not paid)."""

    def __init__(self, share: float | None, *, depth_ms: float, least_per_ms: float = 0.0) -> None:
        """`least_per_ms`: the income of a flow that moves hardly any data."""
        self._share = share
        self._least_per_ms = least_per_ms
        self._depth_ms = depth_ms
        self._income_per_ms = 0.0
        self._tokens = 0.0
        self._wanted = 0.0
        self._counted_ms = 0.0
        self.spent = 0.0
        """Byte-hops paid in all."""

    def earn(self, data_byte_hops_per_ms: float, *, now_ms: float) -> None:
        """The flow now moves this much data."""
        self._count(now_ms)
        self._income_per_ms = max(self._least_per_ms, (self._share or 0.0) * data_byte_hops_per_ms)

    def pay(self, byte_hops: float, *, now_ms: float) -> None:
        """Ants leave that will cost this much."""
        self._count(now_ms)
        self._tokens -= byte_hops
        self.spent += byte_hops

    def free_at_ms(self, byte_hops: float, *, now_ms: float, credit: float = 0.0) -> float:
        """When ants that cost this much may be released, if so much may be owed after it; never, for a flow that moves
        no data."""
        if self._share is None:
            return now_ms
        self._count(now_ms)
        self._wanted = byte_hops
        missing = byte_hops - credit - self._tokens
        if missing <= 0:
            return now_ms
        return now_ms + missing / self._income_per_ms if self._income_per_ms else math.inf

    def _count(self, now_ms: float) -> None:
        elapsed_ms = now_ms - self._counted_ms
        self._counted_ms = now_ms
        most = max(self._income_per_ms * self._depth_ms, self._wanted)
        self._tokens = min(self._tokens + elapsed_ms * self._income_per_ms, most)
