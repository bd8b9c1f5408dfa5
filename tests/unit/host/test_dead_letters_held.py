"""Dead letters wait in memory for their commit, so there may only be so many of them."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition

from services.host import task as task_module
from services.host.fetch import Block
from services.host.segment_plan import plan_segment
from services.host.task import Task, TaskContext
from topics.flow.file import parse_graph

TEXT = """
flow: shop
park_after: 100000
sources:
  orders: {topic: orders}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: results}
"""
AT = TopicPartition("orders", 0)
DEAD = "stig.flow.shop.dead-letters"


class Broker:
    """Stands for a Writer: counts what each commit brings, by topic."""

    bytes_written = 0

    def __init__(self) -> None:
        self.open: dict[str, int] = {}
        self.commits: list[dict[str, int]] = []

    async def write(self, topic: str, _partition: int, _keys: Any, values: list[bytes], _times: Any) -> None:
        self.open[topic] = self.open.get(topic, 0) + len(values)

    async def commit(self, _group: str, _offsets: Mapping[TopicPartition, tuple[int, str]]) -> dict[str, int]:
        self.commits.append(self.open)
        self.open = {}
        return {}


def _poison(offset: int) -> SimpleNamespace:
    return SimpleNamespace(offset=offset, timestamp=0, key=None, value=b"{", headers=())


async def _nothing_committed(_partitions: list[TopicPartition]) -> dict[TopicPartition, tuple[int, str]]:
    return {AT: (0, "")}


def test_a_flood_of_dead_letters_is_committed_before_it_fills_the_memory(monkeypatch: Any) -> None:
    """Where commits are rare, seconds of poison input would be held as dead letters, each larger than its record."""
    monkeypatch.setattr(task_module, "DEAD_LETTERS_BYTES_MAX", 10_000)

    async def story() -> None:
        broker: Any = Broker()
        graph = parse_graph(TEXT)
        plan = plan_segment(graph, graph.segments[0].id, {"orders": 1, "results": 1})
        task = Task(plan, 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=broker)
        await task.recover(_nothing_committed)
        task._commit_times._shortest_s = 3_600.0
        running = asyncio.create_task(task.run())
        for first in range(0, 300, 100):
            task.take(task.fetched("orders", Block(_poison(offset) for offset in range(first, first + 100))))
            async with asyncio.timeout(10):
                while task._inputs.by_name["orders"].next_offset < first + 100:
                    await asyncio.sleep(0)
        committed = sum(each.get(DEAD, 0) for each in broker.commits)
        task.stop()
        await running
        assert 200 <= committed
        assert 300 == sum(each.get(DEAD, 0) for each in broker.commits)

    asyncio.run(story())
