"""The placement registry: the only authority on who runs what."""

import msgspec

from topics.messages.base import Count, Message, Name, Positive, TimeMs


class SegmentTap(msgspec.Struct, frozen=True, gc=False):
    """A segment of one flow that does not run, because `server_segment` of the flow `server` writes the same."""

    segment: Name
    server: Name
    server_segment: Name


class TappedEdge(msgspec.Struct, frozen=True, gc=False):
    """A topic of the serving flow that is read in place of the flow's own `edge`, to which nobody writes."""

    edge: Name
    topic: Name
    tap: SegmentTap


class Placement(Message, frozen=True, kw_only=True):
    """One partition of one segment belongs to `host` from `epoch` on.

    A host that sees a newer epoch than its own stops at once. `host` None means that nobody runs it now; the entry
    stays, because the epoch must never start again. `standbys` tail the changelog to take over quickly. The segment is
    the fused `operators` of the flow at `revision`, so a host needs no other message to know what to build.

    `origin`: the former owner, which lives and drains; the new one waits for its word (`Handover`) before it fences.
    `plan`: the hash of the plan under which it runs here.

    `reads`: edges that other flows serve. `serves`: flows that read what this one writes; it goes on for them when its
    own flow is withdrawn. `promise`: what they count on, a fingerprint of what it writes while it serves.

    `source_partitions`: how many partitions the flow's source topics have, as they were counted for all its placements
    together. Hosts go by this, not by what the broker says when they ask: all segments must expect the same.
    """

    segment: Name
    partition: Count
    epoch: Positive
    host: Name | None
    flow: Name
    revision: Positive
    operators: tuple[Name, ...]
    placed_ms: TimeMs
    standbys: tuple[Name, ...] = ()
    origin: Name | None = None
    plan: Name | None = None
    reads: tuple[TappedEdge, ...] = ()
    serves: tuple[Name, ...] = ()
    promise: Name | None = None
    source_partitions: dict[Name, Positive] = msgspec.field(default_factory=dict)
