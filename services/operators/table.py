"""A table: what an operator remembers, as a dictionary that knows which of its keys were touched.

The operator works on `data` directly and adds each key that it sets or removes to `changed`. After each batch the host
drains the table into a changelog; another host restores it from there (`Operator.restore`) and gets an equal table.
Keys are strings, integers, None, bytes or (nested) tuples of them; values are what MessagePack can carry.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

_COLUMNS = "columns"

# MessagePack ends at 64-bit integers; larger ones are written as an extension of this type, in decimal.
_LARGE_INTEGER = 1

_pack = msgspec.msgpack.Encoder().encode


def extension(kind: int, content: memoryview) -> Any:
    """What an extension stands for. One that is not ours, in what a user's function remembers, stays as it is."""
    if kind == _LARGE_INTEGER:
        with suppress(ValueError):
            return int(bytes(content))
    return msgspec.msgpack.Ext(kind, bytes(content))


Entries = dict[Any, Any]
"""What is to be brought into a table: values by key, `GONE` where there is none any more."""
GONE = object()

decode_value: Callable[[bytes], Any] = msgspec.msgpack.Decoder(ext_hook=extension).decode
"""The table value that `encode_value` was given."""


class Table:
    """`data` is the content, `changed` holds the keys touched since the last drain (set or removed)."""

    __slots__ = ("changed", "data")

    def __init__(self) -> None:
        self.data: dict[Any, Any] = {}
        self.changed: set[Any] = set()

    def put(self, key: Any, value: Any) -> None:
        """Set one key; hot paths write `data` and `changed` themselves."""
        self.data[key] = value
        self.changed.add(key)

    def remove(self, key: Any) -> None:
        """Forget one key; the changelog gets a tombstone."""
        if key in self.data:
            del self.data[key]
            self.changed.add(key)

    def drain(self) -> list[tuple[bytes, bytes | None]]:
        """What changed since the last drain, as changelog records: each key's last value, None where it is gone."""
        records = self._records(self.changed)
        self.changed.clear()
        return records

    def drain_by(self, count: int) -> Iterator[list[tuple[bytes, bytes | None]]]:
        """The same, so many at a time. All of it must be taken before anything else changes."""
        keys = list(self.changed)
        self.changed.clear()
        for begin in range(0, len(keys), count):
            yield self._records(keys[begin : begin + count])

    def _records(self, keys: Iterable[Any]) -> list[tuple[bytes, bytes | None]]:
        data = self.data
        return [(encode_key(key), encode_value(data[key]) if key in data else None) for key in keys]

    def restore(self, entries: Entries) -> None:
        """Bring these in; the table does not count them as changed."""
        gone = [key for key, value in entries.items() if value is GONE]
        if gone:
            entries = {key: value for key, value in entries.items() if value is not GONE}
        self.data.update(entries)
        for key in gone:
            self.data.pop(key, None)


class Untracked(set[Any]):
    """Takes the place of `changed` where there is no changelog, so that nobody spends time on what nobody reads."""

    def add(self, key: Any) -> None:
        pass

    def update(self, *keys: Any) -> None:
        pass


def entries_of(records: Iterable[tuple[bytes, bytes | None]]) -> Entries:
    """What changelog records amount to: the last one of each key counts."""
    raw_keys, raw_values = [], []
    for key, value in records:
        raw_keys.append(key)
        raw_values.append(value)
    keys = _all_frozen(list(map(decode_value, raw_keys)))
    values = [GONE if value is None else decode_value(value) for value in raw_values]
    return dict(zip(keys, values, strict=True))


def encode_key(key: Any) -> bytes:
    """A table key as bytes: different keys give different bytes, so it also gives results a stable order."""
    return encode_value(key)


def encode_value(value: Any) -> bytes:
    """A table value as bytes."""
    try:
        return _pack(value)
    except OverflowError:
        return _pack(_with_large_integers(value))


def columns_of(keys: list[Any]) -> Any:
    """Keys in a form that MessagePack carries and that is quick to read: tuples of one length as their columns."""
    lengths = {len(key) if type(key) is tuple else 0 for key in keys}
    if len(lengths) == 1 and 0 not in lengths:
        return {_COLUMNS: [columns_of(list(column)) for column in zip(*keys, strict=True)]}
    return keys


def keys_of(columns: Any) -> list[Any]:
    """The keys that `columns_of` was given, after MessagePack has made lists of tuples."""
    if type(columns) is dict:
        return list(zip(*map(keys_of, columns[_COLUMNS]), strict=True))
    return _all_frozen(columns)


def _with_large_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {_with_large_integers(key): _with_large_integers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_large_integers(each) for each in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return msgspec.msgpack.Ext(_LARGE_INTEGER, str(value).encode())
    return value


def decode_key(raw: bytes) -> Any:
    """The table key that `encode_key` was given."""
    return frozen(decode_value(raw))


def frozen(key: Any) -> Any:
    """A decoded key with its lists as tuples again, so that a dictionary can hold it."""
    return tuple(map(frozen, key)) if type(key) is list else key


def _all_frozen(keys: list[Any]) -> list[Any]:
    return list(map(frozen, keys)) if list in set(map(type, keys)) else keys
