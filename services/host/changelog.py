"""The changelog of a task's state: what its tables drained, and how a fresh task gets it back.

Each operator with state has a compacted topic of its own with the segment's partitions. A record's key is the table's
name and the entry's key; no value means that the entry is gone. Changes are written in the transaction that commits
the input offsets, so what a reader of committed records finds is exactly the state at those offsets.
"""

from collections.abc import Iterator, Mapping

from aiokafka import TopicPartition

from services.host.fetch import BlockConsumer
from services.operators.program import Program
from services.operators.table import Table
from topics.flow.graph import FlowGraph
from topics.names import changelog_topic

_SEPARATOR = b"\x00"


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
    """(operator, keys, values) of everything that changed since the last time."""
    by_operator: dict[str, tuple[list[bytes], list[bytes | None]]] = {}
    for name, table in program.tables.items():
        if table.changed:
            operator, _, table_name = name.partition("/")
            keys, values = by_operator.setdefault(operator, ([], []))
            prefix = table_name.encode() + _SEPARATOR
            for key, value in table.drain():
                keys.append(prefix + key)
                values.append(value)
    for operator, (keys, values) in by_operator.items():
        yield operator, keys, values


async def restore(
    program: Program, topics: Mapping[str, str], partition: int, *, bootstrap: str, client_id: str
) -> int:
    """Fill the program's tables from their changelogs; returns how many records that took."""
    if not topics:
        return 0
    consumer = BlockConsumer(
        bootstrap_servers=bootstrap,
        client_id=client_id,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8 << 20,
    )
    await consumer.start()
    try:
        partitions = {TopicPartition(topic, partition): operator for operator, topic in topics.items()}
        consumer.assign(list(partitions))
        ends = await consumer.end_offsets(list(partitions))
        await consumer.seek_to_beginning(*partitions)
        waiting = {each for each, end in ends.items() if end > 0}
        count = 0
        while waiting:
            for each, records in (await consumer.getmany(*waiting, timeout_ms=200)).items():
                count += len(records)
                _apply(program, partitions[each], records)
            # The position also moves over transaction markers and compacted records, which bring no record.
            waiting = {each for each in waiting if await consumer.position(each) < ends[each]}
        program.restored()
        return count
    finally:
        await consumer.stop()


def _apply(program: Program, operator: str, records: list[object]) -> None:
    tables: dict[bytes, Table] = {
        name.partition("/")[2].encode(): table
        for name, table in program.tables.items()
        if name.partition("/")[0] == operator
    }
    for record in records:
        table_name, _, key = record.key.partition(_SEPARATOR)  # type: ignore[attr-defined]
        tables[table_name].restore(key, record.value)  # type: ignore[attr-defined]
