"""Decode: the bytes of a source's records to values.

A whole batch is decoded at C speed. Only when one record of it is not an object in the source's codec (broken bytes, a
number, an empty value, nested too deeply: `nesting.py`) the batch is read again one by one, so that just the broken
ones are set aside. Fields that the flow does not read are skipped (`pruning.py`); what is wrong inside them (text that
is not UTF-8) does not matter. Where records are only read by the names of fields, they have slots instead of entries,
which takes half the time (`topics/expressions/slots.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import msgspec

from services.operators.batch import Value
from services.operators.failure import describe
from services.operators.nesting import LEVELS_MAX, TOO_DEEP, is_too_deep
from topics.flow.specs import Codec

# RecursionError: nested deeper than Python's stack. ValueError: text that is not UTF-8.
_BROKEN = (msgspec.DecodeError, ValueError, RecursionError)

Read = Callable[[bytes], Value]


class Decoder:
    """One source's way from bytes to values. With `fields` it need not have, nor look at, any others."""

    def __init__(self, codec: Codec, *, fields: frozenset[str] | None = None, slots: bool = False) -> None:
        self._whole = _reader(codec, dict[str, Any])
        self._read = self._whole
        # A level takes two bytes in JSON, one in MessagePack: what is not longer than this cannot be too deep.
        self._shallow_bytes = LEVELS_MAX * (2 if codec == "json" else 1)
        if slots:
            assert fields is not None, "who reads by name knows the names"
            kinds = [(name, Any, None) for name in sorted(fields)]
            self._read = _reader(codec, msgspec.defstruct("Slots", kinds, gc=False))  # JSON holds no cycles
        elif fields is not None and all(map(str.isascii, fields)):
            # TypedDict is how msgspec is told to skip the other fields while it parses. It misses names that are not
            # ASCII (0.22.0 compares with a UTF-8 form that Python may not have made yet): then all fields are decoded.
            narrow = TypedDict("narrow", dict.fromkeys(sorted(fields), Any), total=False)  # type: ignore[misc]
            self._read = _reader(codec, narrow)

    def decode(self, raws: Sequence[bytes | None]) -> tuple[list[Value], dict[int, str]]:
        """The values of the records that can be decoded, and position -> error for the others."""
        read: Callable[[Any], Value] = self._read
        size: Callable[[Any], int] = len
        try:
            values = list(map(read, raws))
            if max(map(size, raws), default=0) <= self._shallow_bytes or not any(map(self._is_too_deep, raws, values)):
                return values, {}
        except (*_BROKEN, TypeError):
            pass
        return self._one_by_one(raws)

    def whole(self, raw: bytes | None) -> Value:
        """A record that was decoded before, with all its fields."""
        assert raw is not None, "a tombstone is never decoded"
        try:
            return self._checked(raw, self._whole)
        except _BROKEN:  # Broken in a field that nobody had looked at.
            return _object(self._read(raw))

    def _one_by_one(self, raws: Sequence[bytes | None]) -> tuple[list[Value], dict[int, str]]:
        values: list[Value] = []
        errors: dict[int, str] = {}
        for i, raw in enumerate(raws):
            if raw is None:
                errors[i] = "the record has no value (a tombstone); a source reads objects"
                continue
            try:
                values.append(self._checked(raw, self._read))
            except _BROKEN as error:
                errors[i] = describe(error)
        return values, errors

    def _checked(self, raw: bytes, read: Read) -> Value:
        value = read(raw)
        if self._is_too_deep(raw, value):
            raise ValueError(TOO_DEEP)
        return value

    def _is_too_deep(self, raw: bytes | None, value: Value) -> bool:
        assert raw is not None, "a tombstone is never decoded"
        return len(raw) > self._shallow_bytes and is_too_deep(_object(value))


def _object(value: Any) -> Value:
    """A record with entries, whether it has slots or not."""
    return value if type(value) is dict else msgspec.structs.asdict(value)


def _reader(codec: Codec, kind: Any) -> Read:
    return msgspec.json.Decoder(kind).decode if codec == "json" else msgspec.msgpack.Decoder(kind).decode
