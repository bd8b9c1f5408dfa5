"""Event time: when each record of a source partition happened, and whether it came too late.

The time is the field `event_time` in its `time_unit` (a number, or ISO 8601 text with `iso`; text without an offset is
UTC), or Kafka's timestamp when the source names no field. Records without a usable time are set aside as failures: one
time far outside the calendar would drag the watermark past everything that follows.

Lateness is decided here, once, for each record in partition order: a record is late when it is older than the largest
time before it in its partition minus `lateness`. Late records leave the stream here. So the decision does not depend on
how the partition was cut into batches, and operators after it never see a record behind their watermark, which is the
largest time so far minus `lateness`.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from services.operators.batch import BEGINNING_MS, Batch, Span, Value
from services.operators.keys import field_reader
from services.operators.table import Table
from topics.flow.specs import Source, TimeUnit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

# What the calendar can name. It also catches the wrong unit: nanoseconds read as milliseconds are far beyond it.
EARLIEST_MS = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
LATEST_MS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND

_UNITS_PER_MS: dict[TimeUnit, int] = {"ms": 1, "us": 1_000, "ns": 1_000_000}

_EXPECTED: dict[TimeUnit, str] = {
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
    "s": "seconds",
    "iso": "ISO 8601 text",
}


class TimeReader:
    """Reads the event times of values, in milliseconds since 1970."""

    def __init__(self, field: str, unit: TimeUnit) -> None:
        self._read = field_reader(field)
        self._unit = unit
        self._field = field
        self._one = _one_reader(unit)

    def times(self, values: list[Value]) -> tuple[list[int], set[int], Span | None]:
        """The times that are usable, the positions of the values that have none, and the span of the times.

        All at C speed when every time is an integer of milliseconds, else one by one, without the span.
        """
        column = self._read(values)
        if self._unit == "ms" and column and {int}.issuperset(map(type, column)):
            span = min(column), max(column)
            if span[0] >= EARLIEST_MS and span[1] <= LATEST_MS:
                return column, set(), span
        times = [self._one(each) for each in column]
        timeless = {i for i, time in enumerate(times) if time is None}
        return [time for time in times if time is not None], timeless, None

    def error(self, value: Value) -> str:
        """Why this value has no usable time."""
        (found,) = self._read([value])
        if found is None:
            return f"no event time: the field {self._field!r} is missing or null"
        return (
            f"no event time: {self._field} is {found!r:.100}; expected {_EXPECTED[self._unit]} "
            f"between the years 1 and 9999 (see the source's time_unit)"
        )


class EventClock:
    """The largest event time of one source partition, in a table, and what it makes late."""

    _LARGEST = "largest_ms"

    def __init__(self, source: Source) -> None:
        self._lateness_ms = source.lateness_ms
        self.table = Table()

    def admit(self, read: Batch) -> tuple[Batch, Batch]:
        """The records in time, with the partition's new watermark, and the late ones, in partition order."""
        before_ms = self.table.data.get(self._LARGEST, BEGINNING_MS)
        if not read.times:
            return read.with_watermark(self._behind(before_ms)), Batch.empty(self._behind(before_ms))
        first_ms, last_ms = read.span_ms
        if last_ms > before_ms:
            self.table.put(self._LARGEST, last_ms)
        batch = replace(
            read,
            watermark_ms=self._behind(max(before_ms, last_ms)),
            # None of those in time is older than what came before this batch allows.
            known_span_ms=(max(first_ms, self._behind(before_ms)), last_ms),
        )
        if first_ms >= batch.watermark_ms:
            return batch, Batch.empty(batch.watermark_ms)
        late = self._late_positions(batch.times, before_ms)
        return batch.without(late), read.take(late)

    def _behind(self, largest_ms: int) -> int:
        return max(BEGINNING_MS, largest_ms - self._lateness_ms)

    def _late_positions(self, times: list[int], before_ms: int) -> list[int]:
        column = np.array([before_ms, *times], dtype=np.int64)
        largest_before = np.maximum.accumulate(column)[:-1]
        late: list[int] = np.flatnonzero(column[1:] < largest_before - self._lateness_ms).tolist()
        return late


def _one_reader(unit: TimeUnit) -> Callable[[Any], int | None]:
    if unit == "iso":
        return _from_iso
    if unit == "s":
        return lambda value: _within(round(value * 1_000)) if _is_number(value) else None
    divisor = _UNITS_PER_MS[unit]
    return lambda value: _within(int(value // divisor)) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    # The bound keeps infinities and numbers that no unit makes sense of away from the arithmetic; NaN fails it too.
    return type(value) in (int, float) and abs(value) < 1e30


def _from_iso(value: Any) -> int | None:
    if type(value) is not str:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _within((moment - _EPOCH) // _MILLISECOND)


def _within(time_ms: int) -> int | None:
    return time_ms if EARLIEST_MS <= time_ms <= LATEST_MS else None
