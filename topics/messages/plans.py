"""Plans that leaders have committed: where ants put the segments of a flow, and why there."""

from typing import Annotated, Literal

import msgspec

from topics.messages.base import Amount, Count, Message, Name, Positive, Text, TimeMs
from topics.messages.placements import SegmentTap

ALTERNATIVES_MAX = 16

Basis = Literal["measured", "partly measured", "modelled", "default", "floor"]
"""Where a number that the ants reckoned with came from."""


class SegmentMove(msgspec.Struct, frozen=True, gc=False):
    """One segment from one host to another; no origin for one that starts, no target for one that stops."""

    segment: Name
    origin: Name | None
    target: Name | None


class Alternative(msgspec.Struct, frozen=True, gc=False):
    """Another place for some segments of the flow, as a scout reported it, and why it lost."""

    hosts: dict[Name, Name]
    cost_ms: Amount
    latency_ms: Amount
    lost_because: Text


class CommittedPlan(Message, frozen=True, kw_only=True):
    """The newest plan of a flow at one of its revisions. `hosts` says where each segment runs; none: the flow ended.

    - `epoch` counts a flow's plans and never starts again; `hash` is what a person approves;
    - `cost_ms` is what leaders compare: weighted latency and the impact on other flows. `latency_ms` is the flow's own;
    - `basis`: of each input of the prediction, such as `packets.rate_per_ms` or `delays`, where it came from;
    - `leader` held the flow's lease at `term`: of two plans the one of the later term counts, then the later epoch;
    - `taps`: segments that other flows serve. They, and what would only feed them, have no host.
    """

    flow: Name
    revision: Positive
    epoch: Count
    hash: Name
    hosts: dict[Name, Name]
    moves: tuple[SegmentMove, ...]
    cost_ms: Amount
    latency_ms: Amount
    reason: Text
    leader: Name
    term: Count
    decided_ms: TimeMs
    basis: dict[Name, Basis]
    alternatives: Annotated[tuple[Alternative, ...], msgspec.Meta(max_length=ALTERNATIVES_MAX)] = ()
    taps: tuple[SegmentTap, ...] = ()
