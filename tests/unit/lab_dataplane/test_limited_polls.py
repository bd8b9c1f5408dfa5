"""The host with limited polls must read everything, in order, or the cost of a batch is that of another workload."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from aiokafka import TopicPartition

from services.host.fetch import BlockConsumer
from services.lab.dataplane.sides.limited_host import limit_polls

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass(frozen=True)
class Fetched:
    """A record."""

    offset: int
    value: bytes = b"v"


class Fetches(BlockConsumer):
    """A consumer with two fetches to give, and no broker."""

    def __init__(self) -> None:
        self.left: list[dict[TopicPartition, list[Fetched]]] = [
            {ONE: [Fetched(1), Fetched(2), Fetched(3)], OTHER: [Fetched(7)]},
            {ONE: [Fetched(4)]},
        ]

    def __del__(self) -> None:
        """There is nothing to close."""


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Fetches:
    """Polls bring two records of a partition at most."""

    async def blocks(self: Fetches, _wanted: Any, **_options: Any) -> dict[TopicPartition, list[Fetched]]:
        return self.left.pop(0) if self.left else {}

    monkeypatch.setattr(BlockConsumer, "blocks", blocks)
    monkeypatch.setattr(BlockConsumer, "assign", lambda self, partitions: None)
    limit_polls(2)
    return Fetches()


def offsets(polled: Mapping[TopicPartition, list[Any]]) -> dict[TopicPartition, list[int]]:
    return {at: [record.offset for record in block] for at, block in polled.items()}


def test_a_fetch_comes_out_in_order_a_few_records_at_a_time(consumer: Fetches) -> None:
    """Nothing is lost between two polls."""

    async def polls() -> list[dict[TopicPartition, list[int]]]:
        return [offsets(await consumer.blocks({ONE, OTHER}, timeout_ms=0)) for _ in range(4)]

    assert [{ONE: [1, 2], OTHER: [7]}, {ONE: [3]}, {ONE: [4]}, {}] == asyncio.run(polls())


def test_what_waits_for_a_former_assignment_is_dropped(consumer: Fetches) -> None:
    """It is fetched again from where the new task stands; else it would come twice."""

    async def polls() -> list[dict[TopicPartition, list[int]]]:
        first = await consumer.blocks({ONE}, timeout_ms=0)
        consumer.assign([ONE])
        return [offsets(first), offsets(await consumer.blocks({ONE}, timeout_ms=0))]

    assert [{ONE: [1, 2]}, {ONE: [4]}] == asyncio.run(polls())
