"""What a host talks to, played by small classes that a test looks into."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka import TopicPartition

from topics.topic import Topic

LANDED = 40
"""Where the first batch of each topic begins, less one."""


@dataclass(frozen=True)
class Written:
    """What one write brought."""

    topic: str
    values: Sequence[bytes]
    times: Sequence[int]


class Broker:
    """Stands for a Writer, to a broker that answers when the test says so."""

    bytes_written = 0
    open_s: float | None = None

    def __init__(self) -> None:
        self.writes: list[Written] = []
        self.answers: list[asyncio.Future[None]] = []
        self.commits: list[list[Written]] = []
        """What had been written by each commit, all of it."""
        self.offsets: list[Mapping[TopicPartition, tuple[int, str]]] = []
        """Of the inputs, with each commit."""

    async def write(
        self, topic: str, _partition: int, _keys: Any, values: Any, times: Any, **_more: Any
    ) -> asyncio.Future[None]:
        self.writes.append(Written(topic, values, times))
        self.answers.append(asyncio.Future())
        return self.answers[-1]

    def send_now(self) -> None:
        return

    async def commit(self, _group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> dict[str, int]:
        self.commits.append([*self.writes])
        self.offsets.append(offsets)
        return {topic: LANDED + count for topic, count in Counter(each.topic for each in self.writes).items()}


class Fetched:
    """Stands for a BlockConsumer on partitions that hold these records, from offset 0 on."""

    def __init__(self, held: Mapping[TopicPartition, list[Any]]) -> None:
        self._held = held
        self._positions = dict.fromkeys(held, 0)

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        return

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._positions = dict.fromkeys(partitions, 0)

    def seek(self, at: TopicPartition, offset: int) -> None:
        self._positions[at] = offset

    async def position(self, at: TopicPartition) -> int:
        return self._positions[at]

    async def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    async def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {at: len(self._held[at]) for at in partitions}

    async def getmany(self, *, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        await asyncio.sleep(0)
        got = {at: self._held[at][position:] for at, position in self._positions.items()}
        self._positions = {at: max(position, len(self._held[at])) for at, position in self._positions.items()}
        return {at: records for at, records in got.items() if records}


class Publisher:
    """Keeps what it is given, by topic."""

    def __init__(self) -> None:
        self.sent: dict[str, list[Any]] = {}

    async def send(self, topic: Topic[Any], messages: Sequence[Any], *, now_ms: int) -> None:
        self.sent.setdefault(topic.name, []).extend(messages)
