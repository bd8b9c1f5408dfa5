"""Records that leave the stream: dead letters and late records, as messages for the flow's own topics."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from services.host.fetch import Record
from services.operators.batch import Batch
from services.operators.failure import Failure
from topics import catalogue
from topics.errors import MessageError
from topics.messages import DeadLetter, LateRecord
from topics.messages.base import Origin, clip
from topics.messages.setaside import Header
from topics.names import dead_letter_topic, late_topic

VALUE_BYTES_KEPT_MAX = 1_000_000
"""What is kept of a record that is itself too large for the dead-letter topic."""

Entry = tuple[str, bytes | None, bytes]
"""(topic, key, value), for partition 0."""


def dead_letter(flow: str, failure: Failure, origin: Origin, originals: Mapping[int, Record], *, now_ms: int) -> Entry:
    """The dead letter of a failure: the original record where it is at hand, else the value that the operator saw."""
    original = originals.get(failure.offset)
    value = original.value if original is not None else _as_bytes(failure.value)
    is_cut = value is not None and len(value) > VALUE_BYTES_KEPT_MAX
    letter = DeadLetter(
        flow=flow,
        operator=failure.operator,
        origin=Origin(origin.topic, origin.partition, max(failure.offset, 0)),
        error=clip(failure.error),
        attempts=failure.attempts,
        failed_ms=now_ms,
        key=original.key if original is not None else None,
        value=value[:VALUE_BYTES_KEPT_MAX] if value is not None and is_cut else value,
        headers=tuple(Header(name, text) for name, text in original.headers) if original is not None else (),
        cut=is_cut,
        computed=None if original is not None else "one" if failure.offset >= 0 else "several",
        timestamp_ms=original.timestamp if original is not None and original.timestamp >= 0 else None,
    )
    topic = dead_letter_topic(flow)
    try:
        encoded = catalogue.DEAD_LETTERS.codec.encode(letter, topic=topic)
    except MessageError:  # its key or headers are too large; the origin still says where all of it is
        letter = msgspec.structs.replace(letter, key=None, headers=(), cut=True)
        encoded = catalogue.DEAD_LETTERS.codec.encode(letter, topic=topic)
    return topic, catalogue.DEAD_LETTERS.key_of(letter), encoded


def late_records(
    flow: str, operator: str, late: Batch, origin: Origin, watermark_ms: int, *, now_ms: int
) -> Iterator[Entry]:
    """One message for each late record."""
    topic = late_topic(flow)
    for value, key, time_ms, offset in zip(late.values, late.keys, late.times, late.offsets, strict=True):
        record = LateRecord(
            flow=flow,
            operator=operator,
            origin=Origin(origin.topic, origin.partition, max(offset, 0)),
            event_time_ms=time_ms,
            watermark_ms=watermark_ms,
            seen_ms=now_ms,
            key=key,
            value=value,
        )
        encoded = _encoded_late(record, topic)
        yield topic, catalogue.LATE.key_of(record), encoded


def _encoded_late(record: LateRecord, topic: str) -> bytes:
    """All of it, or what there is room for; the origin still says where all of it is.

    Its value may also have numbers that JSON readers lose.
    """
    for left_out in ({}, {"value": None}, {"key": None}):
        with contextlib.suppress(MessageError):
            return catalogue.LATE.codec.encode(msgspec.structs.replace(record, **left_out), topic=topic)
    return catalogue.LATE.codec.encode(msgspec.structs.replace(record, key=None, value=None), topic=topic)


def _as_bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return repr(value).encode(errors="replace")
