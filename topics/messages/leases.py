"""Leases: who may act for all, such as the active placement instance or a flow's leader, and for how long."""

from typing import Annotated, Literal

import msgspec

from topics.messages.base import Count, Message, Name

LEASE_MS_MAX = 60_000

LeaseAct = Literal["claim", "renew", "release"]


class LeaseEntry(Message, frozen=True, kw_only=True):
    """One act in the log of leases. Whether it counts is decided by the log's order and the broker's append times
    (`services/registry/lease.py`), never by what the writer believes.

    `holder` is one process in one life. `term` is the offset of the claim that won the lease; a claim has none yet.
    The lease lasts `duration_ms` from the append time on.
    """

    lease: Name
    holder: Name
    act: LeaseAct
    duration_ms: Annotated[int, msgspec.Meta(ge=1, le=LEASE_MS_MAX)]
    term: Count | None = None

    def __post_init__(self) -> None:
        if (self.act == "claim") != (self.term is None):
            raise ValueError("a claim has no term, and all else has one")
