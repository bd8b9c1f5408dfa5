"""About how large the state of each operator is: as many entries as its tables hold, each as long as a sample of them.

To weigh every entry would cost as much as to write it. What was restored is weighed once, then what changed last.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from services.host.disk import DiskDict
from services.operators.program import Program
from services.operators.table import Table, encode_key, encode_value

SAMPLE_ENTRIES = 8


class StateSizes:
    """Of one program. `restored` when its tables are rebuilt, `changing` whenever what has changed is to be drained."""

    def __init__(self, program: Program) -> None:
        self._tables = program.tables
        self._entry_bytes: dict[str, float] = {}

    def restored(self) -> None:
        """The tables hold what a task goes on with."""
        for name, table in self._tables.items():
            self._weigh(name, table.data.items())

    def changing(self) -> None:
        """What changed since the last time is about to be drained. What is gone since tells no size."""
        for name, table in self._tables.items():
            if table.changed:
                self._weigh(name, _changed(table))

    @property
    def by_operator(self) -> dict[str, int]:
        """Of those that have tables, in bytes."""
        sizes: dict[str, float] = {}
        for name, table in self._tables.items():
            operator = name.partition("/")[0]
            sizes[operator] = sizes.get(operator, 0.0) + self._bytes(name, table)
        return {operator: round(size) for operator, size in sizes.items()}

    @property
    def resident_bytes(self) -> int:
        """Of all that is in memory."""
        in_memory = ((name, table) for name, table in self._tables.items() if not isinstance(table.data, DiskDict))
        return round(sum(self._bytes(name, table) for name, table in in_memory))

    def _bytes(self, name: str, table: Table) -> float:
        return len(table.data) * self._entry_bytes.get(name, 0.0)

    def _weigh(self, name: str, entries: Iterable[tuple[Any, Any]]) -> None:
        lengths = [len(encode_key(key)) + len(encode_value(value)) for key, value in islice(entries, SAMPLE_ENTRIES)]
        if lengths:
            self._entry_bytes[name] = sum(lengths) / len(lengths)


def _changed(table: Table) -> Iterator[tuple[Any, Any]]:
    return ((key, table.data[key]) for key in islice(table.changed, SAMPLE_ENTRIES) if key in table.data)
