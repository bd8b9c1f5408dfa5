"""What a server carries, as sums: the load of a host or a link is the sum of its streams' loads.

A `Stream` is one flow's messages entering one server: how many, how much work each causes there, how variable both
are. A `Load` is the six sums from which the aggregation formulas (Ants 3.6, eqs 4-8) can be computed at any time.
Sums add, so pricing one more task on a host costs the same whether it carries two flows or two thousand.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Stream(NamedTuple):
    """Messages of one flow that enter one server.

    `work` is the mean work of one message (VWU on a host, bytes on a link), everything it triggers there included
    (eq 3); `cs2` and `ca2` are squared coefficients of variation of that work and of the time between arrivals.
    `weight` is the flow's weight times the share of its paths that wait here: what one more millisecond here costs.
    `spared_work` is what the mean counts less than a message takes whose results leave: most of what a filter gets
    triggers nothing behind it, and nobody waits for that (decision 314).
    """

    rate_per_ms: float
    work: float
    cs2: float
    ca2: float
    weight: float
    spared_work: float = 0.0

    @property
    def path_work(self) -> float:
        """The mean work of a message whose results leave: what is on their path here."""
        return self.work + self.spared_work

    def load(self, capacity: float) -> "Load":
        """This stream alone on a server that does `capacity` units of work a millisecond."""
        service_ms = self.work / capacity
        rho = self.rate_per_ms * service_ms
        return Load(
            self.rate_per_ms,
            rho,
            rho * service_ms * (self.cs2 + 1.0),
            self.rate_per_ms * self.ca2,
            self.rate_per_ms * self.rate_per_ms,
            self.weight,
        )


class Load(NamedTuple):
    """The additive sums over the streams of one server."""

    rate_per_ms: float = 0.0  # sum of lambda
    rho: float = 0.0  # sum of lambda S
    square: float = 0.0  # sum of lambda S^2 (1 + cs2): the second moment of service, times lambda
    burst: float = 0.0  # sum of lambda ca2
    rate_squares: float = 0.0  # sum of lambda^2
    weight: float = 0.0  # sum of weights: the n of the social price

    def plus(self, other: "Load") -> "Load":
        return Load(
            self.rate_per_ms + other.rate_per_ms,
            self.rho + other.rho,
            self.square + other.square,
            self.burst + other.burst,
            self.rate_squares + other.rate_squares,
            self.weight + other.weight,
        )

    def plus_scaled(self, unit: "Load", capacity: float) -> "Load":
        """This plus a load that was summed at capacity 1, on a server of that capacity."""
        return Load(
            self.rate_per_ms + unit.rate_per_ms,
            self.rho + unit.rho / capacity,
            self.square + unit.square / (capacity * capacity),
            self.burst + unit.burst,
            self.rate_squares + unit.rate_squares,
            self.weight + unit.weight,
        )


IDLE = Load()


def wire_stream(rate_per_ms: float, message_bytes: float) -> Stream:
    """One edge's messages as a wire sees them: the work is bytes, of one size within a stream."""
    return Stream(rate_per_ms, message_bytes, 0.0, 1.0, 0.0)


def load_of(streams: Iterable[Stream], capacity: float, base: Load = IDLE) -> Load:
    """`base` plus the streams, on a server of that capacity."""
    total = base
    for stream in streams:
        total = total.plus(stream.load(capacity))
    return total
