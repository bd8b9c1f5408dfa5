"""A hop through Kafka: what it costs to send records from one region to another by way of a partition's leader.

A record travels to the broker that leads the partition, becomes visible there, and travels to its reader (DESIGN
section 10). So the delay between two hosts depends on where the partition is led, and each edge has a best leader.
Two waits come on top of the way itself: a record that lands while the reader's fetch is on its way back waits for the
next one, and a record that is ready while the writer's last batch is still unanswered waits for the answer.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

RoundTrip = Callable[[str, str], float]
"""Round trip in ms between two regions; within a region too."""


@dataclass(frozen=True, slots=True)
class HopParams:
    """What all hops of a cluster have in common."""

    linger_ms: float = 0.0
    """How long a writer gathers records before it sends them."""
    fetch_wait_ms: float = 500.0
    """How long a broker holds a reader's fetch while nothing arrives."""
    base_ms: float = 3.0
    """Work of broker and clients beside all travelling and waiting."""

    def __post_init__(self) -> None:
        for name in ("linger_ms", "fetch_wait_ms", "base_ms"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}; give 0 ms or more")


def missed_ms(round_trip_ms: float, batches_per_ms: float, idle_wait_ms: float = math.inf) -> float:
    """Mean wait of a batch for a request that is under way when it arrives.

    A request comes back after a round trip and goes out again at once if something has arrived meanwhile; else it
    rests until something does, at most `idle_wait_ms`. Batches arrive by chance.
    """
    if round_trip_ms == 0.0:
        return 0.0
    arrivals = batches_per_ms * round_trip_ms
    if arrivals == 0.0:  # the limit: the share of its time that an idle request travels
        return round_trip_ms / 2 * round_trip_ms / (round_trip_ms + idle_wait_ms)
    resting = math.exp(-arrivals) * -math.expm1(-batches_per_ms * idle_wait_ms)
    return round_trip_ms / 2 * arrivals / (arrivals + resting)


def hop_ms(
    to_leader_ms: float,
    from_leader_ms: float,
    params: HopParams,
    *,
    batches_per_ms: float,
    slowest_follower_ms: float = 0.0,
) -> float:
    """Mean delay from writer to reader, given the round trips from the leader to both and to its slowest follower.

    Readers see a record once every in-sync follower has it, whatever the writer waits for.
    """
    writing_ms = params.linger_ms + to_leader_ms / 2 + missed_ms(to_leader_ms, batches_per_ms)
    reading_ms = from_leader_ms / 2 + missed_ms(from_leader_ms, batches_per_ms, params.fetch_wait_ms)
    return writing_ms + slowest_follower_ms + reading_ms + params.base_ms
