"""Whether somebody holds a lease, asked by a command whose clock may be wrong."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from services.registry import lease_holder as module
from services.registry.lease_holder import lease_holder
from topics.catalogue import LEASES
from topics.messages import LeaseAct, LeaseEntry

NOW_MS = time.time_ns() // 1_000_000
HOUR_MS = 3_600_000


class Record:
    def __init__(self, offset: int, at_ms: int, value: bytes) -> None:
        self.offset, self.value, self.timestamp = lambda: offset, lambda: value, lambda: (2, at_ms)
        self.error = lambda: None


def entry(offset: int, at_ms: int, act: LeaseAct, *, lease: str = "placement") -> Record:
    term = None if act == "claim" else 0
    said = LeaseEntry(lease=lease, holder="p1/x", act=act, duration_ms=300, term=term)
    return Record(offset, at_ms, LEASES.codec.encode(said, topic=LEASES.name))


class Log:
    """`records` are there; `later` come while somebody waits for them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.records: list[Record] = []
        self.later: list[Record] = []
        monkeypatch.setattr(module, "reader", self._reader)
        monkeypatch.setattr(module, "read_to_end", lambda *_: iter(self.records))

    @contextmanager
    def _reader(self, _: str) -> Iterator[Any]:
        topics = SimpleNamespace(topics={LEASES.name: None})
        yield SimpleNamespace(list_topics=lambda timeout: topics, poll=self._poll)

    def _poll(self, _: float) -> Record | None:
        time.sleep(0.01)
        return self.later.pop(0) if self.later else None


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    return Log(monkeypatch)


def test_whose_time_is_not_over_holds_it(log: Log) -> None:
    later_ms = NOW_MS + HOUR_MS
    log.records = [entry(0, later_ms, "claim"), Record(1, later_ms, b"garbage"), entry(2, later_ms + 200, "renew")]
    assert "p1" == lease_holder("nowhere", "placement")
    assert lease_holder("nowhere", "another") is None


def test_who_has_let_go_holds_it_no_longer(log: Log) -> None:
    log.records = [entry(0, NOW_MS, "claim"), entry(1, NOW_MS + 100, "release")]
    assert lease_holder("nowhere", "placement") is None


def test_a_holder_of_which_nothing_more_is_heard_is_gone(log: Log) -> None:
    log.records = [entry(0, NOW_MS - HOUR_MS, "claim")]
    assert lease_holder("nowhere", "placement") is None


def test_a_clock_that_is_ahead_takes_nobody_for_gone(log: Log) -> None:
    """A command on such a machine would write beside the instance that acts."""
    log.records = [entry(0, NOW_MS - HOUR_MS, "claim")]
    log.later = [entry(1, NOW_MS - HOUR_MS + 200, "renew")]
    assert "p1" == lease_holder("nowhere", "placement")
