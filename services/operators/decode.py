"""Decode: the bytes of a source's records to values.

A whole batch is decoded at C speed. Only when one record of it is not an object in the source's codec (broken bytes, a
number, an empty value) the batch is read again one by one, so that just the broken ones are set aside. Fields that the
flow does not read are skipped (`pruning.py`); what is wrong inside them (text that is not UTF-8) does not matter.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import msgspec

from services.operators.batch import Value
from services.operators.failure import describe
from topics.flow.specs import Codec

# RecursionError: nested deeper than Python's stack. ValueError: text that is not UTF-8.
_BROKEN = (msgspec.DecodeError, ValueError, RecursionError)

Read = Callable[[bytes], Value]


class Decoder:
    """One source's way from bytes to values. With `fields` it need not have, nor look at, any others."""

    def __init__(self, codec: Codec, *, fields: frozenset[str] | None = None) -> None:
        self._whole = _reader(codec, dict[str, Any])
        self._read = self._whole
        if fields is not None and all(map(str.isascii, fields)):
            # TypedDict is how msgspec is told to skip the other fields while it parses. It misses names that are not
            # ASCII (0.22.0 compares with a UTF-8 form that Python may not have made yet): then all fields are decoded.
            narrow = TypedDict("narrow", dict.fromkeys(sorted(fields), Any), total=False)  # type: ignore[misc]
            self._read = _reader(codec, narrow)

    def decode(self, raws: Sequence[bytes | None]) -> tuple[list[Value], dict[int, str]]:
        """The values of the records that can be decoded, and position -> error for the others."""
        read: Callable[[Any], Value] = self._read
        try:
            return list(map(read, raws)), {}
        except (*_BROKEN, TypeError):
            return _one_by_one(read, raws)

    def whole(self, raw: bytes | None) -> Value:
        """A record that was decoded before, with all its fields."""
        assert raw is not None, "a tombstone is never decoded"
        try:
            return self._whole(raw)
        except _BROKEN:  # Broken in a field that nobody had looked at.
            return self._read(raw)


def _reader(codec: Codec, kind: Any) -> Read:
    return msgspec.json.Decoder(kind).decode if codec == "json" else msgspec.msgpack.Decoder(kind).decode


def _one_by_one(read: Read, raws: Sequence[bytes | None]) -> tuple[list[Value], dict[int, str]]:
    values: list[Value] = []
    errors: dict[int, str] = {}
    for i, raw in enumerate(raws):
        if raw is None:
            errors[i] = "the record has no value (a tombstone); a source reads objects"
            continue
        try:
            values.append(read(raw))
        except _BROKEN as error:
            errors[i] = describe(error)
    return values, errors
