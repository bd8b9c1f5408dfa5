"""The placement registry: the only authority on who runs what."""

from topics.messages.base import Count, Message, Name, Positive, TimeMs


class Placement(Message, frozen=True, kw_only=True):
    """One partition of one segment belongs to `host` from `epoch` on.

    A host that sees a newer epoch than its own stops at once. `host` None means that nobody runs it now; the entry
    stays, because the epoch must never start again. `standbys` tail the changelog to take over quickly. The segment is
    the fused `operators` of the flow at `revision`, so a host needs no other message to know what to build.

    `origin`: the former owner, which lives and drains; the new one waits for its word (`Handover`) before it fences.
    `plan`: the hash of the plan under which it runs here.
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
