"""What a host tells: registration, statuses and metrics, sent as whole batches by one plain producer.

Reports are advice, never data: one that can't be sent is dropped and counted, and a newer one follows. So nothing here
waits long or grows.
"""

from collections.abc import Sequence
from typing import Any

import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.partitioner import murmur2
from aiokafka.structs import RecordMetadata

from topics.errors import MessageError
from topics.messages import Message
from topics.topic import Topic

log = structlog.get_logger(__name__)


class Publisher:
    """`start`, then `send` any number of times, then `stop`. `dropped`: messages that could not be sent."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        self.dropped = 0
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            client_id=client_id,
            acks="all",
            linger_ms=0,
            request_timeout_ms=5_000,
            retry_backoff_ms=50,
            max_batch_size=900_000,
            metadata_max_age_ms=5_000,
        )

    async def start(self) -> None:
        await self._producer.start()

    async def stop(self) -> None:
        await self._producer.stop()

    async def send(self, topic: Topic[Any], messages: Sequence[Message], *, now_ms: int) -> RecordMetadata | None:
        """Sends messages that share a key's partition. Where the last batch landed, or None if it did not."""
        if not messages:
            return None
        metadata = None
        try:
            partition = await self._partition(topic, topic.key_of(messages[0]))
            batch, count = self._producer.create_batch(), 0
            for message in messages:
                key, value = topic.key_of(message), topic.codec.encode(message, topic=topic.name)
                if batch.append(key=key, value=value, timestamp=now_ms) is None:
                    metadata = await self._deliver(batch, topic.name, partition)
                    batch, count = self._producer.create_batch(), 0
                    batch.append(key=key, value=value, timestamp=now_ms)
                count += 1
            if count:
                metadata = await self._deliver(batch, topic.name, partition)
        except (KafkaError, MessageError) as error:
            self.dropped += len(messages)
            log.warning("a report was dropped", topic=topic.name, error=repr(error))
            return None
        return metadata

    async def _deliver(self, batch: Any, topic: str, partition: int) -> RecordMetadata:
        return await (await self._producer.send_batch(batch, topic, partition=partition))

    async def _partition(self, topic: Topic[Any], key: bytes | None) -> int:
        count = len(await self._producer.partitions_for(topic.name))
        return (murmur2(key or b"") & 0x7FFFFFFF) % count
