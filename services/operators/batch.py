"""A batch: some records of one stream, in order, as parallel columns.

Operators work on columns because a batch then costs a few calls at C speed, not a few Python calls for each record.
`values[i]`, `keys[i]`, `times[i]` and `offsets[i]` belong to one record. The watermark holds after the records of the
batch: no later record of this stream is older. A record is never older than the watermark of the batch before its own.
Values are shared between batches, so nobody may change a dictionary that it was given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

Value = dict[str, Any]
Span = tuple[int, int]

# Far beyond any event time and still an int64: a watermark before anything came, and one after which nothing comes.
BEGINNING_MS = -(1 << 62)
END_MS = 1 << 62

DERIVED = -1

# Up to so many records it is faster to delete from copied columns than to go through them with a mask.
FEW = 32


@dataclass(frozen=True, slots=True)
class Batch:
    """Columns of equal length. An offset is that of the origin record in the input partition, or DERIVED."""

    values: list[Value]
    keys: list[bytes | None]
    times: list[int]
    offsets: Sequence[int]
    watermark_ms: int
    known_span_ms: Span | None = field(default=None, compare=False)
    """Two event times with all others between them; spares every operator a look at all of them. See `span_ms`."""

    @classmethod
    def empty(cls, watermark_ms: int) -> "Batch":
        """No records, only the news that time has moved on."""
        return cls([], [], [], [], watermark_ms)

    @classmethod
    def derived(cls, values: list[Value], keys: list[bytes | None], times: list[int], watermark_ms: int) -> "Batch":
        """Records that come from several origin records at once."""
        return cls(values, keys, times, [DERIVED] * len(values), watermark_ms)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def span_ms(self) -> Span:
        """Two event times with those of all records between them: perhaps not the closest. There must be records."""
        return self.known_span_ms or (min(self.times), max(self.times))

    def select(self, mask: Sequence[bool]) -> "Batch":
        """The records where the mask is true."""
        if all(mask):
            return self
        return Batch(
            list(compress(self.values, mask)),
            list(compress(self.keys, mask)),
            list(compress(self.times, mask)),
            list(compress(self.offsets, mask)),
            self.watermark_ms,
            self.known_span_ms,
        )

    def without(self, positions: Sequence[int]) -> "Batch":
        """The records that are not at these positions, which count up."""
        if not positions:
            return self
        if len(positions) > FEW:
            gone = set(positions)
            return self.select([i not in gone for i in range(len(self))])
        columns: list[list[Any]] = [list(column) for column in (self.values, self.keys, self.times, self.offsets)]
        for column in columns:
            for position in reversed(positions):
                del column[position]
        values, keys, times, offsets = columns
        return Batch(values, keys, times, offsets, self.watermark_ms, self.known_span_ms)

    def take(self, positions: Sequence[int]) -> "Batch":
        """The records at these positions, in this order, as often as each is named."""
        return Batch(
            [self.values[i] for i in positions],
            [self.keys[i] for i in positions],
            [self.times[i] for i in positions],
            [self.offsets[i] for i in positions],
            self.watermark_ms,
            self.known_span_ms,
        )

    def part(self, begin: int, end: int) -> "Batch":
        """The records from one position to before another."""
        columns = (self.values[begin:end], self.keys[begin:end], self.times[begin:end], self.offsets[begin:end])
        return Batch(*columns, self.watermark_ms, self.known_span_ms)

    def with_values(self, values: list[Value]) -> "Batch":
        """The same records with other values."""
        return Batch(values, self.keys, self.times, self.offsets, self.watermark_ms, self.known_span_ms)

    def with_watermark(self, watermark_ms: int) -> "Batch":
        """The same records with another watermark."""
        return self if watermark_ms == self.watermark_ms else replace(self, watermark_ms=watermark_ms)


def merge(batches: Sequence[Batch]) -> Batch:
    """Batches that came from one input batch by different ways, as one; the last one's watermark holds.

    Records return to the order of their origin, so a flow that splits a stream and unites it again gives the same order
    however its input was cut into batches. Where some record has no origin, the batches follow each other.
    """
    joined = follow(batches)
    if sum(1 for batch in batches if batch.values) <= 1 or DERIVED in joined.offsets:
        return joined
    return joined.take(sorted(range(len(joined)), key=joined.offsets.__getitem__))


def follow(batches: Sequence[Batch]) -> Batch:
    """Batches of one stream, one behind the other, as one; the last one's watermark holds."""
    filled = [batch for batch in batches if batch.values]
    watermark_ms = batches[-1].watermark_ms
    if not filled:
        return Batch.empty(watermark_ms)
    if len(filled) == 1:
        return filled[0].with_watermark(watermark_ms)
    return Batch(
        [value for batch in filled for value in batch.values],
        [key for batch in filled for key in batch.keys],
        [time for batch in filled for time in batch.times],
        [offset for batch in filled for offset in batch.offsets],
        watermark_ms,
    )
