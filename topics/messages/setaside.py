"""Records that were set aside instead of processed: dead letters and late records. Nothing is skipped silently."""

from typing import Any, Literal

import msgspec

from topics.messages.base import Message, Name, Origin, Positive, Text, TimeMs


class Header(msgspec.Struct, frozen=True, gc=False):
    """One Kafka header of the original record."""

    name: str
    value: bytes | None


class DeadLetter(Message, frozen=True, kw_only=True):
    """A record that an operator, or the decoder before the first one, could not process, with all that a replay needs.

    In JSON the original bytes are base64. `value` None is a tombstone, as in Kafka. `cut`: the original was too large
    to keep here and `value` is only its beginning; a replay reads it again at its origin. `computed`: `value` is what
    the operator saw, computed from the one record at the origin or from several (the offset then means nothing).
    `timestamp_ms`: Kafka's timestamp of the original, where that is at hand.
    """

    flow: Name
    operator: Name
    origin: Origin
    error: Text
    attempts: Positive
    failed_ms: TimeMs
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    cut: bool = False
    computed: Literal["one", "several"] | None = None
    timestamp_ms: TimeMs | None = None


class LateRecord(Message, frozen=True, kw_only=True):
    """A record that came when the watermark had passed its event time by more than the allowed lateness."""

    flow: Name
    operator: Name
    origin: Origin
    event_time_ms: int
    watermark_ms: int
    seen_ms: TimeMs
    key: bytes | None
    value: Any
