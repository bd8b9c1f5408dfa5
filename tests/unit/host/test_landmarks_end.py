"""Landmarks are read to where their topic ends at first, however fast other tasks write to it."""

import asyncio
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition

from services.host.landmarks import _read_to_the_end

AT = TopicPartition("stig.flow.shop.landmarks", 0)


class BusyTopic:
    """Stands for a consumer: with each look ten more landmarks of others have come, and nine can be read."""

    def __init__(self) -> None:
        self.looks = 0
        self.next_offset = 0

    def highwater(self, _at: TopicPartition) -> int | None:
        return 30 + 10 * self.looks if self.looks else None

    async def position(self, _at: TopicPartition) -> int:
        return self.next_offset

    async def getmany(self, *, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        await asyncio.sleep(0)
        self.looks += 1
        begin, self.next_offset = self.next_offset, self.next_offset + 9
        names = [b"ours" if offset == 35 else b"other" for offset in range(begin, self.next_offset)]
        return {AT: [SimpleNamespace(key=name, offset=begin + i) for i, name in enumerate(names)]}


def test_the_end_is_that_of_the_first_look() -> None:
    """Tasks with much to remember write one with each commit: whoever recovers would read on until it is parked."""

    async def story() -> None:
        consumer: Any = BusyTopic()
        async with asyncio.timeout(5):
            newest = await _read_to_the_end(consumer, AT)
        assert 35 == newest[b"ours"].offset, "all is read that was there at first"
        assert consumer.looks < 10

    asyncio.run(story())
