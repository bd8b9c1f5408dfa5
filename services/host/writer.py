"""Writing for one segment partition: outputs, changelog, dead letters and input offsets, all in one Kafka transaction.

The transactional id is the (segment, partition): a writer that begins fences the former owner, whose late writes the
broker then refuses. Records go out as ready-made batches, so aiokafka's cost is paid once for a batch instead of once
for a record. Whatever fails makes the writer useless (`WriteError`); the owner then starts anew from what was
committed.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import CoordinationType
from aiokafka.errors import (
    InvalidTimestampError,
    KafkaError,
    MessageSizeTooLargeError,
    ProducerClosed,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from aiokafka.producer import sender
from aiokafka.producer.message_accumulator import BatchBuilder

from services.host.fencing import fence
from services.host.sending import Sending
from services.process.ending import end
from services.process.outage import told_as_outage
from services.tasks import UnknownTopicError

# A new transaction can't begin until the former one's markers are written, a few ms after its commit. aiokafka asks
# again after 20 ms, a fifth of the time between two commits of exactly_once.
sender.BACKOFF_OVERRIDE = 0.004

BATCH_BYTES_MAX = 900_000
"""Below the broker's default limit of 1 MiB for a batch."""
STOP_S_MAX = 10.0
Headers = list[tuple[str, bytes | None]]
Written = asyncio.Future[Any]
"""Done when the broker has answered for a batch."""
NO_HEADERS: Headers = []


class WriteError(Exception):
    """The transaction can't be finished. Nothing of it will be seen; the segment partition must be restored."""


@dataclass(frozen=True, slots=True)
class WriterParams:
    """How long a silent owner may hold its transaction open, and how patient a request is."""

    transaction_timeout_ms: int = 15_000
    request_timeout_ms: int = 10_000
    retry_backoff_ms: int = 20
    compression: str | None = None


class Writer:
    """One transactional producer. `fence`, then `write` any number of times, then `commit`, and so on."""

    def __init__(self, bootstrap: str, transactional_id: str, params: WriterParams | None = None) -> None:
        params = params or WriterParams()
        self.transactional_id = transactional_id
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            client_id=transactional_id,
            transactional_id=transactional_id,
            transaction_timeout_ms=params.transaction_timeout_ms,
            request_timeout_ms=params.request_timeout_ms,
            retry_backoff_ms=params.retry_backoff_ms,
            max_batch_size=BATCH_BYTES_MAX,
            max_request_size=BATCH_BYTES_MAX + 100_000,
            compression_type=params.compression,
            linger_ms=0,
        )
        self._sending = Sending(self._producer)
        self._compression = self._producer._message_accumulator._compression_type
        self._sent: list[tuple[str, Written]] = []
        self._partitions: set[TopicPartition] = set()
        """The partitions of the open transaction, or of the last one."""
        self._open = False
        self._opened_s = 0.0
        self._is_connected = False
        # After that the broker has given a transaction up: whoever still waits for its end waits for nothing.
        self._patience_s = (params.transaction_timeout_ms + params.request_timeout_ms) / 1_000
        self.bytes_written = 0

    @property
    def open_s(self) -> float | None:
        """How long a transaction has been open; None if none is."""
        return time.monotonic() - self._opened_s if self._open else None

    async def connect(self, topics: Iterable[str]) -> None:
        """Get ready to fence: connections, coordinator, the leaders of these topics. It disturbs nobody yet.

        Raises UnknownTopicError if there is no such topic any more.
        """
        if self._is_connected:
            return
        client = self._producer.client
        await client.bootstrap()
        with told_as_outage():
            await self._producer._sender._find_coordinator(CoordinationType.TRANSACTION, self.transactional_id)
        for topic in topics:
            try:
                await client._wait_on_metadata(topic)
            except UnknownTopicOrPartitionError as error:
                raise UnknownTopicError(
                    f"topic {topic!r} is not on the broker; make it again with as many partitions as it had, and the "
                    "flow goes on by itself"
                ) from error
        for broker in client.cluster.brokers():
            await client.ready(broker.nodeId)
        self._is_connected = True

    async def fence(self) -> None:
        """Fence the former owner. When this returns, no write of an earlier writer can succeed any more."""
        try:
            async with asyncio.timeout(self._patience_s):
                await self.connect(())
                with told_as_outage():
                    await fence(self._producer._sender, self.transactional_id)
                    await self._producer._sender.start()
        except TimeoutError:
            await self._stop_producer()
            raise RequestTimedOutError(f"{self.transactional_id}: not fenced in {self._patience_s:.0f} s") from None
        except BaseException:
            await self._stop_producer()
            raise

    async def write(
        self,
        topic: str,
        partition: int,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        times_ms: Iterable[int],
        *,
        headers: Headers = NO_HEADERS,
        bytes_max: int | None = None,
    ) -> Written | None:
        """Hand records over, in order, all with these headers. Returns when they are on their way; `commit` waits.

        `bytes_max`: the largest batch that the topic takes, if that may be less than ours; None: it is not.
        What it returns tells when the broker has answered for the last of them; None if there are none.
        """
        written = None
        if not keys:
            return written
        try:
            if not self._open:
                await self._begin()
            self._partitions.add(TopicPartition(topic, partition))
            for batch in self._batches(keys, values, times_ms, headers, bytes_max or BATCH_BYTES_MAX):
                self.bytes_written += batch._builder.size()
                written = await self._producer.send_batch(batch, topic, partition=partition)
                self._sent.append((topic, written))
        except (KafkaError, AssertionError) as error:  # a fenced aiokafka producer fails its own assertions
            raise WriteError(f"{self.transactional_id}: writing to {topic}/{partition}: {error!r}") from error
        return written

    def send_now(self) -> None:
        """Let what was handed over leave at once, as far as it can; else it leaves when others have had their turn."""
        self._sending.now()

    async def _begin(self) -> None:
        """Open a transaction, with all partitions of the last one at once.

        The first record for a partition waits until the coordinator, which may be far, has been asked about it. Most of
        the last transaction's partitions come again: so one record waits in a transaction, not one for each of them.
        """
        await self._producer.begin_transaction()
        self._open, self._opened_s = True, time.monotonic()
        for each in self._partitions:
            self._producer._txn_manager.maybe_add_partition_to_txn(each)
        self._partitions = set()

    def _batches(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        times_ms: Iterable[int],
        headers: Headers,
        bytes_max: int,
    ) -> Iterable[Any]:
        batch, append, count = self._new_batch(bytes_max)
        for key, value, time_ms in zip(keys, values, times_ms, strict=True):
            if append(count, time_ms, key, value, headers) is None:
                yield _closed(batch, count)
                batch, append, count = self._new_batch(bytes_max)
                append(0, time_ms, key, value, headers)
            count += 1
        if count:
            yield _closed(batch, count)

    def _new_batch(self, bytes_max: int) -> tuple[Any, Any, int]:
        batch = BatchBuilder(min(bytes_max, BATCH_BYTES_MAX), self._compression, is_transactional=True)
        return batch, batch._builder.append, 0

    async def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> dict[str, int]:
        """Make everything since the last commit visible, together with the input offsets, or raise WriteError.

        Returns, for each topic written to, the offset at which its last batch begins.
        """
        try:
            async with asyncio.timeout(self._patience_s):
                return await self._commit(group, offsets)
        except TimeoutError:
            waited = f"not committed in {self._patience_s:.0f} s"
            raise WriteError(f"{self.transactional_id}: {waited}") from RequestTimedOutError(waited)
        except MessageSizeTooLargeError as error:
            raise WriteError(
                f"{self.transactional_id}: the broker refuses a record as too large for {self._refusing(error)}; raise "
                "max.message.bytes there to what it was when this host began with the segment, or start the host anew"
            ) from error
        except InvalidTimestampError as error:
            raise WriteError(
                f"{self.transactional_id}: the broker refuses a record's time on {self._refusing(error)}: it is too "
                "far from the broker's clock; set message.timestamp.type=LogAppendTime there, or more in "
                "message.timestamp.after.max.ms and before.max.ms, and see whether this host's clock is right"
            ) from error
        except (KafkaError, AssertionError) as error:
            raise WriteError(f"{self.transactional_id}: the transaction failed: {error!r}") from error

    async def _commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> dict[str, int]:
        if not self._open:
            await self._producer.begin_transaction()
            self._open = True
        sent = self._sent
        # The offsets count only if the transaction ends well, so they need not wait for what else is in it.
        told = [self._producer.send_offsets_to_transaction(dict(offsets), group)] if offsets else []
        answers, *_ = await asyncio.gather(asyncio.gather(*(acknowledged for _, acknowledged in sent)), *told)
        self._sent = []
        landed = {topic: answer.offset for (topic, _), answer in zip(sent, answers, strict=True)}
        await self._producer.commit_transaction()
        self._open = False
        return landed

    def _refusing(self, error: KafkaError) -> str:
        """The topics for which the broker has answered with such an error."""
        answered = [(topic, each) for topic, each in self._sent if each.done() and not each.cancelled()]
        return ", ".join(sorted({topic for topic, each in answered if type(each.exception()) is type(error)}))

    async def stop(self) -> None:
        """Leave. An open transaction is aborted, so that readers of committed records need not wait for it."""
        sent, self._sent = self._sent, []
        for _, acknowledged in sent:
            acknowledged.cancel()
        try:
            if self._open:
                await asyncio.wait_for(self._producer.abort_transaction(), timeout=5)
        except (KafkaError, AssertionError, TimeoutError):
            pass  # fenced or cut off: the broker or the next owner aborts it
        finally:
            await self._stop_producer()

    async def _stop_producer(self) -> None:
        """It first waits for requests that are under way, and after an outage some of them never end."""
        stopping = asyncio.create_task(self._producer.stop())
        await asyncio.wait([stopping], timeout=STOP_S_MAX)
        if not stopping.done():
            sending = self._producer._sender.sender_task  # it would connect anew, and ask for ever
            await end([stopping, *([sending] if sending is not None else []), *self._sending.answers])
            self._producer._message_accumulator.fail_all(ProducerClosed())
            await self._producer.client.close()


def _closed(batch: Any, count: int) -> Any:
    """Tell aiokafka's builder how many records went past it, and that no more will come."""
    batch._relative_offset = count
    batch.close()
    return batch
