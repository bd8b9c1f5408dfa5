"""What a host asks the cluster and makes on it, in threads: the admin client blocks."""

import asyncio
from collections.abc import Sequence

from confluent_kafka import KafkaException

from topics.admin import ClusterError, Difference, connect, ensure
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
