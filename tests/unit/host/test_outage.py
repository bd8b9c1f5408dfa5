"""Right after an outage aiokafka may know no broker, and asserts that it does; or it waits for what never comes."""

import asyncio
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaConnectionError, RequestTimedOutError, UnknownTopicOrPartitionError
from aiokafka.producer.sender import Sender

from services.host import writer as writing
from services.host.seat import Seat, is_passing
from services.host.writer import WriteError, Writer, WriterParams
from services.registry.fenced import FencedWriter
from services.tasks import UnknownTopicError


async def nothing(*_: Any, **__: Any) -> None:
    return


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that could connect, and was told that there are no brokers."""
    monkeypatch.setattr(AIOKafkaClient, "bootstrap", nothing)
    monkeypatch.setattr(AIOKafkaClient, "get_random_node", lambda _: None)
    monkeypatch.setattr(AIOKafkaClient, "close", nothing)


@pytest.mark.parametrize("step", ["connect", "fence"])
def test_a_task_or_standby_waits_it_out(step: str) -> None:
    """A standby whose following ends with an assertion would never be ready, and a task would park."""

    async def story() -> None:
        writer = Writer("127.0.0.1:1", "stig.s.0")
        with pytest.raises(KafkaConnectionError) as caught:
            await (writer.connect(()) if step == "connect" else writer.fence())
        assert is_passing(caught.value)
        await writer.stop()

    asyncio.run(story())


def test_a_topic_that_was_deleted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task is tried again and again, and recovers when the topic is back: but somebody must know which."""

    async def found(*_: Any) -> int:
        return 0

    async def unknown(_client: object, _topic: str) -> set[int]:
        raise UnknownTopicOrPartitionError

    monkeypatch.setattr(Sender, "_find_coordinator", found)
    monkeypatch.setattr(AIOKafkaClient, "_wait_on_metadata", unknown)

    async def story() -> None:
        writer, seat = Writer("127.0.0.1:1", "stig.s.0"), Seat(0, 1)
        with pytest.raises(UnknownTopicError) as caught:
            await writer.connect(["results"])
        seat.failed(caught.value, has_committed=False)
        assert is_passing(caught.value)
        assert seat.reason is not None
        assert "topic 'results' is not on the broker; make it again" in seat.reason
        await writer.stop()

    asyncio.run(story())


def test_a_placement_instance_waits_it_out() -> None:
    """One that has just won the lease must not end for it."""

    async def story() -> None:
        writer = FencedWriter("127.0.0.1:1", "stig.placement")
        with pytest.raises(KafkaConnectionError):
            await writer.fence()
        await writer.close()

    asyncio.run(story())


def test_a_commit_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker has given its transaction up long before; a task that waited on would stand still for ever."""

    async def story() -> None:
        writer = Writer("127.0.0.1:1", "stig.s.0", WriterParams(transaction_timeout_ms=30, request_timeout_ms=20))
        for step in ("begin_transaction", "send_offsets_to_transaction"):
            monkeypatch.setattr(writer._producer, step, nothing)
        monkeypatch.setattr(writer._producer, "commit_transaction", asyncio.Event().wait)
        with pytest.raises(WriteError, match="not committed in 0 s") as caught:
            await writer.commit("group", {})
        assert is_passing(caught.value)

    asyncio.run(story())


def test_a_fence_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it waits for: with another writer the task may come through, and until then its reason is told."""
    monkeypatch.setattr(Sender, "_find_coordinator", lambda *_: asyncio.Event().wait())

    async def story() -> None:
        writer = Writer("127.0.0.1:1", "stig.s.0", WriterParams(transaction_timeout_ms=30, request_timeout_ms=20))
        with pytest.raises(RequestTimedOutError, match="not fenced in 0 s") as caught:
            await writer.fence()
        assert is_passing(caught.value)

    asyncio.run(story())


def test_a_producer_that_never_stops_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its task would never be made anew; the connections are closed all the same."""
    monkeypatch.setattr(writing, "STOP_S_MAX", 0.05)

    async def story() -> None:
        writer, closed = Writer("127.0.0.1:1", "stig.s.0"), []

        async def close() -> None:
            closed.append(True)

        monkeypatch.setattr(writer._producer, "stop", asyncio.Event().wait)
        monkeypatch.setattr(writer._producer.client, "close", close)
        await asyncio.wait_for(writer.stop(), timeout=30)
        assert [True] == closed

    asyncio.run(story())
