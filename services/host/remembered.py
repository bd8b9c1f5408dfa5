"""What a task remembers beside its operators' state, in few bytes: Kafka keeps it with the committed offset.

It is where the last snapshot is, and tables of numbers: how far event time has come on each upstream partition, and
which of them rest. With hundreds of upstream partitions that is more than a broker keeps with an offset; then it goes
into the task's landmark, a record of the same transaction, and the note at the offset only says so.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from operator import sub
from typing import Any

import msgspec

from services.host.snapshot import SnapshotPlace
from services.operators.table import decode_value, encode_value, frozen

NOTE_LENGTH_MAX = 4_000
"""A broker keeps up to 4,096 characters with an offset (`offset.metadata.max.bytes`)."""

COMPRESSION = 1
"""The quickest: it takes away as much, for what is mostly the last digits of times."""

_FORM = "2"
_EARLIER_FORM = b"\x92"
"""How MessagePack begins in the first form, an array of two; zlib never begins so."""

Entries = Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class Remembered:
    """`tables`: by name, as another version of this software may remember more, or less."""

    snapshot: SnapshotPlace | None = None
    tables: Mapping[str, Entries] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """The words at a committed offset. `packed` None: it stands in the task's landmark.

    `landmark_ms`: when the newest landmark was written, None if never; it is at `landmark_offset` or after it.
    """

    landmark_ms: int | None = None
    landmark_offset: int = 0
    packed: bytes | None = b""

    def text(self) -> str:
        """As the broker keeps it."""
        assert self.landmark_ms is not None, self
        assert self.packed != b"", self
        packed = "" if self.packed is None else b64encode(self.packed).decode()
        return f"{_FORM}:{self.landmark_ms}:{self.landmark_offset}:{packed}"


def read_note(text: str) -> Note:
    """What `text` gave, or an earlier version wrote; nothing at all for an offset that was set by hand."""
    if ":" not in text:
        return Note(packed=b64decode(text))
    form, landmark_ms, landmark_offset, packed = text.split(":")
    if form != _FORM:
        raise ValueError(f"the offset was committed by another version (form {form}); run that version, or a newer one")
    return Note(int(landmark_ms), int(landmark_offset), b64decode(packed) if packed else None)


def fits(packed: bytes) -> bool:
    """Whether a broker keeps so much with an offset."""
    return len(Note(2**53, 2**53, packed).text()) <= NOTE_LENGTH_MAX


def pack(remembered: Remembered) -> bytes:
    """In few bytes: numbers as their differences, names once."""
    tables = {name: _packed(entries) for name, entries in remembered.tables.items() if entries}
    return zlib.compress(encode_value([remembered.snapshot, tables]), COMPRESSION)


def unpack(packed: bytes) -> Remembered:
    """What `pack` was given."""
    if not packed:
        return Remembered()
    if packed.startswith(_EARLIER_FORM):
        snapshot, listed = decode_value(packed)
        tables = {name: {frozen(key): value for key, value in pairs} for name, pairs in listed.items()}
    else:
        snapshot, columns = decode_value(zlib.decompress(packed))
        tables = {name: dict(_unpacked(*each)) for name, each in columns.items()}
    return Remembered(msgspec.convert(snapshot, SnapshotPlace | None), tables)


def _packed(entries: Entries) -> tuple[bool, Any]:
    """Entries by (input, partition) as columns for each input, the others as pairs."""
    by_input: dict[str, dict[int, Any]] = {}
    for key, value in entries.items():
        if type(key) is not tuple:
            return False, list(entries.items())
        by_input.setdefault(key[0], {})[key[1]] = value
    return True, [
        (name, _steps(partitions := sorted(column)), *_column([column[each] for each in partitions]))
        for name, column in by_input.items()
    ]


def _unpacked(is_columns: bool, content: Any) -> Iterable[tuple[Any, Any]]:
    if not is_columns:
        return ((frozen(key), value) for key, value in content)
    return (
        ((name, partition), value)
        for name, partitions, is_steps, values in content
        for partition, value in zip(accumulate(partitions), accumulate(values) if is_steps else values, strict=True)
    )


def _column(values: list[Any]) -> tuple[bool, list[Any]]:
    are_numbers = set(map(type, values)) == {int}
    return are_numbers, _steps(values) if are_numbers else values


def _steps(numbers: list[int]) -> list[int]:
    return [numbers[0], *map(sub, numbers[1:], numbers)]
