"""The offsets that a group has committed, asked so that an error is never taken for "nothing committed".

A broker that is loading the group, or has just lost it, answers with one error for the whole group and without
partitions. aiokafka (0.14) looks at the errors of partitions only and finds no offsets: a task would begin at the
beginning, and all its results would come again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, NoError, NotCoordinatorForGroupError, for_code
from aiokafka.protocol.commit import OffsetFetchRequest

RETRY_S = 0.1

Committed = Callable[[list[TopicPartition]], Awaitable[dict[TopicPartition, tuple[int, str]]]]
"""The committed offsets of partitions, with their metadata."""


async def committed_offsets(
    coordinator: Any, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, tuple[int, str]]:
    """Offset and metadata of each partition that has any. Waits for a coordinator that is not ready."""
    while True:
        await coordinator.ensure_coordinator_known()
        try:
            return await _ask(coordinator, partitions)
        except KafkaError as error:
            if not error.retriable:
                raise
            if isinstance(error, NotCoordinatorForGroupError):
                coordinator.coordinator_dead()
        await asyncio.sleep(RETRY_S)


async def _ask(coordinator: Any, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, tuple[int, str]]:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for at in partitions:
        by_topic[at.topic].append(at.partition)
    answer = await coordinator._send_req(OffsetFetchRequest(coordinator.group_id, list(by_topic.items())))
    _raise_unless_fine(answer.error_code)
    found = {}
    for topic, rows in answer.topics:
        for partition, offset, metadata, error_code in rows:
            _raise_unless_fine(error_code)
            found[TopicPartition(topic, partition)] = (offset, metadata)
    missing = set(partitions) - set(found)
    if missing:
        raise KafkaError(f"the broker said nothing of the committed offsets of {sorted(missing)}")
    return {at: each for at, each in found.items() if each[0] >= 0}


def _raise_unless_fine(error_code: int) -> None:
    kind = for_code(error_code)
    if kind is not NoError:
        raise kind()
