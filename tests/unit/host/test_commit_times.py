"""When a task commits, and when it tells its news in between."""

import math

import pytest

from services.host.commit_times import COMMITS, TAKEN_SHARE_MAX, CommitTimes


def slow(took_s: float, **more: bool) -> CommitTimes:
    """Of a task whose commits take so long."""
    times = CommitTimes(0.5, stretched_s_max=3.0, **more)
    for _ in range(COMMITS):
        times.committed(took_s)
    return times


def test_quick_commits_come_as_often_as_the_flow_asks_for() -> None:
    """A crash then repeats half a second, not more."""
    assert 0.5 == slow(0.01).interval_s


def test_slow_commits_take_their_share_of_the_time_and_no_more() -> None:
    """Records stand still while a transaction is committed."""
    assert 0.08 / TAKEN_SHARE_MAX == pytest.approx(slow(0.08).interval_s)


def test_a_transaction_never_lasts_longer_than_it_may_with_its_commit() -> None:
    """Also where a commit takes so long that its share would ask for more."""
    assert 3.0 - 1.0 == pytest.approx(slow(1.0).interval_s)


def test_who_waits_downstream_is_told_between_two_commits() -> None:
    """Time must not stand still for readers because commits are rare."""
    times = slow(0.1)
    times.begun(now_s=10.0)
    assert (0.5, True, False) == (times.wait_s(now_s=10.0), times.must_tell(now_s=10.5), times.is_due(now_s=10.5))
    times.told(now_s=10.5)
    assert 0.5 == times.wait_s(now_s=10.5)


def test_a_task_that_nobody_waits_for_sleeps_until_its_commit() -> None:
    """It would wake twice a second to tell nobody."""
    times = slow(0.1, tells=False)
    times.begun(now_s=10.0)
    assert 2.0 == pytest.approx(times.wait_s(now_s=10.0))
    assert not times.must_tell(now_s=math.nextafter(12.0, 0))
    assert times.is_due(now_s=12.0)
