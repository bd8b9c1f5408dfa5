"""A writer's commit: offsets go out beside what else is in the transaction, and only all of it together counts."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import InvalidTimestampError, MessageSizeTooLargeError
from aiokafka.producer.message_accumulator import BatchBuilder

from services.host.writer import WriteError, Writer
from services.operators.encode import RECORD_OVERHEAD_BYTES
from tests.waiting import until_async

OFFSETS = {TopicPartition("source", 0): (7, "")}


@dataclass
class SlowBroker:
    """A producer's face. Batches are acknowledged when the test says so; all else is answered at once."""

    done: list[str] = field(default_factory=list)
    acknowledged: asyncio.Future[Any] = field(default_factory=asyncio.Future)

    async def begin_transaction(self) -> None:
        self.done.append("begin")

    async def send_batch(self, _batch: object, topic: str, *, partition: int) -> asyncio.Future[Any]:
        self.done.append(f"write {topic}/{partition}")
        return self.acknowledged

    async def send_offsets_to_transaction(self, _offsets: object, group: str) -> None:
        self.done.append(f"offsets of {group}")

    async def commit_transaction(self) -> None:
        self.done.append("commit")


async def writing_to(broker: SlowBroker) -> Writer:
    """A writer whose producer is this one; nothing is connected."""
    writer = Writer("127.0.0.1:1", "writer")
    broker.create_batch = writer._producer.create_batch  # type: ignore[attr-defined]
    broker._txn_manager = SimpleNamespace(  # type: ignore[attr-defined]
        maybe_add_partition_to_txn=lambda at: broker.done.append(f"add {at.topic}/{at.partition}")
    )
    await writer._producer.stop()
    writer._producer = broker
    return writer


async def committing(broker: SlowBroker) -> "asyncio.Task[dict[str, int]]":
    """A commit that has come as far as it gets by itself."""
    writer = await writing_to(broker)
    assert broker.acknowledged is await writer.write("results", 0, [None], [b"x"], [0])
    task = asyncio.create_task(writer.commit("group", OFFSETS))
    await until_async(lambda: "offsets of group" in broker.done, "the offsets are sent")
    return task


def test_offsets_do_not_wait_for_the_outputs_to_be_acknowledged() -> None:
    """Each of these is a way to another city and back, and records wait for all of them."""

    async def story() -> None:
        broker = SlowBroker()
        commit = await committing(broker)
        assert ["begin", "write results/0", "offsets of group"] == broker.done
        broker.acknowledged.set_result(SimpleNamespace(offset=3))
        assert {"results": 3} == await commit
        assert "commit" == broker.done[-1]

    asyncio.run(story())


def test_nothing_is_committed_if_an_output_is_refused() -> None:
    """Else the offsets would pass a record whose results are lost."""

    async def story() -> None:
        broker = SlowBroker()
        commit = await committing(broker)
        broker.acknowledged.set_exception(MessageSizeTooLargeError())
        with pytest.raises(WriteError, match="too large"):
            await commit
        assert "commit" not in broker.done

    asyncio.run(story())


def test_a_time_that_the_broker_refuses_is_told_with_the_topic_and_what_to_do() -> None:
    """The limit is the user's, and stands on the sink's topic; the words are what they read of a parked partition."""

    async def story() -> None:
        broker = SlowBroker()
        commit = await committing(broker)
        broker.acknowledged.set_exception(InvalidTimestampError())
        with pytest.raises(WriteError, match="refuses a record's time on results: it is too far"):
            await commit

    asyncio.run(story())


def test_a_transaction_begins_with_all_partitions_of_the_last_one() -> None:
    """Else the first record for each of them waits for a coordinator that may be far."""

    async def story() -> None:
        broker = SlowBroker()
        broker.acknowledged.set_result(SimpleNamespace(offset=3))
        writer = await writing_to(broker)
        for partition in (0, 1):
            await writer.write("results", partition, [None], [b"x"], [0])
        await writer.commit("group", OFFSETS)
        broker.done.clear()
        await writer.write("results", 1, [None], [b"x"], [0])
        assert ["add results/0", "add results/1", "begin", "write results/1"] == sorted(broker.done)
        assert "begin" == broker.done[0]
        assert "write results/1" == broker.done[-1]

        await writer.commit("group", OFFSETS)
        broker.done.clear()
        await writer.write("results", 1, [None], [b"x"], [0])
        assert "add results/0" not in broker.done, "a partition that is written no more is left out after one round"

    asyncio.run(story())


def test_a_commit_of_offsets_alone_asks_for_no_partition() -> None:
    """A filter that lets nothing pass writes nothing, and markers on its outputs would be for nobody."""

    async def story() -> None:
        broker = SlowBroker()
        broker.acknowledged.set_result(SimpleNamespace(offset=3))
        writer = await writing_to(broker)
        await writer.write("results", 0, [None], [b"x"], [0])
        await writer.commit("group", OFFSETS)
        broker.done.clear()
        await writer.commit("group", OFFSETS)
        assert ["begin", "offsets of group", "commit"] == broker.done

    asyncio.run(story())


def test_no_batch_is_larger_than_its_topic_takes() -> None:
    """The limit of a topic counts for all records that go out together, and ours is far larger."""

    async def story() -> None:
        broker = SlowBroker()
        writer = await writing_to(broker)
        sizes = []

        async def send_batch(batch: Any, _topic: str, *, partition: int) -> asyncio.Future[Any]:
            sizes.append((partition, batch._builder.size(), batch.record_count()))
            return broker.acknowledged

        broker.send_batch = send_batch  # type: ignore[method-assign]
        await writer.write("narrow", 0, [b"k"] * 50, [b"x" * 100] * 50, [0] * 50, bytes_max=1_000)
        await writer.write("wide", 1, [b"k"] * 50, [b"x" * 100] * 50, [0] * 50)
        assert 50 == sum(count for partition, _, count in sizes if partition == 0)
        assert 1_000 >= max(size for partition, size, _ in sizes if partition == 0)
        assert [50] == [count for partition, _, count in sizes if partition == 1]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("key", "value_bytes"), [(None, 10), (b"k", 100), (b"k" * 300, 3_000), (b"k" * 70_000, 3_000_000)]
)
def test_a_record_takes_no_more_than_key_value_and_the_overhead_that_is_reckoned_with(
    key: bytes | None, value_bytes: int
) -> None:
    """Else one that seemed to fit would be refused, and park its partition."""
    batch = BatchBuilder(1_000, 0, is_transactional=True)
    assert batch.append(timestamp=1_700_000_000_000, key=key, value=b"x" * value_bytes) is not None
    assert batch._builder.size() <= len(key or b"") + value_bytes + RECORD_OVERHEAD_BYTES
