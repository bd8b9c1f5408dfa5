"""What the feed of a segment fetches counts with what all tasks of the host have under way."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition

from services.host.ahead import Ahead
from services.host.fetch import Block
from services.host.seat import Seat
from services.host.segment import Segment
from services.host.task import Task
from services.host.task_context import TaskContext

BLOCK_BYTES = 300_000


class Consumer:
    """Has a block whenever its task has room."""

    fetches = 0

    def __init__(self, at: TopicPartition, record: Any) -> None:
        self._at, self._record = at, record

    async def blocks(self, wanted: Any, *, timeout_ms: int) -> dict[TopicPartition, Block]:
        await asyncio.sleep(0)
        if self._at not in wanted:
            return {}
        self.fetches += 1
        block = Block([self._record(self.fetches, b"{}")])
        block.size_bytes = BLOCK_BYTES
        return {self._at: block}


async def turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def test_a_full_host_fetches_one_block_after_the_other_for_each_task(
    plan: Any, record: Any, broker: Any, tmp_path: Path
) -> None:
    """When the block is processed the feed hears that there is room again, and when the task ends it counts no more."""

    async def story() -> None:
        ahead = Ahead(BLOCK_BYTES)
        context = TaskContext("127.0.0.1:1", ahead=ahead)
        segment = Segment(plan(), context, data_folder=tmp_path, on_state=lambda *_: None)
        task = Task(segment.plan, 0, 3, context, on_room=segment._room.set, writer=broker)
        (at,) = task.positions
        unused, consumer = segment._consumer, Consumer(at, record)
        segment._consumer = consumer  # type: ignore[assignment]
        taken: list[Any] = []

        async def put(block: Any) -> None:
            taken.append(block)

        segment._app = SimpleNamespace(put=put)  # type: ignore[assignment]
        segment.seats[0] = Seat(0, 3, task=task)
        feeding = asyncio.create_task(segment._feed())
        await turns()
        assert (1, BLOCK_BYTES) == (consumer.fetches, ahead.bytes)
        task._done([taken[0]])
        await turns()
        assert (2, BLOCK_BYTES) == (consumer.fetches, ahead.bytes)
        feeding.cancel()
        task._inbox.close()
        assert 0 == ahead.bytes
        await unused.stop()

    asyncio.run(asyncio.wait_for(story(), timeout=20))
