"""Keys of records: which group a record belongs to, and the bytes that stand for it in Kafka.

A group key is what tables use. With one field it is the field's value, with several (or none) a tuple of them.
Strings, integers and null stand for themselves; a whole float counts as its integer (1 and 1.0 are one group, as in
`1 == 1.0`); everything else (true, 1.5, lists, objects) is its JSON as bytes, because Python takes True for 1 and
cannot hash lists. A missing field is null.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

from services.operators.batch import Value

_PLAIN = {str, int, type(None)}

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder().decode


def field_reader(path: str) -> Callable[[list[Value]], list[Any]]:
    """Read one (possibly dotted) field of every value; null where it is missing. Values may have slots."""
    first, *rest = path.split(".")
    of_object, of_slots = itemgetter(first), attrgetter(first)

    def read(values: list[Value]) -> list[Any]:
        try:
            column = list(map(of_object if not values or isinstance(values[0], dict) else of_slots, values))
        except KeyError:
            column = [value.get(first) for value in values]
        for name in rest:
            column = [inner.get(name) if isinstance(inner, dict) else None for inner in column]
        return column

    return read


def group_reader(paths: Sequence[str]) -> Callable[[list[Value]], list[Any]]:
    """Read the group key of every value."""
    readers = [field_reader(path) for path in paths]
    if not readers:
        return lambda values: [()] * len(values)
    if len(readers) == 1:
        (only,) = readers
        return lambda values: _grouped(only(values))
    return lambda values: list(zip(*[_grouped(read(values)) for read in readers], strict=True))


def group_values(key: Any) -> tuple[Any, ...]:
    """The field values that a group key stands for, in the order of the paths."""
    if type(key) is tuple:
        return tuple(_decode(part) if type(part) is bytes else part for part in key)
    return (_decode(key) if type(key) is bytes else key,)


def key_bytes(values: Sequence[Any]) -> bytes:
    """The Kafka key for these field values: one string as its UTF-8 (what other producers send), else compact JSON."""
    if len(values) == 1:
        (only,) = values
        return only.encode() if type(only) is str else _encode(only)
    return _encode(values)


def _grouped(column: list[Any]) -> list[Any]:
    if _PLAIN.issuperset(map(type, column)):
        return column
    return [part if type(part) in _PLAIN else _canonical(part) for part in column]


def _canonical(part: Any) -> Any:
    if type(part) is float and part.is_integer():
        return int(part)
    return _encode(part)
