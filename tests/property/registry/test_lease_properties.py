"""Leases under any history: never two holders at one time, and a reader who comes late agrees with one who saw all."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from services.registry.lease import LeaseLog
from topics.messages import LEASE_MS_MAX, LeaseEntry

DURATION_MS = 1_000
ACTS = st.tuples(st.sampled_from("abc"), st.sampled_from(["claim", "renew", "release"]), st.integers(0, 1_500))


class Process:
    """Acts as a keeper may at worst: it renews and releases whatever it once won, however late."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.won: int | None = None

    def act(self, kind: str) -> LeaseEntry:
        if kind != "claim" and self.won is not None:
            return LeaseEntry(lease="l", holder=self.name, act=kind, term=self.won, duration_ms=DURATION_MS)
        return LeaseEntry(lease="l", holder=self.name, act="claim", duration_ms=DURATION_MS)


def history(acts: list[tuple[str, str, int]]) -> tuple[list[tuple[LeaseEntry, int, int]], list[tuple[str, int, int]]]:
    """All entries with offset and time, and the times for which each process held the lease as (who, from, until)."""
    processes = {name: Process(name) for name in "abc"}
    log, entries, held, now_ms = LeaseLog(is_whole=True), [], [], 0
    for offset, (name, kind, wait_ms) in enumerate(acts):
        now_ms += wait_ms
        entry = processes[name].act(kind)
        entries.append((entry, offset, now_ms))
        if log.apply(entry, offset=offset, appended_ms=now_ms):
            if entry.act == "claim":
                processes[name].won = offset
                held.append((name, now_ms, now_ms + DURATION_MS))
            else:
                who, since_ms, _ = held[-1]
                assert who == name, "somebody acted on another's lease"
                held[-1] = (who, since_ms, log.holdings["l"].expires_ms)
    return entries, held


@given(acts=st.lists(ACTS, max_size=60))
@settings(max_examples=300)
def test_no_two_processes_hold_a_lease_at_one_time(acts: list[tuple[str, str, int]]) -> None:
    """Whatever is written, in whatever order, however late."""
    _, held = history(acts)
    for (_, _, until_ms), (_, since_ms, _) in itertools.pairwise(held):
        assert until_ms <= since_ms, held


@given(acts=st.lists(ACTS, min_size=1, max_size=60), cut=st.integers(0, 59))
@settings(max_examples=300)
def test_a_reader_who_comes_late_never_takes_another_for_the_holder(acts: list[tuple[str, str, int]], cut: int) -> None:
    """Where the log has forgotten its beginning. Late renewals of former holders are the writers' to avoid: they do."""
    entries, _ = history(acts)
    whole, late = LeaseLog(is_whole=True), LeaseLog(is_whole=cut == 0)
    for entry, offset, now_ms in entries:
        counts = whole.apply(entry, offset=offset, appended_ms=now_ms)
        if offset >= cut and (counts or entry.act == "claim"):
            late.apply(entry, offset=offset, appended_ms=now_ms)
            told, true = late.holdings.get("l"), whole.holdings.get("l")
            assert told is None or told.expires_ms <= now_ms or told == true, (told, true, LEASE_MS_MAX)
