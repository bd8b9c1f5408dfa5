"""Encode: the results that reach a sink to the bytes of Kafka records.

With `key` the named field becomes the record's key (one string as its UTF-8, anything else as JSON); without it the key
stays: that of the source record, or the `by` values after a grouping. A value that the codec cannot carry, or that is
larger than the topic takes, fails alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from services.operators.batch import Batch
from services.operators.failure import Failure, describe, without
from services.operators.keys import field_reader, key_bytes
from topics.flow.specs import Sink

_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "json": msgspec.json.Encoder().encode,
    "msgpack": msgspec.msgpack.Encoder().encode,
}

RECORD_OVERHEAD_BYTES = 80
"""What a record takes on the broker beside key and value, at the most, if it is alone in its batch."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Records ready for a topic, as parallel columns."""

    keys: Sequence[bytes | None]
    values: list[bytes]
    times: Sequence[int]
    offsets: Sequence[int]


class SinkEncoder:
    """One sink's way from values to bytes. `failures` collects what could not be encoded.

    `bytes_max`: the largest batch that the sink's topic takes (its `max.message.bytes`); None: not known.
    """

    def __init__(self, sink: Sink, *, failures: list[Failure], bytes_max: int | None = None) -> None:
        self._name = sink.name
        self._topic = sink.topic
        self._bytes_max = bytes_max
        self._encode = _ENCODERS[sink.codec]
        self._read_key = field_reader(sink.key) if sink.key is not None else None
        self._failures = failures

    def encode(self, batch: Batch) -> Encoded:
        """The records of a batch as bytes; those that fail are left out."""
        try:
            raws = list(map(self._encode, batch.values))
        except (TypeError, ValueError, OverflowError, RecursionError):
            batch, raws = self._one_by_one(batch)
        keys = batch.keys
        if self._read_key is not None:
            keys = [None if key is None else key_bytes((key,)) for key in self._read_key(batch.values)]
        # Half, because keys count too: none is half as large as a topic's limit.
        if self._bytes_max is not None and max(map(len, raws), default=0) > self._bytes_max // 2:
            return self._that_fit(batch, keys, raws, self._bytes_max)
        return Encoded(keys, raws, batch.times, batch.offsets)

    def _that_fit(self, batch: Batch, keys: Sequence[bytes | None], raws: list[bytes], bytes_max: int) -> Encoded:
        large: set[int] = set()
        for i, (key, raw) in enumerate(zip(keys, raws, strict=True)):
            size_bytes = len(key or b"") + len(raw) + RECORD_OVERHEAD_BYTES
            if size_bytes > bytes_max:
                large.add(i)
                what = f"it takes {size_bytes:,} bytes; topic {self._topic} takes {bytes_max:,} (max.message.bytes)"
                self._failures.append(Failure(self._name, batch.offsets[i], what, batch.values[i]))
        fitting = without(range(len(batch)), large)
        batch = batch.take(fitting)
        return Encoded([keys[i] for i in fitting], [raws[i] for i in fitting], batch.times, batch.offsets)

    def _one_by_one(self, batch: Batch) -> tuple[Batch, list[bytes]]:
        raws: list[bytes] = []
        failed: set[int] = set()
        for i, value in enumerate(batch.values):
            try:
                raws.append(self._encode(value))
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                failed.add(i)
                self._failures.append(Failure(self._name, batch.offsets[i], describe(error), value))
        return batch.take(without(range(len(batch)), failed)), raws
