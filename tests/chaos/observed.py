"""What is on the broker: the records of topics, as a reader of committed records or of all records sees them."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from services.registry.snapshot import TIMEOUT_S, read_to_end

Committed = Mapping[tuple[str, int], tuple[int, str]]
"""By topic and partition: the committed offset and its metadata."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record, with the attributes by which a host's inputs read it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes
    timestamp: int
    headers: list[tuple[str, bytes | None]]


class Observer:
    """Reads on one cluster; whatever it does, the flows do not notice."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def rows(self, topic: str, *, committed: bool = True) -> list[Row]:
        """All records of a topic; those of a partition are in order."""
        with closing(self._consumer(committed=committed)) as consumer:
            rows = [
                Row(
                    record.partition() or 0,
                    record.offset() or 0,
                    record.key(),
                    record.value(),
                    record.timestamp()[1],
                    record.headers() or [],
                )
                for record in read_to_end(consumer, self._all_of(consumer, topic))
            ]
        return sorted(rows, key=lambda row: (row.partition, row.offset))

    def committed(self, group: str) -> Committed:
        """What a group has committed. (By aiokafka: confluent-kafka reads past the end of the metadata.)"""

        async def ask() -> Committed:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
            await admin.start()
            try:
                found = await admin.list_consumer_group_offsets(group)
            finally:
                await admin.close()
            return {at: (each.offset, each.metadata) for at, each in found.items() if each.offset >= 0}

        return asyncio.run(ask())

    def has_open_transaction(self, topic: str) -> bool:
        """Whether readers of committed records can't yet see to the end of a topic."""
        with closing(self._consumer()) as consumer:
            asked = {at: OffsetSpec.latest() for at in self._all_of(consumer, topic)}
        stable, ends = (
            [
                future.result(TIMEOUT_S).offset
                for future in self._admin.list_offsets(asked, isolation_level=level).values()
            ]
            for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
        )
        return stable != ends

    def _consumer(self, *, committed: bool = True) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "chaos",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "fetch.wait.max.ms": 100,
                "log_level": 0,
            }
        )

    @staticmethod
    def _all_of(consumer: Consumer, topic: str) -> list[TopicPartition]:
        partitions = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions
        return [TopicPartition(topic, each) for each in sorted(partitions)]
