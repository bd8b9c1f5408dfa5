"""Blocks from the real broker: of whatever partition is wanted by the time that its records are there."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.protocol.fetch import FetchRequest

from services.host.fetch import BlockConsumer

HOUR_MS = 3_600_000


async def send_one(kafka: str, at: TopicPartition) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka)
    await producer.start()
    await producer.send_and_wait(at.topic, b"one", partition=at.partition)
    await producer.stop()


def test_who_waits_for_idle_partitions_hears_of_changes(kafka: str, topic: Callable[..., str]) -> None:
    """Its next block has been there for long when its task has room again, and nothing comes for the others."""
    name = topic("blocks", partitions=2)
    busy, idle = TopicPartition(name, 0), TopicPartition(name, 1)

    async def story() -> None:
        await send_one(kafka, TopicPartition(name, 0))
        consumer = BlockConsumer(bootstrap_servers=kafka, enable_auto_commit=False, auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([busy, idle])
        wanted = {idle}
        waiting = asyncio.create_task(consumer.blocks(wanted, timeout_ms=HOUR_MS))
        try:
            async with asyncio.timeout(120):
                while busy not in consumer._fetcher._records:
                    await asyncio.sleep(0.01)
                assert not waiting.done()
                wanted.add(busy)
                consumer.look_again()
                assert {busy: [b"one"]} == {at: [r.value for r in block] for at, block in (await waiting).items()}
                waiting = asyncio.create_task(consumer.blocks(wanted, timeout_ms=HOUR_MS))
                await asyncio.sleep(0)
                consumer.interrupt()
                assert {} == await waiting
        finally:
            waiting.cancel()
            await consumer.stop()

    asyncio.run(story())


def test_a_partition_that_comes_later_waits_for_no_fetch_of_others(kafka: str, topic: Callable[..., str]) -> None:
    """A broker answers the requests of a connection in turn, and the fetch of idle partitions may wait there long."""
    name = topic("later", partitions=2)
    idle, late = TopicPartition(name, 0), TopicPartition(name, 1)

    async def story() -> None:
        await send_one(kafka, TopicPartition(name, 1))
        consumer = BlockConsumer(
            bootstrap_servers=kafka,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=HOUR_MS,
            request_timeout_ms=2 * HOUR_MS,
        )
        await consumer.start()
        try:
            async with asyncio.timeout(60):
                consumer.assign([idle])
                while not consumer._subscription.subscription.assignment.state_value(idle).has_valid_position:
                    await asyncio.sleep(0.01)
                while not any(connection._requests for connection in consumer._client._conns.values()):
                    await asyncio.sleep(0.01)
                consumer.assign([idle, late])
                blocks = await consumer.blocks({idle, late}, timeout_ms=HOUR_MS)
                assert {late: [b"one"]} == {at: [r.value for r in block] for at, block in blocks.items()}
        finally:
            await consumer.stop()

    asyncio.run(story())


def test_who_asks_where_a_topic_ends_does_not_wait_behind_a_fetch(kafka: str, topic: Callable[..., str]) -> None:
    """A standby's fetch nearly always waits at the broker, and a takeover begins with that question."""
    at = TopicPartition(topic("quiet", partitions=1), 0)
    fetch_wait_s, asked = 2.0, 5

    async def story() -> float:
        await send_one(kafka, at)
        consumer = BlockConsumer(
            bootstrap_servers=kafka,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_wait_ms=int(fetch_wait_s * 1_000),
        )
        await consumer.start()
        try:
            consumer.assign([at])
            while await consumer.position(at) < 1:
                await consumer.getmany(timeout_ms=100)
            await asyncio.sleep(0.3)  # the next fetch waits at the broker by now
            begin_s = time.monotonic()
            for _ in range(asked):
                assert {at: 1} == await consumer.end_offsets([at])
                assert {at: 0} == await consumer.beginning_offsets([at])
            return time.monotonic() - begin_s
        finally:
            await consumer.stop()

    assert asyncio.run(story()) < asked * fetch_wait_s / 4


@pytest.mark.parametrize("turns", range(4))
def test_no_assignment_is_overlooked_because_a_fetch_is_answered_just_then(
    kafka: str, topic: Callable[..., str], turns: int
) -> None:
    """aiokafka's fetch routine may find the broker busy with a fetch that is over, and would look again much later."""
    name = topic("just-then")
    at = TopicPartition(name, 0)

    async def story() -> None:
        await send_one(kafka, TopicPartition(name, 0))
        consumer = BlockConsumer(
            bootstrap_servers=kafka, enable_auto_commit=False, auto_offset_reset="earliest", consumer_timeout_ms=HOUR_MS
        )
        await consumer.start()
        send, fetches = consumer._client.send, 0

        async def assigned_just_then(node_id: int, request: Any, **kwargs: Any) -> Any:
            nonlocal fetches
            answer = await send(node_id, request, **kwargs)
            if isinstance(request, FetchRequest):
                fetches += 1
                if fetches == 1:
                    consumer.assign([at])
                    consumer.seek(at, 0)
                    for _ in range(turns):
                        await asyncio.sleep(0)
            return answer

        consumer._client.send = assigned_just_then
        try:
            async with asyncio.timeout(60):
                consumer.assign([at])
                consumer.seek(at, 0)
                blocks = await consumer.blocks({at}, timeout_ms=HOUR_MS)
                assert [b"one"] == [record.value for record in blocks[at]]
        finally:
            await consumer.stop()

    asyncio.run(story())


def test_the_next_fetch_leaves_before_a_task_works_on_what_was_taken(kafka: str, topic: Callable[..., str]) -> None:
    """Else the fetch routine wakes twice for each fetch, and its next one waits until tasks have worked on this one."""
    name = topic("at-once")
    at = TopicPartition(name, 0)
    events: list[str] = []

    async def story() -> None:
        consumer = BlockConsumer(
            bootstrap_servers=kafka, enable_auto_commit=False, auto_offset_reset="earliest", consumer_timeout_ms=HOUR_MS
        )
        await consumer.start()
        look, send = consumer._fetcher._get_actions_per_node, consumer._client.send

        def looking(assignment: Any) -> Any:
            found = look(assignment)
            events.append("sends" if found[0] else "looks")
            return found

        async def answered(node_id: int, request: Any, **kwargs: Any) -> Any:
            answer = await send(node_id, request, **kwargs)
            if isinstance(request, FetchRequest):
                events.append("answer")
            return answer

        async def taken() -> list[bytes]:
            blocks = await consumer.blocks({at}, timeout_ms=HOUR_MS)
            events.append("taken")
            return [record.value for record in blocks[at]]

        consumer._fetcher._get_actions_per_node, consumer._client.send = looking, answered
        try:
            async with asyncio.timeout(60):
                consumer.assign([at])
                consumer.seek(at, 0)
                for _ in range(3):
                    taking = asyncio.create_task(taken())
                    await send_one(kafka, at)
                    assert [b"one"] == await taking
                    await asyncio.sleep(0)  # in this turn the agent would hand them to the task
                    assert ["answer", "taken", "sends"] == events[-3:]
        finally:
            await consumer.stop()

    asyncio.run(story())


def test_a_partition_with_a_backlog_does_not_wait_for_the_fetch_of_a_silent_one(
    kafka: str, topic: Callable[..., str]
) -> None:
    """While its task has no room only the others are fetched; that fetch would keep the next one from the broker for as
    long as they are silent, and the task, which has room again, without work."""
    name = topic("backlog", partitions=2)
    busy, silent = TopicPartition(name, 0), TopicPartition(name, 1)

    async def story() -> None:
        await send_one(kafka, busy)
        await send_one(kafka, busy)
        consumer = BlockConsumer(
            bootstrap_servers=kafka,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=1,  # a batch at a time, of one record each
            fetch_max_wait_ms=HOUR_MS,
            request_timeout_ms=2 * HOUR_MS,
        )
        await consumer.start()
        consumer.assign([busy, silent])
        try:
            async with asyncio.timeout(120):
                while busy not in consumer._fetcher._records:
                    await asyncio.sleep(0.01)
                while not consumer._fetcher._in_flight:  # the fetch of the silent one alone
                    await asyncio.sleep(0.01)
                for _ in range(2):
                    assert [busy] == list(await consumer.blocks({busy, silent}, timeout_ms=HOUR_MS))
        finally:
            await consumer.stop()

    asyncio.run(story())


def test_whoever_is_to_learn_sooner_asks_at_once(kafka: str, topic: Callable[..., str]) -> None:
    """What a segment that rested for a minute last knew of leaders is a minute old when records come again."""
    name = topic("paced")

    async def story() -> None:
        consumer = BlockConsumer(bootstrap_servers=kafka, enable_auto_commit=False, auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([TopicPartition(name, 0)])
        looked = asyncio.Event()
        consumer._client.cluster.add_listener(lambda _cluster: looked.set())
        try:
            async with asyncio.timeout(120):
                consumer.pace(wait_ms=500, metadata_age_ms=HOUR_MS)
                await consumer._client.force_metadata_update()  # from now on it waits for an hour
                looked.clear()
                consumer.pace(wait_ms=500, metadata_age_ms=HOUR_MS)
                await asyncio.sleep(0.1)
                assert not looked.is_set()
                consumer.pace(wait_ms=500, metadata_age_ms=HOUR_MS // 2)
                await looked.wait()
        finally:
            await consumer.stop()

    asyncio.run(story())
