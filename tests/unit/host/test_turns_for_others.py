"""A close of many groups leaves the event loop to others now and then."""

import asyncio
from typing import Any

from services.host.changelog import ENTRIES_MAX
from services.host.segment_plan import plan_segment
from services.host.task import Task
from services.host.task_context import TaskContext
from services.operators.slices import ROWS_MAX
from topics.flow.file import parse_graph

GRAPH = parse_graph("""
flow: shop
sources: {orders: {topic: orders, key: user}}
operators:
  counts: {op: aggregate, input: orders, by: [user], window: {size: 1s}, emit: {n: count()}}
sinks: {out: {input: counts, topic: results}}
""")
PIECES = 5


def test_others_have_their_turn_between_the_pieces_of_a_close_and_of_its_changes(record: Any, broker: Any) -> None:
    """A host that says nothing for five seconds counts as dead, and its tasks are given to others."""
    assert ROWS_MAX == ENTRIES_MAX
    turns: list[int] = []

    async def other() -> None:
        while True:
            turns.append(len(broker.writes))
            await asyncio.sleep(0)

    async def story() -> None:
        plan = plan_segment(GRAPH, GRAPH.segments[0].id, {"orders": 1, "results": 1})
        task = Task(plan, 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=broker)
        for first in range(0, PIECES * ROWS_MAX, ROWS_MAX):
            values = [b'{"user": "u%d"}' % n for n in range(first, first + ROWS_MAX)]
            await task._process("orders", [record(first + i, value, 1) for i, value in enumerate(values)])
        beside = asyncio.create_task(other())
        await asyncio.sleep(0)
        await task._process("orders", [record(PIECES * ROWS_MAX, b'{"user": "late"}', 5_000)])
        assert [ROWS_MAX] * PIECES == [len(each.values) for each in broker.writes]
        assert set(range(1, PIECES)) <= set(turns)
        await task._progress._write_changes(0)
        assert [ROWS_MAX] * PIECES == [len(each.values) for each in broker.writes[PIECES:-1]]
        assert set(range(PIECES + 1, 2 * PIECES)) <= set(turns)
        beside.cancel()

    asyncio.run(story())
