"""State on disk: what takes the place of a table's dictionary when a flow says `state: disk`.

The dictionary itself holds only what was touched lately; everything else is in a RocksDB of its own, which is written
when changes are drained to the changelog. Disk adds room, not durability: the changelog decides what the state is, as
it does for state in memory, and whoever starts a task rebuilds it from there. So nothing is ever synced to disk, and
what a crash leaves behind is thrown away.
"""

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocksdict import BlockBasedOptions, Cache, Options, Rdict, WriteBatch, WriteOptions

from services.operators.program import Program
from services.operators.table import Table, decode_key, decode_value, encode_key, encode_value

CACHED_BYTES_MAX = 16 << 20
"""Above about so much, what is in memory is forgotten at the next commit: by then it is on disk."""
ENTRY_BYTES = 300
"""What an entry takes in memory beside its bytes."""
WRITE_BUFFER_BYTES = 8 << 20
BLOCK_CACHE_BYTES = 16 << 20


class StateFullError(Exception):
    """The disk does not take any more."""


class DiskDict(dict[Any, Any]):
    """A dictionary most of which is on disk. A value that was taken out may be changed in place until the next `settle`
    if its key is among the table's changed ones.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._unsaved: set[Any] = set()
        self._removed: set[Any] = set()
        self._cached_bytes = 0
        self._unlogged = WriteOptions()
        self._unlogged.disable_wal = True  # type: ignore[assignment, method-assign]  # its stubs are wrong
        self._database = self._opened()

    def settle(self, records: Sequence[tuple[bytes, bytes | None]] = ()) -> None:
        """Bring to disk what was drained from the table, and whatever else is only in memory.

        Call it also when nothing has changed: what was only read takes memory, too.
        """
        if records or self._unsaved or self._removed:
            self._save(records)
        if self._cached_bytes > CACHED_BYTES_MAX:
            super().clear()
            self._cached_bytes = 0

    def _save(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        batch = WriteBatch(raw_mode=True)
        told = {key for key, _ in records} if self._unsaved or self._removed else set()
        for key, value in records:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
                self._cached_bytes += ENTRY_BYTES + len(key) + len(value)
        for key in self._unsaved:
            if (raw := encode_key(key)) not in told:
                batch.put(raw, encode_value(super().__getitem__(key)))
        for key in self._removed:
            if (raw := encode_key(key)) not in told:
                batch.delete(raw)
        self._write(batch)
        self._unsaved.clear()
        self._removed.clear()

    def key_chunks(self, count: int) -> Iterator[list[Any]]:
        """All keys on disk, so many at a time; what changes meanwhile may be among them or not."""
        after = b""
        while raw := self._keys_after(after, count):
            yield list(map(decode_key, raw))
            after = raw[-1]

    def close(self) -> None:
        """Forget everything, also on disk."""
        with contextlib.suppress(Exception):  # it may be broken or closed, which is why it is left
            self._database.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __missing__(self, key: Any) -> Any:
        raw = None if key in self._removed else self._database.get(encode_key(key))
        if raw is None:
            raise KeyError(key)
        self._cached_bytes += ENTRY_BYTES + len(raw)
        value = decode_value(raw)
        super().__setitem__(key, value)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self.get(key) is not None

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._unsaved.add(key)
        self._removed.discard(key)

    def __delitem__(self, key: Any) -> None:
        self[key]  # raises KeyError if it is not there
        super().__delitem__(key)
        self._unsaved.discard(key)
        self._removed.add(key)

    def pop(self, key: Any, *default: Any) -> Any:
        if default and key not in self:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def update(self, entries: Mapping[Any, Any]) -> None:  # type: ignore[override]
        """Straight to disk: that is how state is restored, which need not fit into memory."""
        batch = WriteBatch(raw_mode=True)
        for key, value in entries.items():
            batch.put(encode_key(key), encode_value(value))
            super().pop(key, None)
            self._removed.discard(key)
        self._write(batch)

    def clear(self) -> None:
        super().clear()
        self._unsaved.clear()
        self._removed.clear()
        self.close()
        self._database = self._opened()

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def items(self) -> Iterator[tuple[Any, Any]]:  # type: ignore[override]
        """Those in memory, then the others."""
        yield from list(super().items())
        for keys in self.key_chunks(1_000):
            for key in keys:
                raw = self._database.get(encode_key(key))
                if raw is not None and not super().__contains__(key) and key not in self._removed:
                    yield key, decode_value(raw)

    def __len__(self) -> int:
        """About: RocksDB does not count overwritten entries apart until it has merged them."""
        on_disk = self._database.property_int_value("rocksdb.estimate-num-keys") or 0
        return int(on_disk) + len(self._unsaved) - min(int(on_disk), len(self._removed))

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def _keys_after(self, after: bytes, count: int) -> list[bytes]:
        found: list[bytes] = []
        cursor = self._database.iter()
        if after:
            cursor.seek(after)
            if cursor.valid() and cursor.key() == after:
                cursor.next()
        else:
            cursor.seek_to_first()
        while cursor.valid() and len(found) < count:
            found.append(cursor.key())
            cursor.next()
        return found

    def _opened(self) -> Rdict:
        try:
            return Rdict(str(self._folder), _options())
        except Exception as error:  # rocksdict knows no other
            raise self._full(error) from error

    def _write(self, batch: WriteBatch) -> None:
        try:
            self._database.write(batch, self._unlogged)
        except Exception as error:
            raise self._full(error) from error

    def _full(self, error: Exception) -> StateFullError:
        return StateFullError(
            f"state can't be written to {self._folder.parent}: {error}; free some space there, or start the host "
            f"with another --state-folder"
        )


class DiskState:
    """All disk tables of one task, each with a RocksDB of its own below `folder`."""

    def __init__(self, program: Program, folder: Path) -> None:
        self._folder = folder
        self._tables: list[tuple[Table, DiskDict]] = []
        try:
            folder.mkdir(parents=True)
            for number, name in enumerate(sorted(program.disk_tables)):
                table, data = program.tables[name], DiskDict(folder / str(number))
                self._tables.append((table, data))
                table.data = data
        except (OSError, StateFullError) as error:
            self.close()
            raise StateFullError(str(error)) from error

    def close(self) -> None:
        """Throw it away; the tables are empty then, and in memory."""
        for table, data in self._tables:
            table.data = {}
            data.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _options() -> Options:
    options = Options(raw_mode=True)  # bytes in, bytes out: rocksdict would pickle anything else
    options.create_if_missing(True)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_max_write_buffer_number(2)
    options.set_max_open_files(64)
    table = BlockBasedOptions()
    table.set_block_cache(Cache(BLOCK_CACHE_BYTES))
    options.set_block_based_table_factory(table)
    return options
