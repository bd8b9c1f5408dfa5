"""How large the state of an operator is, as `stigmergy top` tells it and the memory limit of a host judges by it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from services.host.disk import DiskState
from services.host.segment_plan import plan_segment
from services.host.state_sizes import StateSizes
from services.host.task import Task
from services.host.task_context import TaskContext
from services.operators.program import Program
from services.operators.wiring import segment_program
from topics.flow.file import parse_graph

GRAPH = parse_graph("""
flow: shop
sources: {orders: {topic: orders, key: user}}
operators:
  fresh: {op: dedupe, input: orders, by: [user], within: 1h}
  counts: {op: aggregate, input: fresh, by: [user], window: {size: 1h}, emit: {n: count()}}
sinks: {out: {input: counts, topic: results}}
""")
KEYS = 100


@pytest.fixture
def program() -> Program:
    return segment_program(GRAPH, GRAPH.segments[0])


def fill(program: Program, *, value: str) -> list[str]:
    """Entries in some table of the one operator, as if they had been restored; the names of its tables."""
    names = [name for name in program.tables if name.startswith("fresh/")]
    program.tables[names[0]].restore({f"key-{n:03}": value for n in range(KEYS)})
    return names


def test_what_was_restored_has_its_size_at_once(program: Program) -> None:
    """A host that is started again near its limit must know which of its partitions is the largest."""
    fill(program, value="x" * 92)
    sizes = StateSizes(program)
    assert {"counts": 0, "fresh": 0} == sizes.by_operator
    sizes.restored()
    assert {"counts": 0, "fresh": KEYS * 102} == sizes.by_operator  # 8 for a key, 94 for a value
    assert KEYS * 102 == sizes.resident_bytes


def test_what_changes_tells_its_size_and_what_goes_tells_none(program: Program) -> None:
    """When a window closes, its entries are only keys: those that stay would seem as small."""
    (name, *_) = fill(program, value="")
    sizes = StateSizes(program)
    sizes.restored()
    table = program.tables[name]
    for n in range(KEYS):
        table.put(f"key-{n:03}", "x" * 92)
    sizes.changing()
    assert KEYS * 102 == sizes.by_operator["fresh"]
    table.drain()
    for n in range(1, KEYS):
        table.remove(f"key-{n:03}")
    sizes.changing()
    assert 102 == sizes.by_operator["fresh"]


def test_what_is_on_disk_is_not_in_memory(program: Program, tmp_path: Path) -> None:
    """Else the memory limit would park what takes none."""
    state = DiskState(program, tmp_path / "state")
    (name, *_) = program.disk_tables
    program.tables[name].restore({f"key-{n:03}": "x" * 92 for n in range(KEYS)})
    sizes = StateSizes(program)
    sizes.restored()
    assert KEYS * 102 == sizes.by_operator[name.partition("/")[0]]
    assert 0 == sizes.resident_bytes
    state.close()


def test_a_task_tells_its_state_when_it_has_recovered(record: Any, broker: Any) -> None:
    """Nothing need change for that: some flows hear nothing for hours."""

    async def story() -> None:
        plan = plan_segment(GRAPH, GRAPH.segments[0].id, {"orders": 1, "results": 1})
        task = Task(plan, 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=broker)
        fill(task._program, value="x" * 92)
        task._progress.restored(dict.fromkeys(task._memory.changelogs, 0))
        (row,) = task.report("a", 7, lag=0)
        assert ("fresh", KEYS * 102) == (row.operator, row.state_bytes)
        assert KEYS * 102 == task.resident_bytes

    asyncio.run(story())


def test_a_memory_that_is_still_read_is_weighed_as_far_as_it_is() -> None:
    """A standby, or a task before it runs, may be what fills the host."""
    plan = plan_segment(GRAPH, GRAPH.segments[0].id, {"orders": 1, "results": 1})
    memory = TaskContext("127.0.0.1:1").memory(plan, 0)
    fill(memory.program, value="x" * 92)
    assert KEYS * 102 == memory.resident_bytes
