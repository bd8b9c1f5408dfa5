"""Sending at once: what a producer holds leaves in the step that has made it.

aiokafka's sender routine is woken by a batch and looks a turn of the loop later, or two, then starts a task for the
request, which is another. When one fetch brings blocks for several tasks, those turns are the batches of the others:
the first results would leave when the last are made. Here the same is done without a turn: batches are drained as the
routine drains them (in order, one request under way for a broker, none for a partition that is not yet part of the
transaction), their request is written to the connection, and a task awaits the answer. Whatever stands in the way is
left to the routine. This reaches into aiokafka, whose version is pinned; `tests/integration/host` notices a change.
"""

import asyncio
from typing import Any

from aiokafka.client import ConnectionGroup
from aiokafka.conn import CloseReason
from aiokafka.errors import KafkaError, RequestTimedOutError
from aiokafka.producer.sender import SendProduceReqHandler


class Sending:
    """Of one producer, beside its routine."""

    def __init__(self, producer: Any) -> None:
        self._sender = producer._sender
        self._batches = producer._message_accumulator
        self._transaction = producer._txn_manager
        self._answers: set[asyncio.Task[None]] = set()

    @property
    def answers(self) -> list[asyncio.Task[None]]:
        """Those that are awaited: who ends the routine by force must end them, too."""
        return list(self._answers)

    def now(self) -> None:
        """Send what can be sent."""
        sender = self._sender
        if not self._batches._batches or sender.sender_task is None or sender.sender_task.done():
            return
        by_broker, _ = self._batches.drain_by_nodes(
            ignore_nodes=sender._in_flight | self._out_of_reach(),
            muted_partitions=sender._muted_partitions | self._transaction.partitions_to_add(),
        )
        for broker_id, batches in by_broker.items():
            sender._in_flight.add(broker_id)
            sender._muted_partitions.update(batches)
            answer = asyncio.create_task(self._answered(broker_id, _Sent(sender, batches, broker_id)))
            self._answers.add(answer)
            answer.add_done_callback(self._over)

    def _out_of_reach(self) -> set[int]:
        """The leaders that there is no connection to: a request would have to wait for one."""
        client = self._sender.client
        leaders = {client.cluster.leader_for_partition(at) for at in self._batches._batches} - {None, -1}
        connections = {leader: client._conns.get((leader, ConnectionGroup.DEFAULT)) for leader in leaders}
        return {leader for leader, each in connections.items() if each is None or not each.connected()}

    async def _answered(self, broker_id: int, sent: "_Sent") -> None:
        await sent.do(broker_id)
        self._sender._in_flight.remove(broker_id)
        self._sender._muted_partitions.difference_update(sent.batches)

    def _over(self, answer: asyncio.Task[None]) -> None:
        """The routine looks what may follow, if anything waits: a look costs as much as a third of a small batch.

        What went wrong so that no answer tells it ends all, as with its own.
        """
        self._answers.discard(answer)
        has_failed = not answer.cancelled() and answer.exception() is not None
        if has_failed and not self._sender.sender_task.done():
            self._sender._fail_all(answer)
        if self._batches._batches:
            self._batches._wakeup(self._batches.waiter())


class _Sent(SendProduceReqHandler):
    """A produce request that leaves when this is made. To `do` it is to await its answer, and see to what that says."""

    def __init__(self, sender: Any, batches: dict[Any, Any], broker_id: int) -> None:
        super().__init__(sender, batches)
        self.batches = batches
        self._request = super().create_request()
        try:
            self._client = _Way(sender.client, sender.client._conns[broker_id, ConnectionGroup.DEFAULT], self._request)
        except KafkaError:
            return  # the client itself connects anew, or tells what is wrong

    def create_request(self) -> Any:
        return self._request


class _Way:
    """Stands for the client of a request that is on its way already."""

    def __init__(self, client: Any, connection: Any, request: Any) -> None:
        self._connection = connection
        self._answer = connection.send(request)
        self.force_metadata_update = client.force_metadata_update
        self._maybe_wait_metadata = client._maybe_wait_metadata

    async def send(self, _broker_id: int, _request: Any) -> Any:
        """The answer. As a client does, it closes a connection that does not answer in time."""
        try:
            return await self._answer
        except TimeoutError as error:
            self._connection.close(reason=CloseReason.CONNECTION_TIMEOUT)
            raise RequestTimedOutError from error
