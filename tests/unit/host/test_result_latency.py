"""The latency of a result is told when it can be read, not when it has left the task."""

import asyncio
from typing import Any

import pytest

from services.host.task import Task
from services.host.task_context import TaskContext
from topics.messages import OperatorMetrics

BORN_MS, NOW_MS = 1_700_000_000_000, 1_700_000_000_030
CONTEXT = TaskContext("127.0.0.1:1", now_ms=lambda: NOW_MS + 300, broker_ms=lambda: NOW_MS)
"""A host whose clock is ahead: what it measures is told by the broker's."""


def reported(task: Task) -> OperatorMetrics:
    (row,) = task.report("a", 7, lag=0)
    return row


@pytest.mark.parametrize("partitions", [1, 8])
def test_a_result_counts_when_the_broker_has_answered_for_it(
    task: Any, record: Any, broker: Any, partitions: int
) -> None:
    """What it waits for before belongs to it; a record that gives no result has no latency."""

    async def story() -> None:
        running = task(context=CONTEXT, partitions=partitions)

        async def process(first: int, *values: bytes) -> None:
            await running._process("orders", [record(first + k, value, BORN_MS) for k, value in enumerate(values)])

        await process(0, b'{"size": 1, "user": "a"}')
        assert reported(running).latency_ms is None
        await process(1, *(b'{"size": 3, "user": "u%d"}' % k for k in range(20)))
        assert reported(running).latency_ms is None
        for answer in broker.answers:
            answer.set_result(None)
        await asyncio.sleep(0)
        await process(21, b'{"size": 3, "user": "a"}')
        written = reported(running).latency_ms
        assert written is not None
        assert (1, 30.0) == (written.count, written.min)

    asyncio.run(story())


@pytest.mark.parametrize(("delivery", "told"), [("at_least_once", [1, 0]), ("exactly_once", [0, 1])])
def test_exactly_once_a_result_counts_when_it_is_committed(
    task: Any, record: Any, broker: Any, delivery: str, told: list[int]
) -> None:
    """Before that its reader sees nothing of it, and half of the commit interval may be most of its latency."""

    async def story() -> None:
        running = task(context=CONTEXT, more=f"delivery: {delivery}")
        await running._process("orders", [record(0, b'{"size": 3, "user": "a"}', BORN_MS)])
        broker.answers[0].set_result(None)
        await asyncio.sleep(0)
        written = reported(running).latency_ms
        await running._commit()
        running.meter.probe("large", 1, 1)  # a row tells it
        committed = reported(running).latency_ms
        assert told == [each.count if each is not None else 0 for each in (written, committed)]

    asyncio.run(story())
