"""A table: what an operator remembers, as a dictionary that knows which of its keys were touched.

The operator works on `data` directly and adds each key that it sets or removes to `changed`. After each batch the host
drains the table into a changelog; another host restores it from there and gets an equal table. Keys are strings,
integers, None, bytes or (nested) tuples of them; values are what MessagePack can carry.
"""

from typing import Any

import msgspec

# MessagePack ends at 64-bit integers; larger ones are written as an extension of this type, in decimal.
_LARGE_INTEGER = 1

_pack = msgspec.msgpack.Encoder().encode


def large_integer(_kind: int, digits: memoryview) -> int:
    """What an extension stands for."""
    return int(bytes(digits))


_unpack = msgspec.msgpack.Decoder(ext_hook=large_integer).decode


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
        data = self.data
        records = [(encode_key(key), encode_value(data[key]) if key in data else None) for key in self.changed]
        self.changed.clear()
        return records

    def restore(self, key: bytes, value: bytes | None) -> None:
        """Apply one changelog record; the table does not count it as changed."""
        if value is None:
            self.data.pop(decode_key(key), None)
        else:
            self.data[decode_key(key)] = decode_value(value)


class Untracked(set[Any]):
    """Takes the place of `changed` where there is no changelog, so that nobody spends time on what nobody reads."""

    def add(self, key: Any) -> None:
        pass

    def update(self, *keys: Any) -> None:
        pass


def encode_key(key: Any) -> bytes:
    """A table key as bytes: different keys give different bytes, so it also gives results a stable order."""
    return encode_value(key)


def decode_key(raw: bytes) -> Any:
    """The table key that `encode_key` was given."""
    return frozen(decode_value(raw))


def encode_value(value: Any) -> bytes:
    """A table value as bytes."""
    try:
        return _pack(value)
    except OverflowError:
        return _pack(_with_large_integers(value))


def decode_value(raw: bytes) -> Any:
    """The table value that `encode_value` was given."""
    return _unpack(raw)


def _with_large_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {_with_large_integers(key): _with_large_integers(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_large_integers(each) for each in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return msgspec.msgpack.Ext(_LARGE_INTEGER, str(value).encode())
    return value


def frozen(key: Any) -> Any:
    """A decoded key with its lists as tuples again, so that a dictionary can hold it."""
    return tuple(map(frozen, key)) if type(key) is list else key
