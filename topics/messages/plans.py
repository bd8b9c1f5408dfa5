"""Plans that leaders have committed or proposed: where ants put the segments of a flow, and why there."""

from typing import Annotated, Literal

import msgspec

from topics.messages.base import Amount, Count, Message, Name, Positive, Text, TimeMs
from topics.messages.placements import SegmentTap

ALTERNATIVES_MAX = 16
IN_VAIN_MAX = 64
TRIES_MAX = 16
"""Leaders wait their longest between two tries long before so many."""

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


class Figures(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a placement costs, as its leader predicts it; None where nobody could tell.

    `network_bytes`: bytes a second times delay, summed over the flow's edges: what is under way at any time.
    """

    latency_ms: Amount | None = None
    cost_ms: Amount | None = None
    network_bytes: Amount | None = None


class VainTry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A segment did not get to a host that plans wanted it on: how often, and when that was last known.

    `by_person`: somebody wanted it elsewhere.
    """

    segment: Name
    host: Name
    tries: Annotated[int, msgspec.Meta(ge=1, le=TRIES_MAX)]
    at_ms: TimeMs
    by_person: bool = False


class CommittedPlan(Message, frozen=True, kw_only=True):
    """The newest plan of a flow at one of its revisions. `hosts` says where each segment runs; none: the flow ended.

    - `epoch` counts a flow's plans, with gaps, and never starts again; `hash` is what a person approves;
    - `cost_ms` is what leaders compare: weighted latency and the impact on other flows. `latency_ms` is the flow's own;
    - `basis`: of each input of the prediction, such as `packets.rate_per_ms` or `delays`, where it came from;
    - `leader` held the flow's lease at `term`: of two plans the one of the later term counts, then the later epoch;
    - `taps`: segments that other flows serve. They, and what would only feed them, have no host;
    - `grounds`: the measured world that it was made for, such as `packets.rate_per_s`, `edge-1 -> noc.delay_ms` or
      `noc.busy_share`. Who approves the plan later is told what has changed of them;
    - `now` is what the flow cost where it ran then, `then` what it would cost by this plan;
    - `corrects`: the hash of the plan before, which was not carried out. This one says what runs instead: nothing moves
      for it, whatever the flow's policy;
    - `in_vain`: what earlier plans wanted and did not get, the newest last. Whoever leads next does not try it at once.
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
    grounds: dict[Name, Amount] = msgspec.field(default_factory=dict)
    now: Figures | None = None
    then: Figures | None = None
    corrects: Name | None = None
    in_vain: Annotated[tuple[VainTry, ...], msgspec.Meta(max_length=IN_VAIN_MAX)] = ()


class ProposedPlan(CommittedPlan, frozen=True, kw_only=True):
    """What a flow's leader would do: nobody carries it out unless a person approves its hash.

    `objection`: why the leader would not do it by itself; None if it would.
    """

    objection: Text | None = None
