"""Results leave in the step that makes them, under the rules of aiokafka's own routine."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.client import ConnectionGroup
from aiokafka.conn import CloseReason
from aiokafka.errors import KafkaConnectionError
from aiokafka.producer.producer import AIOKafkaProducer
from aiokafka.protocol.produce import ProduceResponse_v2
from aiokafka.protocol.types import Int32

from services.host.sending import Sending
from tests.waiting import until_async

BROKER = 1
ONE, OTHER = TopicPartition("results", 0), TopicPartition("results", 1)


class Connection:
    """To a broker that answers when the test says so."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.answers: list[asyncio.Future[Any]] = []
        self.is_connected = True
        self.fails: Exception | None = None
        self.closed: list[CloseReason | None] = []

    def connected(self) -> bool:
        return self.is_connected

    def send(self, request: Any, **_more: Any) -> Awaitable[Any]:
        if self.fails is not None:
            raise self.fails
        self.requests.append(request)
        self.answers.append(asyncio.get_running_loop().create_future())
        return self.answers[-1]

    def close(self, reason: CloseReason | None = None) -> None:
        self.closed.append(reason)

    @property
    def partitions(self) -> list[list[int]]:
        """Of each request."""
        return [[partition for _, each in request._topics for partition, _ in each] for request in self.requests]

    def answer(self, *partitions: int) -> None:
        """The last request, for these partitions: all is well."""
        self.answers[-1].set_result(ProduceResponse_v2(topics=[("results", [(p, 0, 7, -1) for p in partitions])]))


class Held:
    """A producer in a transaction of which both partitions are part, whose routine only waits."""

    def __init__(self) -> None:
        self.producer: Any = AIOKafkaProducer(bootstrap_servers="127.0.0.1:1", transactional_id="t", linger_ms=0)
        self.connection = Connection()
        client, transaction = self.producer.client, self.producer._txn_manager
        client.cluster.leader_for_partition = lambda _at: BROKER
        client._conns = {(BROKER, ConnectionGroup.DEFAULT): self.connection}
        transaction.set_pid_and_epoch(1, 0)
        transaction.begin_transaction()
        transaction._txn_partitions |= {ONE, OTHER}
        self.sender = self.producer._sender
        self.sender._sender_task = asyncio.ensure_future(asyncio.Event().wait())
        self.accumulator = self.producer._message_accumulator
        self.sending = Sending(self.producer)

    async def write(self, *at: TopicPartition) -> list[asyncio.Future[Any]]:
        batches = [self.producer.create_batch() for _ in at]
        for batch in batches:
            batch.append(key=None, value=b"x", timestamp=1)
        return [await self.accumulator.add_batch(batch, to, 1.0) for batch, to in zip(batches, at, strict=True)]

    async def close(self) -> None:
        self.sender._sender_task.cancel()
        self.producer._closed = True


def held(story: Callable[[Held], Awaitable[None]]) -> None:
    async def run() -> None:
        made = Held()
        try:
            async with asyncio.timeout(60):
                await story(made)
        finally:
            await made.close()

    asyncio.run(run())


def sequences(connection: Connection) -> Sequence[int]:
    """The sequence number that each batch of the first partition begins with."""
    data = [bytes(raw) for request in connection.requests for _, each in request._topics for p, raw in each if p == 0]
    return [Int32._unpack(each[53:57])[0] for each in data]  # type: ignore[attr-defined]


def test_what_was_written_leaves_without_a_turn_of_the_loop() -> None:
    """A turn may be the batches of all other tasks of the host: their results would leave together, with the last."""

    async def story(made: Held) -> None:
        first, second = await made.write(ONE, OTHER)
        made.sending.now()
        assert [[0, 1]] == made.connection.partitions
        made.connection.answer(0, 1)
        assert 7 == (await first).offset == (await second).offset
        await until_async(lambda: not made.sender._in_flight, "the next may follow")

    held(story)


def test_one_request_is_under_way_and_the_next_follows_in_order() -> None:
    """What a request that is tried again would pass must not leave before it."""

    async def story(made: Held) -> None:
        await made.write(ONE)
        made.sending.now()
        await made.write(ONE)
        made.sending.now()
        assert [[0]] == made.connection.partitions
        looked = made.accumulator.waiter()
        made.connection.answer(0)
        await until_async(looked.done, "the routine is told to look what may follow")
        made.sending.now()
        assert [[0], [0]] == made.connection.partitions
        assert [0, 1] == list(sequences(made.connection))

    held(story)


def test_a_partition_that_is_not_part_of_the_transaction_waits() -> None:
    """The broker would take its batch for one of no transaction, or refuse it."""

    async def story(made: Held) -> None:
        made.producer._txn_manager._txn_partitions.remove(OTHER)
        await made.write(ONE, OTHER)
        made.sending.now()
        assert [[0]] == made.connection.partitions
        assert [OTHER] == list(made.accumulator._batches)

    held(story)


def test_what_has_no_connection_is_left_to_the_routine() -> None:
    """To connect takes its time, and may fail: the routine knows what to do then."""

    async def story(made: Held) -> None:
        made.connection.is_connected = False
        await made.write(ONE)
        made.sending.now()
        assert [ONE] == list(made.accumulator._batches)
        made.sender._sender_task.cancel()
        await asyncio.sleep(0)
        made.connection.is_connected = True
        made.sending.now()
        assert [ONE] == list(made.accumulator._batches), "a producer that has ended sends nothing"

    held(story)


def test_a_connection_that_breaks_is_tried_again_by_the_client() -> None:
    """Nothing of a batch that was taken may be lost on the way."""

    async def story(made: Held) -> None:
        sent: list[int] = []

        async def send(broker_id: int, _request: Any) -> Any:
            sent.append(broker_id)
            return ProduceResponse_v2(topics=[("results", [(0, 0, 9, -1)])])

        made.producer.client.send = send
        made.connection.fails = KafkaConnectionError("broken")
        (written,) = await made.write(ONE)
        made.sending.now()
        assert 9 == (await written).offset
        assert [BROKER] == sent

    held(story)


def test_a_broker_that_does_not_answer_loses_its_connection_and_gets_the_batch_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if aiokafka had sent it: the next answer on that connection would be that of another request."""

    async def story(made: Held) -> None:
        made.sender._retry_backoff = 0.0
        monkeypatch.setattr(made.producer.client, "force_metadata_update", lambda: None)
        await made.write(ONE)
        made.sending.now()
        made.connection.answers[-1].set_exception(TimeoutError())
        await until_async(lambda: ONE in made.accumulator._batches and not made.sender._in_flight, "it waits again")
        assert [CloseReason.CONNECTION_TIMEOUT] == made.connection.closed
        made.sending.now()
        assert [0, 0] == list(sequences(made.connection)), "the broker must know it for the same batch"

    held(story)


def test_what_no_answer_tells_ends_the_transaction() -> None:
    """It is an error of ours or of aiokafka, and its own routine would end with it."""

    async def story(made: Held) -> None:
        (written,) = await made.write(ONE)
        made.sending.now()
        made.connection.answers[-1].set_result("no answer at all")
        with pytest.raises(AttributeError):
            await written
        assert made.producer._txn_manager.is_fatal_error()

    held(story)
