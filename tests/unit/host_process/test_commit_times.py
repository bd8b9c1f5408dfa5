"""When a task commits: records stand still meanwhile, so slow commits are rare ones, but nobody may wait for news."""

import pytest

from services.host.commit_times import STRETCHED_S_MAX, CommitTimes


def after(*took_s: float, interval_s: float = 0.5, may_stretch: bool = True) -> CommitTimes:
    times = CommitTimes(interval_s, may_stretch=may_stretch)
    for each_s in took_s:
        times.committed(each_s)
    return times


def test_quick_commits_come_as_often_as_the_flow_asks_for() -> None:
    """Beside a broker a commit takes some milliseconds: what a crash repeats stays as little as it was."""
    assert 0.5 == after().interval_s == after(0.02, 0.02, 0.02).interval_s


def test_slow_commits_take_a_twentieth_of_the_time() -> None:
    """With its coordinators in other cities a task that commits twice a second would do little else."""
    assert 3.0 == pytest.approx(after(0.15, 0.15, 0.15).interval_s)


def test_one_slow_commit_among_quick_ones_changes_nothing() -> None:
    """A moment in which the machine was busy is no property of the way."""
    assert 0.5 == after(0.02, 2.0).interval_s == after(2.0, 0.02).interval_s


def test_commits_never_wait_for_so_long_that_a_broker_gives_the_transaction_up() -> None:
    """A transaction counts from its first record to the end of its commit: the slower that is, the less may come first.

    On a machine that hardly gets anything done it is as it was without stretching.
    """
    assert STRETCHED_S_MAX == after(1.0, 1.0, 1.0).interval_s + 1.0
    assert 0.5 == after(9.0, 9.0, 9.0).interval_s


def test_where_results_wait_for_commits_these_are_not_put_off() -> None:
    """Exactly once, or behind a function that may take as long as it likes."""
    assert 0.1 == after(0.15, 0.15, 0.15, interval_s=0.1, may_stretch=False).interval_s


def test_news_are_told_in_between() -> None:
    """Those downstream read ahead of the commit; how far time has come they must hear as soon as ever."""
    times = after(0.15)
    times.begun(now_s=10.0)
    assert 0.5 == times.wait_s(now_s=10.0)
    assert (True, False) == (times.must_tell(now_s=10.5), times.is_due(now_s=10.5))
    times.told(now_s=10.5)
    assert (False, False) == (times.must_tell(now_s=10.9), times.is_due(now_s=12.9))
    assert times.is_due(now_s=13.0)
