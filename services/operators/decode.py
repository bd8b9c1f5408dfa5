"""Decode: the bytes of a source's records to values.

A whole batch is decoded at C speed. Only when one record of it is not an object in the source's codec (broken bytes, a
number, an empty value, nested too deeply: `nesting.py`) the batch is read again one by one, so that just the broken
ones are set aside. Fields that the flow does not read are skipped (`pruning.py`); what is wrong inside them (text that
is not UTF-8) does not matter. Where records are only read by the names of fields, they have slots instead of entries,
which takes half the time (`topics/expressions/slots.py`).

Of MessagePack a record may have what JSON can say, bytes and timestamps. Extensions and names that are not text
(`field_names.py`) mean nothing to operators. What JSON can say, a few levels deep, is checked while it is parsed, at no
cost; a batch with anything else in it is looked at once more.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TypedDict, Union

import msgspec

from services.operators.batch import Value
from services.operators.failure import describe
from services.operators.field_names import odd_name
from services.operators.nesting import LEVELS_MAX, TOO_DEEP, is_too_deep
from topics.flow.specs import Codec

# RecursionError: nested deeper than Python's stack. ValueError: text that is not UTF-8.
_BROKEN = (msgspec.DecodeError, ValueError, RecursionError)

Read = Callable[[bytes], Value]

PLAIN_LEVELS = 4
"""How deep a field may be nested that is checked while it is parsed: msgspec knows no type that goes on for ever."""


class Decoder:
    """One source's way from bytes to values. With `fields` it need not have, nor look at, any others."""

    def __init__(self, codec: Codec, *, fields: frozenset[str] | None = None, slots: bool = False) -> None:
        assert fields is not None or not slots, "who reads by name knows the names"
        self._whole = _reader(codec, _record(None, Any))
        self._read = _reader(codec, _record(fields, Any, slots=slots))
        self._narrow = _reader(codec, _record(fields, Any)) if slots else self._read
        self._read_plain = None
        if codec == "msgpack":
            self._read_plain = _reader(codec, _record(fields, _plain(PLAIN_LEVELS), slots=slots))
        # A level takes two bytes in JSON, one in MessagePack: what is not longer than this cannot be too deep.
        self._shallow_bytes = LEVELS_MAX * (2 if codec == "json" else 1)

    def decode(self, raws: Sequence[bytes | None]) -> tuple[list[Value], dict[int, str]]:
        """The values of the records that can be decoded, and position -> error for the others."""
        read: Callable[[Any], Value] = self._read
        read_plain: Callable[[Any], Value] | None = self._read_plain
        size: Callable[[Any], int] = len
        if read_plain is not None:
            with suppress(*_BROKEN, TypeError):
                return list(map(read_plain, raws)), {}
        try:
            values = list(map(read, raws))
            are_shallow = max(map(size, raws), default=0) <= self._shallow_bytes
            if (are_shallow or not any(map(self._is_too_deep, raws, values))) and self._odd_name(values) is None:
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
            return self._narrow(raw)

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
        name = self._odd_name([value])
        if name is not None:
            raise ValueError(f"a field inside it has the name {name:.100}; names of fields are text")
        return value

    def _odd_name(self, values: list[Value]) -> str | None:
        return odd_name(map(_object, values)) if self._read_plain is not None else None

    def _is_too_deep(self, raw: bytes | None, value: Value) -> bool:
        assert raw is not None, "a tombstone is never decoded"
        return len(raw) > self._shallow_bytes and is_too_deep(_object(value))


def _object(value: Any) -> Value:
    """A record with entries, whether it has slots or not."""
    return value if type(value) is dict else msgspec.structs.asdict(value)


def _plain(levels: int) -> Any:
    """The type of what JSON can say, so many levels deep."""
    inside = [dict[str, _plain(levels - 1)], list[_plain(levels - 1)]] if levels else []  # type: ignore[misc]
    return Union[str, int, float, bool, None, *inside]


def _record(fields: frozenset[str] | None, field: Any, *, slots: bool = False) -> Any:
    """The type of a record with such fields: any, or at most these."""
    if slots:
        return msgspec.defstruct("Slots", [(name, field, None) for name in sorted(fields or ())], gc=False)  # no cycles
    # TypedDict is how msgspec is told to skip the other fields while it parses. It misses names that are not ASCII
    # (0.22.0 compares with a UTF-8 form that Python may not have made yet): then all fields are decoded.
    if fields is None or not all(map(str.isascii, fields)):
        return dict[str, field]
    return TypedDict("narrow", dict.fromkeys(sorted(fields), field), total=False)  # type: ignore[operator]


def _reader(codec: Codec, kind: Any) -> Read:
    if codec == "json":
        return msgspec.json.Decoder(kind).decode
    return msgspec.msgpack.Decoder(kind, ext_hook=_refuse).decode


def _refuse(kind: int, _content: memoryview) -> NoReturn:
    raise ValueError(f"an extension of type {kind}; of MessagePack's extensions only timestamps are read")
