"""How the segments are, as told by the hosts that run them."""

from typing import Literal

from topics.messages.base import Count, Message, Name, Positive, Text, TimeMs

SegmentState = Literal["recovering", "standby", "running", "draining", "parked", "stopped"]

SegmentStep = Literal["waiting", "fencing", "catching_up"]
"""What a partition that recovers is busy with: the former owner's drain, fencing it, or reading what it left."""


class SegmentStatus(Message, frozen=True, kw_only=True):
    """One partition of one segment on the host that runs it, written when its state changes and from time to time.

    `parked`: it stopped itself to lose nothing and waits for a person, who reads the `reason`.
    `lag` is the number of input records not yet processed; 0, and not known, while it does not run or has just begun.
    """

    segment: Name
    partition: Count
    host: Name
    epoch: Positive
    state: SegmentState
    since_ms: TimeMs
    reported_ms: TimeMs
    lag: Count
    reason: Text | None = None
    step: SegmentStep | None = None
    is_lag_known: bool = True

    def __post_init__(self) -> None:
        if self.state == "parked" and not self.reason:
            raise ValueError("a parked segment must say its reason")
