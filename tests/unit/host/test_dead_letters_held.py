"""Dead letters wait in memory for their commit, but only so many of them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aiokafka import TopicPartition

from services.host import dead_letters
from services.host.dead_letters import DeadLetters
from services.host.fetch import Block
from services.host.streaks import FailsOnEverythingError
from services.operators.failure import Failure
from topics.messages import Origin

AT = TopicPartition("orders", 0)
DEAD = "stig.flow.shop.dead-letters"


def _letters(writes: list[Any]) -> list[int]:
    """How many dead letters each of these writes brought, if any."""
    return [len(each.values) for each in writes if each.topic == DEAD]


async def _nothing_committed(_partitions: list[TopicPartition]) -> dict[TopicPartition, tuple[int, str]]:
    return {AT: (0, "")}


def test_a_flood_of_dead_letters_is_written_before_it_fills_the_memory(
    monkeypatch: Any, task: Any, record: Any, broker: Any
) -> None:
    """One fetch of tiny poison records makes a hundred thousand of them, each far larger than its record. They need no
    commit of their own: a flood must not make as many of these."""
    monkeypatch.setattr(dead_letters, "HELD_BYTES_MAX", 10_000)

    async def story() -> None:
        running = task(more="park_after: 100000")
        await running.recover(_nothing_committed)
        running._commit_times._shortest_s = 3_600.0
        course = asyncio.create_task(running.run())
        records = [record(offset, b"{" if offset != 150 else b'{"size": 3}') for offset in range(301)]
        running.take(running.fetched("orders", Block(records)))
        async with asyncio.timeout(10):
            while running._inputs.by_name["orders"].next_offset < 301:
                await asyncio.sleep(0)
        assert 200 <= sum(_letters(broker.writes))
        assert 40 >= max(_letters(broker.writes))
        assert not any(map(_letters, broker.commits))
        running.stop()
        await course
        assert 300 == sum(_letters(broker.commits[-1]))

    asyncio.run(story())


@pytest.mark.parametrize(
    ("is_slow", "fails_always", "holds"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_only_a_slow_function_that_fails_on_everything_holds_its_letters(
    monkeypatch: Any, task: Any, record: Any, broker: Any, *, is_slow: bool, fails_always: bool, holds: bool
) -> None:
    """One that fails now and then would fill the memory, and one that is quick keeps no transaction open for long."""
    monkeypatch.setattr(dead_letters, "HELD_BYTES_MAX", 1_000)
    values = [b"{"] * 100 if fails_always else [b"{", b'{"size": 3}'] * 50

    async def story() -> None:
        running = task(more="park_after: 100000")
        with ThreadPoolExecutor(1) as thread:
            running._thread = thread if is_slow else None
            await running._process("orders", [record(offset, value) for offset, value in enumerate(values)])
        assert holds == (not _letters(broker.writes))

    asyncio.run(story())


def test_while_a_slow_function_fails_on_everything_no_transaction_is_opened_for_its_letters(monkeypatch: Any) -> None:
    """It would grow too old before the function's portions are done, and the broker would give it up."""
    monkeypatch.setattr(dead_letters, "HELD_BYTES_MAX", 10_000)
    written: list[int] = []

    class Outputs:
        async def write_entries(self, entries: list[Any], _now_ms: int) -> None:
            written.append(len(entries))

    async def story() -> None:
        outputs: Any = Outputs()
        letters = DeadLetters("shop", outputs)
        failures = [Failure("slow", offset, "KeyError: 'size'", {}) for offset in range(100)]
        await letters.add(failures, Origin("orders", 0, 0), {}, now_ms=0, may_write=False)
        assert [] == written
        await letters.write(0)
        assert [100] == written

    asyncio.run(story())


def test_letters_of_a_try_that_failed_are_not_counted(task: Any, record: Any) -> None:
    """None was written, and the next try finds the same records: the count would grow with every try."""

    async def story() -> None:
        running = task(more="park_after: 20")
        await running._process("orders", [record(offset, b"{") for offset in range(15)])
        with pytest.raises(FailsOnEverythingError):
            await running._process("orders", [record(offset, b"{") for offset in range(15, 30)])
        assert [0] == [row.dead_letters for row in running.report("a", 7, lag=3)]

    asyncio.run(story())
