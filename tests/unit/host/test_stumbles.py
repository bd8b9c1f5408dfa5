"""What goes wrong in a segment's own background work is seen, and does not leave its tasks without input or time."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from services.host import segment as under_test
from services.host import unending
from services.host.fetch import Block
from services.host.seat import Seat
from services.host.segment import Segment
from services.host.task_context import TaskContext
from services.process.ending import end

PATIENCE_S = 5.0


class Consumer:
    """Brings an empty block at every look."""

    async def start(self) -> None:
        return

    def pace(self, **_ages: int) -> None:
        return

    async def blocks(self, _wanted: object, *, timeout_ms: int) -> dict[TopicPartition, Any]:
        await asyncio.sleep(0.01)
        return {TopicPartition("orders", 0): Block()}


class Task:
    """Trips once, over its first block or its first tick."""

    has_room, rests = True, False

    def __init__(self, trips_at: str) -> None:
        self.calls = {"fetched": 0, "tick": 0}
        self.failed: list[Exception] = []
        self.positions: dict[TopicPartition, int] = {}
        self._trips_at = trips_at

    def fetched(self, _input_name: str, _records: object) -> None:
        self._called("fetched")

    def tick(self, *, is_listening: bool, unread: object) -> None:
        self._called("tick")

    def _called(self, name: str) -> None:
        self.calls[name] += 1
        if name == self._trips_at and self.calls[name] == 1:
            raise ZeroDivisionError(name)

    def fail(self, error: Exception) -> None:
        self.failed.append(error)


@pytest.mark.parametrize("trips_at", ["fetched", "tick"])
def test_a_segment_that_stumbles_tells_its_tasks_and_goes_on(trips_at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed that had ended would be a standstill under the state `running`, for ever."""
    monkeypatch.setattr(under_test, "TICK_S", 0.01)
    monkeypatch.setattr(unending, "AGAIN_S", 0.01)

    async def nothing(*_: object) -> None:
        return

    async def story() -> None:
        segment, task = object.__new__(Segment), Task(trips_at)
        segment.__dict__ |= {
            "seats": {0: Seat(0, 1, task=task)},  # type: ignore[arg-type]
            "assignments": 0,
            "_context": TaskContext("127.0.0.1:1"),
            "_names": {"orders": "orders"},
            "_consumer": Consumer(),
            "_app": SimpleNamespace(begin=nothing, put=nothing),
            "_is_listening": lambda _task, _unread: True,
        }
        await segment.begin()
        async with asyncio.timeout(PATIENCE_S):
            while task.calls[trips_at] < 3:
                await asyncio.sleep(0.01)
        await end(segment._background)
        assert [trips_at] == [str(error) for error in task.failed]

    asyncio.run(story())
