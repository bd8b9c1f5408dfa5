"""Snapshots: a task's whole state as a few large records, so that recovery need not replay the history of its changes.

A snapshot is written a piece at a time, in the task's ordinary transactions, while the task works on. So its pieces are
of different ages, and that does no harm: what changed since the snapshot began is in the changelogs after the offsets
noted at its beginning, and an entry's last change wins. A restore reads the pieces, then the changelogs from those
offsets on. Where the newest complete snapshot is stands in the metadata of the committed offsets.

Two slots take turns, so that the pieces of the last complete snapshot stay until the next one is complete (the topic is
compacted). A changelog forgets after a while that an entry was removed, so an old snapshot is not used.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from services.host.disk import DiskDict
from services.operators.program import Program
from services.operators.table import columns_of, decode_value, encode_value, keys_of
from topics.topic import Compacted

AGE_MS_MAX = Compacted().deletes_seen_ms // 2
PIECE_ENTRIES = 2_000
"""Written, and read, in one go: some milliseconds of work."""
PIECES_MAX = 10
"""In one commit."""
PIECE_BYTES_MAX = 900_000
CHANGES_MIN = 50_000
"""Below so many changes since the last snapshot, reading the changelog is quick enough."""


class SnapshotPlace(msgspec.Struct, frozen=True, array_like=True):
    """Where a complete snapshot is: its slot and pieces, from which offset of the snapshot topic on, and the changelog
    offsets (by operator) that it begins at.
    """

    begun_ms: int
    from_offset: int
    slot: int
    pieces: int
    offsets: dict[str, int]


class Snapshots:
    """Decides when to take one and makes its pieces. `place` is the newest complete one."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.place: SnapshotPlace | None = None
        self._changes = 0
        self._landed_offset = 0
        self._pending: Iterator[tuple[str, list[Any]]] | None = None
        self._next: SnapshotPlace | None = None

    def changed(self, count: int) -> None:
        """So many changelog records were written."""
        self._changes += count

    @property
    def is_due(self) -> bool:
        """Whether a new snapshot should begin: the changelog would take longer to read than the state itself."""
        if self._pending is not None:
            return False
        entries = sum(len(table.data) for table in self._program.tables.values())
        return self._changes > max(CHANGES_MIN, 2 * entries)

    def landed(self, offset: int) -> None:
        """Pieces were committed, the last of them at this offset or after it."""
        self._landed_offset = offset

    def begin(self, offsets: dict[str, int], *, now_ms: int) -> None:
        """Begin one; `offsets` is where each changelog ends now."""
        slot = 1 - self.place.slot if self.place is not None else 0
        from_offset = max(self._landed_offset, self.place.from_offset if self.place is not None else 0)
        self._next = SnapshotPlace(now_ms, from_offset, slot, 0, offsets)
        self._pending = self._chunks()
        self._changes = 0

    def pieces(self) -> list[tuple[bytes, bytes]]:
        """What to write next, as (key, value). When nothing is left, the snapshot is complete."""
        if self._pending is None or self._next is None:
            return []
        chunk = next(self._pending, None)
        if chunk is None:
            self.place, self._pending, self._next = self._next, None, None
            return []
        name, keys = chunk
        data = self._program.tables[name].data
        left = [key for key in keys if key in data]
        values = list(_encoded(self._next.begun_ms, name, left, [data[key] for key in left]))
        first = self._next.pieces
        self._next = msgspec.structs.replace(self._next, pieces=first + len(values))
        return [(_key(self._next.slot, first + i), value) for i, value in enumerate(values)]

    def _chunks(self) -> Iterator[tuple[str, list[Any]]]:
        for name, table in self._program.tables.items():
            if isinstance(table.data, DiskDict):
                yield from ((name, keys) for keys in table.data.key_chunks(PIECE_ENTRIES))
                continue
            keys = list(table.data)
            for start in range(0, len(keys), PIECE_ENTRIES):
                yield name, keys[start : start + PIECE_ENTRIES]


def _key(slot: int, piece: int) -> bytes:
    return b"%d/%d" % (slot, piece)


def _encoded(begun_ms: int, name: str, keys: list[Any], states: list[Any]) -> Iterator[bytes]:
    """These entries as one piece, or as several if one would be too large. Columns are read faster than pairs."""
    value = encode_value((begun_ms, name, columns_of(keys), states))
    if len(value) <= PIECE_BYTES_MAX or len(keys) == 1:
        yield value
        return
    half = len(keys) // 2
    yield from _encoded(begun_ms, name, keys[:half], states[:half])
    yield from _encoded(begun_ms, name, keys[half:], states[half:])


def usable(place: SnapshotPlace | None, *, now_ms: int) -> SnapshotPlace | None:
    """The snapshot, unless it is so old that the changelog may have forgotten removals since."""
    return place if place is not None and abs(now_ms - place.begun_ms) < AGE_MS_MAX else None


def load_piece(program: Program, place: SnapshotPlace, key: bytes, value: bytes) -> int | None:
    """Bring one record of the snapshot topic into the tables; returns its number of entries, None if it does not count.

    The topic may still hold pieces of snapshots before this one, or of one that was never completed: they do not count.
    """
    slot, _, piece = key.partition(b"/")
    if int(slot) != place.slot or int(piece) >= place.pieces:
        return None
    begun_ms, name, keys, states = decode_value(value)
    if begun_ms != place.begun_ms:
        return None
    program.restore(name, dict(zip(keys_of(keys), states, strict=True)))
    return len(states)
