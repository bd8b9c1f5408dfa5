"""Dead letters wait in memory for their commit, but only so many of them."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition

from services.host import dead_letters
from services.host.dead_letters import DeadLetters
from services.host.fetch import Block
from services.host.segment_plan import plan_segment
from services.host.task import Task, TaskContext
from services.operators.failure import Failure
from topics.flow.file import parse_graph
from topics.messages import Origin

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
    """Stands for a Writer: counts what each write and each commit brings, by topic."""

    bytes_written = 0

    def __init__(self) -> None:
        self.open: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.commits: list[dict[str, int]] = []

    async def write(self, topic: str, _partition: int, _keys: Any, values: list[bytes], _times: Any) -> None:
        self.open[topic] = self.open.get(topic, 0) + len(values)
        self.most[topic] = max(self.most.get(topic, 0), len(values))

    async def commit(self, _group: str, _offsets: Mapping[TopicPartition, tuple[int, str]]) -> dict[str, int]:
        self.commits.append(self.open)
        self.open = {}
        return {}


def _record(offset: int, value: bytes = b"{") -> SimpleNamespace:
    return SimpleNamespace(offset=offset, timestamp=0, key=None, value=value, headers=())


async def _nothing_committed(_partitions: list[TopicPartition]) -> dict[TopicPartition, tuple[int, str]]:
    return {AT: (0, "")}


def test_a_flood_of_dead_letters_is_written_before_it_fills_the_memory(monkeypatch: Any) -> None:
    """One fetch of tiny poison records makes a hundred thousand of them, each far larger than its record. They need no
    commit of their own: a flood must not make as many of these."""
    monkeypatch.setattr(dead_letters, "HELD_BYTES_MAX", 10_000)

    async def story() -> None:
        broker: Any = Broker()
        graph = parse_graph(TEXT)
        plan = plan_segment(graph, graph.segments[0].id, {"orders": 1, "results": 1})
        task = Task(plan, 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=broker)
        await task.recover(_nothing_committed)
        task._commit_times._shortest_s = 3_600.0
        running = asyncio.create_task(task.run())
        good = _record(150, b'{"size": 3}')
        poison = [_record(offset) for offset in range(301) if offset != 150]
        task.take(task.fetched("orders", Block([*poison[:150], good, *poison[150:]])))
        async with asyncio.timeout(10):
            while task._inputs.by_name["orders"].next_offset < 301:
                await asyncio.sleep(0)
        assert 200 <= broker.open[DEAD]
        assert 40 >= broker.most[DEAD]
        assert not any(DEAD in each for each in broker.commits)
        task.stop()
        await running
        assert [300] == [each[DEAD] for each in broker.commits if DEAD in each]

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
