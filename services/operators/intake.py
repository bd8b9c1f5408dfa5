"""Intake: from the raw records of one source partition to a batch of values with event times.

What cannot enter the stream is handed out beside it: failures (broken bytes, no usable event time) and late records.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.operators.batch import BEGINNING_MS, Batch, Value
from services.operators.decode import Decoder
from services.operators.event_time import EventClock, TimeReader
from services.operators.failure import Failure, without
from services.operators.table import Table
from topics.flow.specs import Source


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What one read gave: the records in time, the late ones, and those that could not be read."""

    batch: Batch
    late: Batch
    failures: list[Failure]
    whole: Callable[[Batch], Batch]
    """Some of its records with all their fields, which those of `late` have."""


class SourceIntake:
    """The way in for one partition of one source. Its tables are drained and restored like an operator's."""

    def __init__(self, source: Source, *, fields: frozenset[str] | None = None, slots: bool = False) -> None:
        """`fields`: the only ones that the flow reads, if not all; records that are set aside keep all theirs.

        `slots`: they are read by name alone (`pruning.can_have_slots`).
        """
        self._source = source
        self._decoder = Decoder(source.codec, fields=fields, slots=slots)
        self._reader = TimeReader(source.event_time, source.time_unit) if source.event_time is not None else None
        self.reads_timestamps = self._reader is None
        """Whether `read` needs the timestamps of Kafka."""
        self._clock = EventClock(source)
        self.tables: dict[str, Table] = {"clock": self._clock.table}

    def read(
        self,
        raws: Sequence[bytes | None],
        keys: list[bytes | None],
        timestamps_ms: Sequence[int],
        offsets: Sequence[int],
    ) -> Arrivals:
        """Parallel columns of Kafka records, in partition order: offsets count up, perhaps with gaps.

        The timestamps may be missing where nobody reads them.
        """
        read = offsets

        def whole(offset: int) -> Value:
            return self._decoder.whole(raws[bisect_left(read, offset)])

        def all_whole(some: Batch) -> Batch:
            return some.with_values([whole(offset) for offset in some.offsets]) if some.values else some

        values, errors = self._decoder.decode(raws)
        failures = [Failure(self._source.name, offsets[i], error, raws[i]) for i, error in errors.items()]
        if errors:
            keys, timestamps_ms = without(keys, set(errors)), without(timestamps_ms, set(errors))
            offsets = without(offsets, set(errors))
        span_ms = None
        if self._reader is None:
            times = list(timestamps_ms)
        else:
            times, timeless, span_ms = self._reader.times(values)
            if timeless:
                failures += [
                    Failure(self._source.name, offsets[i], self._reader.error(values[i]), whole(offsets[i]))
                    for i in sorted(timeless)
                ]
                values, keys, offsets = without(values, timeless), without(keys, timeless), without(offsets, timeless)
        batch, late = self._clock.admit(Batch(values, keys, times, offsets, BEGINNING_MS, span_ms))
        return Arrivals(batch, all_whole(late), failures, all_whole)
