"""The latency of a result is told when it can be read, not when it has left the task."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from services.host.segment_plan import plan_segment
from services.host.task import Task, TaskContext
from topics.flow.file import parse_graph
from topics.messages import OperatorMetrics

TEXT = """
flow: shop
sources:
  orders: {topic: orders}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: results, key: user}
"""
BORN_MS, NOW_MS = 1_700_000_000_000, 1_700_000_000_030
CONTEXT = TaskContext("127.0.0.1:1", now_ms=lambda: NOW_MS + 300, broker_ms=lambda: NOW_MS)
"""A host whose clock is ahead: what it measures is told by the broker's."""


class Broker:
    """Stands for a Writer, to a broker that answers when the test says so."""

    def __init__(self) -> None:
        self.answers: list[asyncio.Future[None]] = []
        self.bytes_written = 0

    async def write(self, *_: Any, **__: Any) -> asyncio.Future[None]:
        self.answers.append(asyncio.Future())
        return self.answers[-1]

    async def commit(self, *_: Any) -> dict[str, int]:
        return {}


def reported(task: Task) -> OperatorMetrics:
    (row,) = task.report("a", 7, lag=0)
    return row


@pytest.mark.parametrize("partitions", [1, 8])
def test_a_result_counts_when_the_broker_has_answered_for_it(partitions: int) -> None:
    """What it waits for before belongs to it; a record that gives no result has no latency."""

    async def story() -> None:
        graph = parse_graph(TEXT)
        plan = plan_segment(graph, graph.segments[0].id, {"orders": 1, "results": partitions})
        writer: Any = Broker()
        task = Task(plan, 0, 3, CONTEXT, on_room=lambda: None, writer=writer)

        async def process(first: int, *values: bytes) -> None:
            common = {"timestamp": BORN_MS, "key": None, "headers": ()}
            records = [SimpleNamespace(offset=first + k, value=value, **common) for k, value in enumerate(values)]
            await task._process("orders", records)  # type: ignore[arg-type]

        await process(0, b'{"size": 1, "user": "a"}')
        assert reported(task).latency_ms is None
        await process(1, *(b'{"size": 3, "user": "u%d"}' % k for k in range(20)))
        assert reported(task).latency_ms is None
        for answer in writer.answers:
            answer.set_result(None)
        await asyncio.sleep(0)
        await process(21, b'{"size": 3, "user": "a"}')
        written = reported(task).latency_ms
        assert written is not None
        assert (1, 30.0) == (written.count, written.min)

    asyncio.run(story())


@pytest.mark.parametrize(("delivery", "told"), [("at_least_once", [1, 0]), ("exactly_once", [0, 1])])
def test_exactly_once_a_result_counts_when_it_is_committed(delivery: str, told: list[int]) -> None:
    """Before that its reader sees nothing of it, and half of the commit interval may be most of its latency."""

    async def story() -> None:
        graph = parse_graph(TEXT + f"delivery: {delivery}\n")
        plan = plan_segment(graph, graph.segments[0].id, {"orders": 1, "results": 1})
        writer: Any = Broker()
        task = Task(plan, 0, 3, CONTEXT, on_room=lambda: None, writer=writer)
        value = b'{"size": 3, "user": "a"}'
        record: Any = SimpleNamespace(offset=0, value=value, timestamp=BORN_MS, key=None, headers=())
        await task._process("orders", [record])
        writer.answers[0].set_result(None)
        await asyncio.sleep(0)
        written = reported(task).latency_ms
        await task._commit()
        task.meter.probe("large", 1, 1)  # a row tells it
        committed = reported(task).latency_ms
        assert told == [each.count if each is not None else 0 for each in (written, committed)]

    asyncio.run(story())
