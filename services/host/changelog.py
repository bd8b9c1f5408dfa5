"""The changelog of a task's state: what its tables drained, and how a fresh task gets it back.

Each operator with state has a compacted topic of its own with the segment's partitions. A record's key is the table's
name and the entry's key; no value means that the entry is gone. Changes are written in the transaction that commits
the input offsets, so what a reader of committed records finds is exactly the state at those offsets.
"""

from collections.abc import Iterable, Iterator

from services.host.disk import DiskDict
from services.host.fetch import Record
from services.operators.program import Program
from services.operators.table import Table, entries_of
from topics.flow.graph import FlowGraph
from topics.names import changelog_topic

_SEPARATOR = b"\x00"
ENTRIES_MAX = 10_000
"""About so many entries are written at a time: to encode a million takes seconds."""


def changelog_topics(graph: FlowGraph, program: Program) -> dict[str, str]:
    """The changelog topic of each operator that has state.

    An operator that computes something else than before has another identity, and so does not meet old state.
    """
    operators = dict.fromkeys(name.partition("/")[0] for name in program.tables)
    return {
        operator: changelog_topic(graph.spec.name, f"{operator}-{graph.operator(operator).identity[:12]}")
        for operator in operators
    }


def drained(program: Program) -> Iterator[tuple[str, list[bytes], list[bytes | None]]]:
    """(operator, keys, values) of everything that changed since the last time; where that is much, piece by piece."""
    by_operator: dict[str, tuple[list[bytes], list[bytes | None]]] = {}
    for name, table in program.tables.items():
        operator, _, table_name = name.partition("/")
        prefix = table_name.encode() + _SEPARATOR
        for records in _changes(table):
            keys, values = by_operator.setdefault(operator, ([], []))
            for key, value in records:
                keys.append(prefix + key)
                values.append(value)
            if len(keys) >= ENTRIES_MAX:
                yield operator, *by_operator.pop(operator)
    for operator, (keys, values) in by_operator.items():
        yield operator, keys, values


def _changes(table: Table) -> Iterator[list[tuple[bytes, bytes | None]]]:
    if not isinstance(table.data, DiskDict):
        yield from table.drain_by(ENTRIES_MAX)
    else:
        records = table.drain()
        table.data.settle(records)  # all of it at once: what it is not told, it would encode again
        if records:
            yield records


def apply(program: Program, operator: str, records: Iterable[Record]) -> None:
    """Bring changelog records of one operator into its tables."""
    by_table: dict[bytes, list[tuple[bytes, bytes | None]]] = {}
    for record in records:
        table_name, _, key = record.key.partition(_SEPARATOR)
        by_table.setdefault(table_name, []).append((key, record.value))
    for table_name, changes in by_table.items():
        name = f"{operator}/{table_name.decode()}"
        program.restore(name, entries_of(changes))
        data = program.tables[name].data
        if isinstance(data, DiskDict):
            data.settle()
