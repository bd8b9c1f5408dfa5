"""Decode: the bytes of a source's records to values.

A whole batch is decoded at C speed. Only when one record of it is not an object in the source's codec (broken bytes, a
number, an empty value) the batch is read again one by one, so that just the broken ones are set aside.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from services.operators.batch import Value
from services.operators.failure import describe
from topics.flow.specs import Codec

# RecursionError: nested deeper than Python's stack. ValueError: text that is not UTF-8.
_BROKEN = (msgspec.DecodeError, ValueError, RecursionError)

_DECODERS: dict[str, Callable[[bytes], Value]] = {
    "json": msgspec.json.Decoder(dict[str, Any]).decode,
    "msgpack": msgspec.msgpack.Decoder(dict[str, Any]).decode,
}


def decode(codec: Codec, raws: Sequence[bytes | None]) -> tuple[list[Value], dict[int, str]]:
    """The values of the records that can be decoded, and position -> error for the others."""
    read: Callable[[Any], Value] = _DECODERS[codec]
    try:
        return list(map(read, raws)), {}
    except (*_BROKEN, TypeError):
        return _one_by_one(read, raws)


def _one_by_one(read: Callable[[bytes], Value], raws: Sequence[bytes | None]) -> tuple[list[Value], dict[int, str]]:
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
