"""What a batch is multiplied to is written piece by piece."""

import asyncio
from types import SimpleNamespace
from typing import Any

from services.host.segment_plan import plan_segment
from services.host.task import Task, TaskContext
from services.operators.slices import ROWS_MAX
from topics.flow.file import parse_graph

TEXT = """
flow: shop
sources:
  orders: {topic: orders}
operators:
  items: {op: flat_map, input: orders, each: items, into: item}
sinks:
  out: {input: items, topic: results}
"""


class Broker:
    """Stands for a Writer: counts the records of each write."""

    def __init__(self) -> None:
        self.writes: list[int] = []

    async def write(self, _topic: str, _partition: int, _keys: Any, values: list[bytes], _times: Any) -> None:
        self.writes.append(len(values))


def test_no_write_holds_more_than_a_piece() -> None:
    """One fetch of records that become many each must fit into memory. Those of one fetch are one batch all the same:
    what could not be read of it is one dead letter."""

    async def story() -> None:
        graph = parse_graph(TEXT)
        plan = plan_segment(graph, graph.segments[0].id, {"orders": 1, "results": 1})
        writer: Any = Broker()
        task = Task(plan, 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=writer)
        value = b'{"items": [%s]}' % b",".join([b"1"] * 500)
        common = {"timestamp": 0, "key": None, "headers": ()}
        records: Any = [SimpleNamespace(offset=k, value=value if k else b"{", **common) for k in range(101)]
        await task._process("orders", records)
        assert 100 * 500 == sum(writer.writes)
        assert 2 * ROWS_MAX >= max(writer.writes)
        assert 1 == task.meter.dead_letters
        (row,) = task.meter.report("a", 7, lag=0, state_bytes=0, bytes_out=0)
        assert (100, 50_000, 100) == (row.arrivals, row.outputs, row.service_us.count)

    asyncio.run(story())
