"""The log of leases: who holds one follows from order and append times alone."""

import pytest

from services.registry.lease import Holding, LeaseLog
from topics.messages import LEASE_MS_MAX, LeaseAct, LeaseEntry


def entry(holder: str, act: LeaseAct, term: int | None = None, duration_ms: int = 1_000) -> LeaseEntry:
    return LeaseEntry(lease="placement", holder=holder, act=act, term=term, duration_ms=duration_ms)


def claimed(*, is_whole: bool = True) -> LeaseLog:
    """A log in which a holds the lease with term 7 until 2,000."""
    log = LeaseLog(is_whole=is_whole)
    assert log.apply(entry("a", "claim"), offset=7, appended_ms=1_000)
    return log


def test_the_first_claim_wins_and_its_offset_is_the_term() -> None:
    """Two that claim at once must both see who was first."""
    log = claimed()
    assert not log.apply(entry("b", "claim"), offset=8, appended_ms=1_000)
    assert Holding("a", 7, 2_000) == log.holdings["placement"]


@pytest.mark.parametrize(("appended_ms", "counts"), [(1_999, False), (2_000, True)])
def test_a_claim_counts_from_the_moment_the_lease_expires(appended_ms: int, *, counts: bool) -> None:
    """By the broker's append time; nobody's own clock is asked."""
    assert counts == claimed().apply(entry("b", "claim"), offset=9, appended_ms=appended_ms)


def test_a_renewal_prolongs_and_a_late_one_does_not() -> None:
    """What has expired must be claimed anew, with a new term, although nobody else has come yet."""
    log = claimed()
    assert log.apply(entry("a", "renew", 7), offset=8, appended_ms=1_900)
    assert 2_900 == log.holdings["placement"].expires_ms
    assert not log.apply(entry("a", "renew", 7), offset=9, appended_ms=2_900)
    assert log.apply(entry("a", "claim"), offset=10, appended_ms=2_901)
    assert 10 == log.holdings["placement"].term


def test_a_former_holder_can_neither_renew_nor_release() -> None:
    """A process that was stopped for a while must not take from its successor what it had itself."""
    log = claimed()
    assert log.apply(entry("b", "claim"), offset=9, appended_ms=2_500)
    assert not log.apply(entry("a", "renew", 7), offset=10, appended_ms=2_600)
    assert not log.apply(entry("a", "release", 7), offset=11, appended_ms=2_600)
    assert Holding("b", 9, 3_500) == log.holdings["placement"]


def test_a_released_lease_is_free_at_once() -> None:
    """An orderly end must not cost the next one the wait for the expiry."""
    log = claimed()
    assert log.apply(entry("a", "release", 7), offset=8, appended_ms=1_100)
    assert log.apply(entry("b", "claim"), offset=9, appended_ms=1_100)


def test_times_that_run_back_do_not_bring_a_lease_back() -> None:
    """Another broker that leads the partition may have an earlier clock."""
    log = claimed()
    assert log.apply(entry("b", "claim"), offset=8, appended_ms=2_000)
    assert not log.apply(entry("a", "renew", 7), offset=9, appended_ms=1_500)
    assert "b" == log.holdings["placement"].holder


def test_a_log_without_its_beginning_judges_no_claim_at_first_but_believes_renewals() -> None:
    """The holder's last renewal may be what the log has just forgotten; a renewal proves a claim that was won."""
    log = LeaseLog(is_whole=False)
    assert not log.apply(entry("d", "claim"), offset=300, appended_ms=1_000)
    assert log.apply(entry("b", "renew", 200), offset=301, appended_ms=1_200)
    assert Holding("b", 200, 2_200) == log.holdings["placement"]
    assert log.apply(entry("d", "claim"), offset=302, appended_ms=1_000 + LEASE_MS_MAX)
