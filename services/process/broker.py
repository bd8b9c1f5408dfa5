"""What a host asks the cluster and makes on it, in threads: the admin client blocks."""

import asyncio
from collections.abc import Collection, Sequence

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from topics.admin import ClusterError, Difference, connect, ensure, message_bytes_max
from topics.topic import Declaration

TIMEOUT_S = 20.0


class Broker:
    """One admin client for all segments of a host."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = connect(bootstrap)

    async def partitions(self) -> dict[str, int]:
        """The partition count of every topic on the cluster. Raises ClusterError when no broker answers."""
        try:
            cluster = await asyncio.to_thread(self._admin.list_topics, timeout=TIMEOUT_S)
        except KafkaException as fault:
            raise ClusterError(f"no broker answered: {fault.args[0].str()}") from fault
        return {name: len(topic.partitions) for name, topic in cluster.topics.items() if topic.error is None}

    async def bytes_max(self, topics: Collection[str]) -> dict[str, int]:
        """The largest batch that each of these topics takes, without those that are not there or may not be asked.

        Raises ClusterError when no broker answers.
        """
        return await asyncio.to_thread(message_bytes_max, self._admin, sorted(topics), timeout_s=TIMEOUT_S)

    async def ensure(self, declarations: Sequence[Declaration]) -> tuple[Difference, ...]:
        """Makes the topics that are missing; how the others differ. Raises ClusterError."""
        return (await asyncio.to_thread(ensure, self._admin, declarations, timeout_s=TIMEOUT_S)).differences

    async def addresses(self) -> dict[int, tuple[str, int]]:
        """Where each broker is, as it tells clients of this host's region. Raises ClusterError when none answers."""
        try:
            cluster = await asyncio.to_thread(self._admin.list_topics, timeout=TIMEOUT_S)
        except KafkaException as fault:
            raise ClusterError(f"no broker answered: {fault.args[0].str()}") from fault
        return {number: (str(broker.host), broker.port) for number, broker in cluster.brokers.items()}

    async def are_whole(self, topics: Collection[str]) -> bool:
        """Whether all of these topics are there and have all that was ever written to them. Raises ClusterError."""
        counts = await self.partitions()
        if not set(topics) <= set(counts):
            return False
        return await asyncio.to_thread(self._begin_at_0, {topic: counts[topic] for topic in topics})

    def _begin_at_0(self, counts: dict[str, int]) -> bool:
        wanted = {
            TopicPartition(topic, each): OffsetSpec.earliest() for topic in counts for each in range(counts[topic])
        }
        try:
            asked = self._admin.list_offsets(wanted, request_timeout=TIMEOUT_S)
            return all(future.result().offset == 0 for future in asked.values())
        except KafkaException as fault:
            raise ClusterError(f"no broker told where topics begin: {fault.args[0].str()}") from fault
