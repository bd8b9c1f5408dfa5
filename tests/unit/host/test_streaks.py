"""When a task has failed on so many records in a row that going on would empty the topic into the dead letters."""

import pytest

from services.host.streaks import FailsOnEverythingError, Streaks


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
    assert streaks.is_clean_but_for({"edge"})
    streaks.note("score", tried=1, failed=1, last_error="KeyError")
    assert not streaks.is_clean_but_for({"edge"})


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
