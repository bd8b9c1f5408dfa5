"""Event times in every unit, and what a source does with records that have none."""

from typing import Any

import pytest

from services.operators.event_time import TimeReader
from services.operators.intake import SourceIntake
from topics.flow.specs import Source, TimeUnit

MOMENT_MS = 1_700_000_000_123


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("ms", MOMENT_MS, MOMENT_MS),
        ("ms", MOMENT_MS + 0.7, MOMENT_MS),
        ("s", 1_700_000_000, 1_700_000_000_000),
        ("s", 1_700_000_000.123, MOMENT_MS),
        ("us", MOMENT_MS * 1_000 + 999, MOMENT_MS),
        ("ns", MOMENT_MS * 1_000_000 + 999_999, MOMENT_MS),
        ("ns", -1, -1),
        ("iso", "2023-11-14T22:13:20.123Z", MOMENT_MS),
        ("iso", "2023-11-14T22:13:20.123999", MOMENT_MS),
        ("iso", "2023-11-15T00:13:20.123+02:00", MOMENT_MS),
        ("iso", "2023-11-14", 1_699_920_000_000),
        ("iso", "1969-12-31T23:59:59.9999Z", -1),
    ],
)
def test_every_unit_becomes_milliseconds(unit: TimeUnit, value: Any, expected: int) -> None:
    """Rounding goes down, so that a record never lands in the window after its own."""
    times, timeless, span_ms = TimeReader("t", unit).times([{"t": value}])
    assert ([expected], set()) == (times, timeless)
    assert span_ms in (None, (expected, expected))


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("ms", None),
        ("ms", "1700000000123"),
        ("ms", True),
        ("ms", [1]),
        ("ms", float("nan")),
        ("ms", float("inf")),
        ("ms", MOMENT_MS * 1_000_000),  # nanoseconds, read in the wrong unit
        ("s", 10**400),
        ("iso", MOMENT_MS),
        ("iso", "yesterday"),
        ("iso", "0001-01-01T00:00:00+23:00"),
    ],
)
def test_what_is_no_time_is_said_to_be_none(unit: TimeUnit, value: Any) -> None:
    """One absurd time would push the watermark past all that follows."""
    reader = TimeReader("t", unit)
    some = TimeReader("t", "ms").times([{"t": MOMENT_MS}, {}, {"t": MOMENT_MS}])
    assert ([MOMENT_MS, MOMENT_MS], {1}, None) == some
    assert ([], {0}, None) == reader.times([{"t": value}])
    assert "'t'" in reader.error({"t": None})
    assert "time_unit" in reader.error({"t": "x"})


def test_without_a_field_kafkas_timestamp_counts() -> None:
    """Producers that send no time are still in order of arrival."""
    intake = SourceIntake(Source("s", "t", lateness_ms=10))
    arrivals = intake.read([b"{}", b"{", b"{}"], [b"a", b"b", b"c"], [100, 50, 80], [5, 6, 9])
    assert ([100], [b"a"], [5], 90) == (
        arrivals.batch.times,
        arrivals.batch.keys,
        list(arrivals.batch.offsets),
        arrivals.batch.watermark_ms,
    )
    assert ([80], [9]) == (arrivals.late.times, arrivals.late.offsets)
    assert [("s", 6, b"{")] == [(each.operator, each.offset, each.value) for each in arrivals.failures]


def test_a_read_without_records_only_repeats_the_watermark() -> None:
    """A host may ask at any time."""
    intake = SourceIntake(Source("s", "t", lateness_ms=10))
    intake.read([b"{}"], [None], [100], [0])
    arrivals = intake.read([], [], [], [])
    assert ([], 90, []) == (arrivals.batch.values, arrivals.batch.watermark_ms, arrivals.failures)
