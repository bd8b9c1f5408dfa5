"""Tail: reads shared topics from a moment ago on, for ever, without a consumer group. What it misses is gone."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from topics.errors import MessageError
from topics.messages import Message
from topics.topic import Topic

log = structlog.get_logger(__name__)

PAUSE_S = 1.0
BUNCH_BYTES, BUNCH_MS = 2**20, 500
"""So many bytes, or so long: every host writes a row each second and every host reads all of them, which one by one are
as many fetches as the square of the hosts."""

OnRow = Callable[[Message, float], None]
"""Called with each message and its time on the topic."""


class Tail:
    """`run` until cancelled. `garbage` counts what was no valid message."""

    def __init__(
        self,
        bootstrap: str,
        topics: Sequence[Topic[Any]],
        *,
        client_id: str,
        back_ms: float,
        on_row: OnRow,
        bunch_bytes: int = BUNCH_BYTES,
    ) -> None:
        self.garbage = 0
        self._bunch_bytes = bunch_bytes
        self._bootstrap = bootstrap
        self._topics = {topic.name: topic for topic in topics}
        self._client_id = client_id
        self._back_ms = back_ms
        self._on_row = on_row

    async def run(self, *, now_ms: Callable[[], float]) -> None:
        """Reads what was written `back_ms` ago and later; begins anew from there when the cluster fails it."""
        while True:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self._bootstrap,
                client_id=self._client_id,
                enable_auto_commit=False,
                auto_offset_reset="latest",
                fetch_min_bytes=self._bunch_bytes,
                fetch_max_wait_ms=BUNCH_MS,
                retry_backoff_ms=50,
                metadata_max_age_ms=5_000,
                request_timeout_ms=10_000,
            )
            try:
                await consumer.start()
                await self._read(consumer, now_ms() - self._back_ms)
            except KafkaError as error:
                log.warning("a topic can't be read; trying again", topics=sorted(self._topics), error=repr(error))
                await asyncio.sleep(PAUSE_S)
            finally:
                await consumer.stop()

    async def _read(self, consumer: AIOKafkaConsumer, since_ms: float) -> None:
        partitions = [
            TopicPartition(name, number)
            for name, topic in self._topics.items()
            for number in range(topic.declare().partitions)
        ]
        consumer.assign(partitions)
        found = await consumer.offsets_for_times(dict.fromkeys(partitions, max(0, int(since_ms))))
        for at, place in found.items():
            if place is not None:
                consumer.seek(at, place.offset)
            else:
                await consumer.seek_to_end(at)
        while True:
            for at, records in (await consumer.getmany(timeout_ms=1_000)).items():
                for record in records:
                    self._take(at, record)

    def _take(self, at: TopicPartition, record: Any) -> None:
        topic = self._topics[at.topic]
        try:
            row = topic.codec.decode(record.value, topic=at.topic, partition=at.partition, offset=record.offset)
        except MessageError:
            self.garbage += 1
            return
        self._on_row(row, float(record.timestamp))
