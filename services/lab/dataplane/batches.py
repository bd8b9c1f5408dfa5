"""How large the batches of a topic are, by the broker's own files: the same way whoever wrote them.

A batch is what one produce request brought for one partition.
"""

import mmap
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

_HEADER = struct.Struct(">qi9xh34xi")
"""Of a batch (KIP-98): first offset, bytes after this field, attributes, number of records."""
_LENGTH_END = 12
_IS_CONTROL = 1 << 5


class Batches(NamedTuple):
    """How many there are, and how many records are in them."""

    batches: int
    records: int


def sizes_bytes(folders: Iterable[Path], topic: str) -> dict[Path, int]:
    """How long the files of a topic's partitions are by now. `folders`: where brokers keep all theirs."""
    return {path: path.stat().st_size for folder in folders for path in folder.glob(f"{topic}-[0-9]*/*.log")}


def written(begin: Mapping[Path, int], end: Mapping[Path, int]) -> Batches:
    """What was written between two looks at the files; a transaction's markers do not count."""
    found = [_between(path, begin.get(path, 0), size) for path, size in sorted(end.items()) if size]
    return Batches(sum(each.batches for each in found), sum(each.records for each in found))


def _between(path: Path, begin: int, end: int) -> Batches:
    batches = records = at = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), end, access=mmap.ACCESS_READ) as log:
        while at + _HEADER.size <= end:
            _, length, attributes, count = _HEADER.unpack_from(log, at)
            if at >= begin and not attributes & _IS_CONTROL:
                batches += 1
                records += count
            at += _LENGTH_END + length
    return Batches(batches, records)
