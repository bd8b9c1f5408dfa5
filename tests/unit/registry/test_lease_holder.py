"""Whether somebody holds a lease, asked by a command whose clock may be wrong."""

import time

import pytest

from services.registry import lease_holder as module
from services.registry.lease_holder import lease_holder
from tests.unit.registry.one_topic import OneTopic
from topics.catalogue import LEASES
from topics.messages import LeaseAct, LeaseEntry

NOW_MS = time.time_ns() // 1_000_000
HOUR_MS = 3_600_000


def entry(at_ms: int, act: LeaseAct) -> tuple[LeaseEntry, int]:
    term = None if act == "claim" else 0
    return LeaseEntry(lease="placement", holder="p1/x", act=act, duration_ms=300, term=term), at_ms


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> OneTopic:
    topic = OneTopic(LEASES)
    topic.stand_in(module, monkeypatch)
    return topic


def test_whose_time_is_not_over_holds_it(leases: OneTopic) -> None:
    later_ms = NOW_MS + HOUR_MS
    leases.log = [entry(later_ms, "claim"), (None, later_ms), entry(later_ms + 200, "renew")]
    assert "p1" == lease_holder("nowhere", "placement")
    assert lease_holder("nowhere", "another") is None


def test_who_has_let_go_holds_it_no_longer(leases: OneTopic) -> None:
    leases.log = [entry(NOW_MS, "claim"), entry(NOW_MS + 100, "release")]
    assert lease_holder("nowhere", "placement") is None


def test_a_holder_of_which_nothing_more_is_heard_is_gone(leases: OneTopic) -> None:
    leases.log = [entry(NOW_MS - HOUR_MS, "claim")]
    assert lease_holder("nowhere", "placement") is None


def test_a_clock_that_is_ahead_takes_nobody_for_gone(leases: OneTopic) -> None:
    """A command on such a machine would write beside the instance that acts."""
    leases.log = [entry(NOW_MS - HOUR_MS, "claim")]
    leases.later = [entry(NOW_MS - HOUR_MS + 200, "renew")]
    assert "p1" == lease_holder("nowhere", "placement")
