"""When a task has failed on so many records in a row that going on would empty the topic into the dead letters."""

import pytest

from services.host.streaks import FailsOnEverythingError, Streaks
from services.operators.failure import Failure


def test_one_success_ends_a_streak() -> None:
    """A part that works now and then is not broken, however often it fails."""
    streaks = Streaks(10)
    for _ in range(100):
        streaks.note("score", tried=9, failed=9, last_error="KeyError")
        streaks.note("score", tried=9, failed=8, last_error="KeyError")
    assert streaks.is_clean


def test_what_some_parts_fail_on_can_be_left_out() -> None:
    """One stranger's record on an edge says nothing of a slow function: what that has done is to be committed."""
    streaks = Streaks(10)
    streaks.note("edge", tried=1, failed=1, last_error="odd")
    assert not streaks.is_clean
    assert not streaks.is_failing_but_for({"edge"})
    streaks.note("score", tried=1, failed=1, last_error="KeyError")
    assert streaks.is_failing_but_for({"edge"})


def test_who_gets_nothing_any_more_is_not_failing() -> None:
    """A streak ends with a success only. That of an input that has fallen silent counts for the limit, and says nothing
    of a slow function that others go through."""
    streaks = Streaks(2)
    streaks.compare({"refunds": 1, "score": 0}, [Failure("refunds", 0, "not JSON", None)])
    assert streaks.is_failing_but_for(())
    streaks.compare({"orders": 9, "score": 9}, [])
    assert not streaks.is_failing_but_for(())
    with pytest.raises(FailsOnEverythingError, match="refunds failed on 2 records"):
        streaks.note("refunds", tried=1, failed=1, last_error="not JSON")


def test_what_failed_before_a_task_began_is_not_what_it_has_grown() -> None:
    """Else one bad record on a quiet input would let failures add up over days, until the partition is parked."""
    streaks = Streaks(10)
    streaks.note("score", tried=1, failed=1, last_error="KeyError")
    assert streaks.has_grown
    streaks.committed()
    assert streaks.has_grown
    streaks.rolled_back()
    assert not streaks.is_clean
    assert not streaks.has_grown
    streaks.note("score", tried=1, failed=1, last_error="KeyError")
    streaks.note("score", tried=2, failed=1, last_error="KeyError")
    assert not streaks.has_grown


def test_the_error_says_how_many_why_and_what_next() -> None:
    """A person reads it as the reason of a parked segment."""
    streaks = Streaks(10)
    streaks.note("score", tried=6, failed=6, last_error="KeyError: 'a'")
    with pytest.raises(FailsOnEverythingError, match=r"score failed on 12 .*KeyError: 'b'.*run the flow.*park_after"):
        streaks.note("score", tried=6, failed=6, last_error="KeyError: 'b'")


def test_parts_are_counted_apart() -> None:
    """One branch of a flow that works does not hide another that does not."""
    streaks = Streaks(10)
    for _ in range(3):
        streaks.note("other", tried=3, failed=0, last_error="")
        streaks.note("score", tried=3, failed=3, last_error="KeyError")
    with pytest.raises(FailsOnEverythingError, match="score"):
        streaks.note("score", tried=1, failed=1, last_error="KeyError")


def test_what_was_not_committed_is_not_counted_twice() -> None:
    """The same records come again after a restart; those that became dead letters before it still count."""
    streaks = Streaks(10)
    streaks.note("score", tried=6, failed=6, last_error="x")
    streaks.committed()
    for _ in range(3):
        streaks.note("score", tried=3, failed=3, last_error="x")
        streaks.rolled_back()
    with pytest.raises(FailsOnEverythingError):
        streaks.note("score", tried=4, failed=4, last_error="x")
