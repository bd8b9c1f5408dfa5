"""Windows and panes by hand-counted examples, before any operator uses them."""

import pytest

from services.operators.batch import BEGINNING_MS
from services.operators.windows import Windows
from topics.flow.specs import Window


def test_a_tumbling_window_is_one_pane() -> None:
    """Tumbling windows then need no merging at all."""
    windows = Windows.of(Window(size_ms=10))
    assert (10, 10) == (windows.hop_ms, windows.pane_ms)


def test_a_pane_is_the_greatest_common_divisor_of_hop_and_size() -> None:
    """Any longer and a window would begin or end inside a pane, any shorter and there would be more of them."""
    assert 4 == Windows(size_ms=12, hop_ms=8).pane_ms


def test_a_time_is_in_every_window_that_starts_at_most_size_before_it() -> None:
    """Starts are inclusive, ends exclusive, and time before the epoch is no exception."""
    windows = Windows(size_ms=10, hop_ms=5)
    assert [5, 10] == list(windows.starts_of(10))
    assert [0, 5] == list(windows.starts_of(9))
    assert [-10, -5] == list(windows.starts_of(-1))


@pytest.mark.parametrize(("time", "start"), [(0, 0), (9, 0), (10, 10), (-1, -10)])
def test_times_of_one_pane_give_its_start_once(time: int, start: int) -> None:
    """The short way of most batches: one number instead of a column."""
    assert start == Windows(size_ms=10, hop_ms=10).pane_starts([time, start], (start, time))


def test_times_of_several_panes_give_a_start_each() -> None:
    """A batch may span any number of panes, in any order."""
    assert [10, 0, 20] == Windows(size_ms=10, hop_ms=10).pane_starts([12, 3, 20], (3, 20))


def test_a_watermark_closes_the_windows_that_end_at_it_or_before() -> None:
    """And only those that hold something: the long time before the first record has no windows to visit."""
    windows = Windows(size_ms=10, hop_ms=5)
    assert [-5, 0] == list(windows.closing([0, 5], BEGINNING_MS, 14))
    assert [5] == list(windows.closing([0, 5], 14, 15))
    assert [] == list(windows.closing([0, 5], 15, 1_000_000))


def test_closing_jumps_over_time_without_panes() -> None:
    """Two records a year apart close four windows, not the millions between them."""
    year_ms = 365 * 24 * 3_600_000
    windows = Windows(size_ms=10, hop_ms=5)
    assert [-5, 0, year_ms - 5, year_ms] == list(windows.closing([0, year_ms], BEGINNING_MS, 2 * year_ms))


def test_a_pane_is_needed_until_its_last_window_ends() -> None:
    """The pane at 5 is in the windows that start at 0 and at 5."""
    assert 15 == Windows(size_ms=10, hop_ms=5).last_end(5)
