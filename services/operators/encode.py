"""Encode: the results that reach a sink to the bytes of Kafka records.

With `key` the named field becomes the record's key (one string as its UTF-8, anything else as JSON); without it the key
stays: that of the source record, or the `by` values after a grouping. A value that the codec cannot carry fails alone.
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


@dataclass(frozen=True, slots=True)
class Encoded:
    """Records ready for a topic, as parallel columns."""

    keys: Sequence[bytes | None]
    values: list[bytes]
    times: Sequence[int]
    offsets: Sequence[int]


class SinkEncoder:
    """One sink's way from values to bytes. `failures` collects what could not be encoded."""

    def __init__(self, sink: Sink, *, failures: list[Failure]) -> None:
        self._name = sink.name
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
        return Encoded(keys, raws, batch.times, batch.offsets)

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
