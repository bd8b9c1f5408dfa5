"""Who leaves a partition first says so, and then clears away what it had: the next owner waits for the word."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import KafkaError

from services.host.seat import Seat
from services.host.segment import Segment
from services.host.task_context import TaskContext

TURNS = 20
"""More than it takes until a word has come from the publisher to the socket."""


class Leaving:
    """A task that has nothing to do but to end, and lets nobody else have a turn when it does."""

    landmarks = None
    unprocessed: dict[Any, int] = {}  # noqa: RUF012 - never written
    positions: dict[Any, int] = {}  # noqa: RUF012 - never written

    def __init__(self, said: asyncio.Event) -> None:
        self.closed_after_the_word: bool | None = None
        self._said = said

    def last_report(self, **_: Any) -> None: ...
    async def connect(self) -> None: ...
    async def fence(self) -> None: ...
    async def run(self) -> None: ...

    async def recover(self, _committed: object) -> int:
        return 0

    async def close(self) -> None:
        self.closed_after_the_word = self._said.is_set()


def test_the_word_leaves_before_anything_is_closed(plan: Any, tmp_path: Path) -> None:
    async def story() -> None:
        said, words = asyncio.Event(), []
        task = Leaving(said)

        async def say() -> None:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            said.set()

        def tell(_segment: Segment, seat: Seat) -> None:
            if seat.state == "stopped":
                words.append(asyncio.create_task(say()))

        segment = Segment(plan(), TaskContext("127.0.0.1:1"), data_folder=tmp_path, on_state=tell)
        segment._new_task = lambda _seat: task  # type: ignore[assignment, method-assign, return-value]
        segment._assign = lambda: None  # type: ignore[method-assign]
        seat = segment.seats[0] = Seat(0, 1)
        await asyncio.wait_for(segment._keep_running(seat), timeout=20)
        await segment._consumer.stop()
        assert task.closed_after_the_word

    asyncio.run(story())


def test_nobody_waits_for_processes_and_files_of_those_who_left(plan: Any) -> None:
    """The process of a user's function is killed and awaited, and a database on disk is closed and removed."""
    blocked_s = 0.3

    async def story() -> None:
        memory = TaskContext("127.0.0.1:1").memory(plan(), 0)
        memory.program.close = lambda: time.sleep(blocked_s)  # type: ignore[method-assign]
        discarding = asyncio.create_task(memory.discard())
        turns = 0
        while not discarding.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert turns > 3

    asyncio.run(story())


def test_a_partition_that_two_give_up_at_a_time_can_be_taken_again(plan: Any, tmp_path: Path) -> None:
    """The one that ends last must leave alone who sits there by then."""

    async def story() -> None:
        states: list[str] = []
        segment = Segment(
            plan(), TaskContext("127.0.0.1:1"), data_folder=tmp_path, on_state=lambda _, seat: states.append(seat.state)
        )
        discarding, may_go = asyncio.Event(), asyncio.Event()

        class Kept:
            async def close(self) -> None: ...
            async def stop(self) -> None: ...
            async def discard(self) -> None:
                discarding.set()
                await may_go.wait()

        kept: Any = Kept()
        first = segment.seats[0] = Seat(0, 1, memory=kept, writer=kept)
        first.running = asyncio.create_task(asyncio.sleep(0))
        slow = asyncio.create_task(segment.release(0))
        await discarding.wait()
        await segment.release(0)
        assert {} == segment.seats
        newcomer = segment.seats[0] = Seat(0, 2)
        may_go.set()
        await slow
        assert {0: newcomer} == segment.seats
        assert ["draining", "draining", "stopped"] == states
        await segment._consumer.stop()

    asyncio.run(asyncio.wait_for(story(), timeout=20))


def test_what_goes_wrong_with_one_partition_is_told_when_the_others_have_drained(plan: Any, tmp_path: Path) -> None:
    """Its tenant forgets the segment then; what still drained would be said to be drained."""

    async def story() -> None:
        segment = Segment(plan(), TaskContext("127.0.0.1:1"), data_folder=tmp_path, on_state=lambda *_: None)
        segment.seats = {0: Seat(0, 1), 1: Seat(1, 1)}
        given_up = []

        async def release(partition: int) -> None:
            if partition == 0:
                raise KafkaError("not now")
            for _ in range(TURNS):
                await asyncio.sleep(0)
            given_up.append(partition)

        segment.release = release  # type: ignore[method-assign]
        with pytest.raises(KafkaError, match="not now"):
            await asyncio.wait_for(segment.stop(), timeout=20)
        assert [1] == given_up

    asyncio.run(story())
