"""A writer on the real broker: the partitions with which a transaction begins, whether it writes to them or not."""

import asyncio
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from confluent_kafka.admin import AdminClient

from services.host import writer as under_test
from services.host.writer import WriteError, Writer, WriterParams
from tests.waiting import until_async

TIMEOUT_S = 60.0


async def written(writer: Writer, *at: TopicPartition) -> None:
    for each in at:
        await writer.write(each.topic, each.partition, [None], [b"x"], [1])


async def committed(kafka: str, *partitions: TopicPartition) -> dict[TopicPartition, int]:
    """How many records a reader of committed ones finds, up to where each partition really ends."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=kafka,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    await consumer.start()
    try:
        consumer.assign(partitions)
        counts = dict.fromkeys(partitions, 0)
        async with asyncio.timeout(TIMEOUT_S):
            while any([(consumer.highwater(at) or 1) > await consumer.position(at) for at in partitions]):
                for at, records in (await consumer.getmany(timeout_ms=100)).items():
                    counts[at] += len(records)
        return counts
    finally:
        await consumer.stop()


def test_a_partition_that_was_asked_for_in_vain_hinders_no_commit(kafka: str, topic: Callable[..., str]) -> None:
    """The second and the third begin with one that they write nothing to; readers are not held up there either."""
    name = topic("out", partitions=2)
    one, other = TopicPartition(name, 0), TopicPartition(name, 1)

    async def story() -> None:
        writer = Writer(kafka, f"writer.{name}")
        try:
            await writer.fence()
            for wrote in ((one, other), (one,), (other,), (one, other)):
                await written(writer, *wrote)
                await writer.commit(f"group.{name}", {})
            assert {one: 3, other: 3} == await committed(kafka, one, other)
        finally:
            await writer.stop()

    asyncio.run(story())


def test_nothing_is_left_of_a_writer_whose_topic_is_gone(
    kafka: str, topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """aiokafka asks for a partition until it has it, and connects anew for that: for as long as the topic is missing,
    beside the writer of the task made anew."""
    monkeypatch.setattr(under_test, "STOP_S_MAX", 0.5)
    kept, gone = topic("kept", partitions=1), topic("gone", partitions=1)
    admin = AdminClient({"bootstrap.servers": kafka})

    async def story() -> None:
        writer = Writer(kafka, f"writer.{kept}", WriterParams(transaction_timeout_ms=1_000, request_timeout_ms=1_000))
        await writer.fence()
        await written(writer, TopicPartition(kept, 0), TopicPartition(gone, 0))
        await writer.commit(f"group.{kept}", {})
        admin.delete_topics([gone])[gone].result(TIMEOUT_S)
        await written(writer, TopicPartition(kept, 0))
        with pytest.raises(WriteError):
            await writer.commit(f"group.{kept}", {})
        await writer.stop()
        await until_async(lambda: {asyncio.current_task()} == asyncio.all_tasks(), "its tasks end", patience_s=5.0)

        anew = Writer(kafka, f"writer.{kept}")
        await anew.fence()
        await written(anew, TopicPartition(kept, 0))
        await anew.commit(f"group.{kept}", {})
        await anew.stop()
        assert {TopicPartition(kept, 0): 2} == await committed(kafka, TopicPartition(kept, 0))

    asyncio.run(story())
