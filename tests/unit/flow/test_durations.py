"""Durations read as people write them and are written back the shortest way."""

import pytest

from topics.flow.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [("250ms", 250), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000), ("2d", 172_800_000), ("0s", 0)],
)
def test_a_duration_is_milliseconds(text: str, expected_ms: int):
    """The contract of the file: these five units."""
    assert expected_ms == parse_duration(text)


@pytest.mark.parametrize("text", ["", "10", "s", "1.5s", "-1s", "1h30m", "10 s", "10S", "1w", "10s ", "1" * 20 + "s"])
def test_anything_else_is_no_duration(text: str):
    """One number, one unit, no guessing."""
    assert parse_duration(text) is None


@pytest.mark.parametrize(("duration_ms", "expected"), [(0, "0s"), (1_500, "1500ms"), (60_000, "1m"), (90_000, "90s")])
def test_a_duration_is_written_in_its_largest_whole_unit(duration_ms: int, expected: str):
    """So messages and written files use the words a person would."""
    assert expected == format_duration(duration_ms)
