"""Who holds which lease, as the log of leases tells it. Pure: entries go in with their offset and append time.

All processes read the same log in the same order, with the times that the broker gave, so all come to the same answer;
no process's own clock takes part. An act counts like this:

| act | counts if |
|---|---|
| claim | nobody holds the lease at its append time; its offset is the new term |
| renew | it has the present term and comes in time, or has a later term, whose claim the log has forgotten |
| release | it has the present term |

A term is an offset, so it grows for ever, also when the log has long forgotten who held a lease before. The reasons:
docs/decisions/0130-leases-on-a-log.md.
"""

from dataclasses import dataclass, replace

from topics.messages import LEASE_MS_MAX, LeaseEntry


def lease_of(flow: str) -> str:
    """The lease of a flow's leader."""
    return f"leader/{flow}"


@dataclass(frozen=True, slots=True)
class Holding:
    """`holder` has the lease from its claim on, which is the `term`, until `expires_ms` by the broker's clock."""

    holder: str
    term: int
    expires_ms: int


class LeaseLog:
    """Apply every entry in order. `is_whole`: whether it is read from its very first entry, or from an empty log."""

    def __init__(self, *, is_whole: bool) -> None:
        self.holdings: dict[str, Holding] = {}
        """The last holding of each lease; it may have expired."""
        self._is_whole = is_whole
        self._first_ms: int | None = None
        self._now_ms = 0

    def apply(self, entry: LeaseEntry, *, offset: int, appended_ms: int) -> bool:
        """Take one entry in; whether it counts."""
        self._now_ms = max(self._now_ms, appended_ms)  # a new leader of the partition may have an earlier clock
        self._first_ms = self._now_ms if self._first_ms is None else self._first_ms
        before = self.holdings.get(entry.lease)
        after = self._outcome(before, entry, offset)
        if after is not None:
            self.holdings[entry.lease] = after
        return after is not None

    def is_free(self, lease: str, *, at_ms: int) -> bool:
        """Whether a claim that is appended at this time would count, as far as this log has been read."""
        holding = self.holdings.get(lease)
        return holding is None or holding.expires_ms <= at_ms

    def _outcome(self, before: Holding | None, entry: LeaseEntry, offset: int) -> Holding | None:
        """The holding after an entry; None if the entry does not count."""
        fresh = Holding(entry.holder, offset, self._now_ms + entry.duration_ms)
        if entry.act == "claim":
            return fresh if self._can_judge and self.is_free(entry.lease, at_ms=self._now_ms) else None
        assert entry.term is not None, entry
        fresh = replace(fresh, term=entry.term)
        if before is None or entry.term > before.term:
            return fresh if entry.act == "renew" else None
        if (entry.term, entry.holder) != (before.term, before.holder) or before.expires_ms <= self._now_ms:
            return None
        return fresh if entry.act == "renew" else replace(before, expires_ms=self._now_ms)

    @property
    def _can_judge(self) -> bool:
        """Who held a lease before the first entry that is left, still holds it for at most this time."""
        assert self._first_ms is not None
        return self._is_whole or self._now_ms >= self._first_ms + LEASE_MS_MAX
