"""Fetching whole blocks: all records that one fetch brought for one partition, as one list.

aiokafka wraps each record into a dataclass and counts it out of a generator, which costs as much as all our operators
together. A BlockConsumer returns the Cython records as the broker's batches hold them (`offset`, `timestamp`, `key`,
`value`, `headers`), a block at a time. It reaches into aiokafka's fetcher, whose version is pinned;
`tests/integration/host` notices a change.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Container
from functools import partial
from types import SimpleNamespace
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.client import ConnectionGroup
from aiokafka.consumer.fetcher import READ_COMMITTED, Fetcher, FetchResult
from aiokafka.errors import CorruptRecordException

from services.host.ahead import Ahead
from services.host.header_names import KeptRecords

Record = Any
"""aiokafka's DefaultRecord, an extension type without annotations."""


RECORD_BYTES = 64
"""What a record takes beside its value, at least."""


HELD_WAIT_MS = 100
"""How long a fetch waits at the broker while records of other partitions wait here to be taken."""

WEIGHED_MAX = 1_000
"""Of so many records of a block, at most, the length is looked at."""


class Block(list[Record]):
    """Some records, about how much memory they take, and with whose they count, if with any."""

    size_bytes = 0
    ahead: Ahead | None = None


class BlockConsumer(AIOKafkaConsumer):
    """A consumer whose `getmany` returns, for each partition, everything that its last fetch brought."""

    async def start(self) -> None:
        await super().start()
        self._fetcher._records = _Blocks()
        self._fetcher._in_flight = _InFlight(self._fetcher)
        self._fetcher._proc_fetch_request = partial(_fetch_or_hang_up, self._fetcher, self._fetcher._proc_fetch_request)
        self._fetcher._get_actions_per_node = partial(_actions, self._fetcher, self._fetcher._get_actions_per_node)
        self._fetcher._proc_offset_request = partial(Fetcher._proc_offset_request, _asker(self._fetcher))

    async def blocks(self, wanted: Container[TopicPartition], *, timeout_ms: int) -> dict[TopicPartition, Block]:
        """Like `getmany`, but of the partitions that are wanted when records are there, not when it was called.

        aiokafka's own waiting takes another turn of the loop, which may be that of other tasks' batches.
        """
        until_s = self._loop.time() + timeout_ms / 1_000
        with self._subscription.fetch_context():
            found: dict[TopicPartition, Block] = await self._fetcher.fetched_records(wanted)
            while not found and self._loop.time() < until_s:
                waiter = self._fetcher._create_fetch_waiter()
                reminder = self._loop.call_at(until_s, self._fetcher._notify, waiter)
                try:
                    await waiter
                except _InterruptedError:
                    break
                finally:
                    reminder.cancel()
                found = await self._fetcher.fetched_records(wanted)
            return found

    def heard_s(self, at: TopicPartition) -> float:
        """When a broker last answered for a partition, by the monotonic clock; never is long ago."""
        assignment = self._subscription.subscription.assignment
        heard_s = assignment.state_value(at).timestamp if at in assignment.tps else None
        return -math.inf if heard_s is None else float(heard_s)

    def has_unread(self, at: TopicPartition) -> bool:
        """Whether records of a partition wait to be taken: here, or by its last answer at the broker."""
        if at in self._fetcher._records:
            return True
        assignment = self._subscription.subscription.assignment
        state = assignment.state_value(at) if at in assignment.tps else None
        if state is None or state._position is None:
            return False
        end = state.lso if self._fetcher._isolation_level == READ_COMMITTED else state.highwater
        return end is not None and bool(state._position < end)

    def pace(self, *, wait_ms: int, metadata_age_ms: int) -> None:
        """How long the next fetches wait at a broker that has no records for them, and how long who leads the topics is
        believed to be as it was: it is asked for at once where that has been longer until now."""
        self._fetcher._fetch_max_wait_ms = wait_ms
        was_ms, self._client._metadata_max_age_ms = self._client._metadata_max_age_ms, metadata_age_ms
        if was_ms > metadata_age_ms:
            self._client.force_metadata_update()

    def interrupt(self) -> None:
        """Let whoever waits for blocks have none, and ask anew."""
        for waiter in self._fetcher._fetch_waiters:
            if not waiter.done():
                waiter.set_exception(_InterruptedError)

    def look_again(self) -> None:
        """What is wanted has changed: `blocks` may have to return what it has passed over."""
        for waiter in self._fetcher._fetch_waiters:
            self._fetcher._notify(waiter)


class UnreadableError(Exception):
    """What the broker sent of a partition is damaged, or in a form that is not known here."""

    def __init__(self, at: TopicPartition, offset: int, error: Exception) -> None:
        super().__init__(f"{at.topic}[{at.partition}] can't be read from offset {offset} on: {error!r}")
        self.at = at


class _InterruptedError(Exception):
    """There is something else to wait for."""


async def _fetch_or_hang_up(
    fetcher: Any, fetch: Callable[..., Awaitable[bool]], assignment: Any, node_id: int, request: Any
) -> bool:
    """Fetch; a fetch that is given up, since others are assigned, takes its connection with it.

    A broker answers the requests of a connection in turn: behind a fetch that waits there for records, the first of a
    partition that has just moved here would wait, too.

    Whoever waits for records is woken here, before the fetch routine is by the end of this: so they are taken when it
    looks, and it sends the next fetch at once instead of waiting for that, too.
    """
    try:
        has_news = await fetch(assignment, node_id, request)
        _note_answers(assignment, request)
        if has_news:
            for waiter in fetcher._fetch_waiters:
                fetcher._notify(waiter)
        return False  # nobody else needs to be woken
    finally:
        connection = fetcher._client._conns.get((node_id, ConnectionGroup.DEFAULT))
        unanswered = [] if connection is None else [answer for _, _, answer in connection._requests]
        if not assignment.active and unanswered and all(answer.done() for answer in unanswered):  # by nobody awaited
            connection.close()


def _actions(fetcher: Any, actions: Callable[[Any], Any], assignment: Any) -> Any:
    """What to fetch next. While records wait here to be taken, only the other partitions are fetched, and a partition
    whose records are taken meanwhile must wait for the answer: it would wait as long as silent ones are silent."""
    wait_ms = fetcher._fetch_max_wait_ms
    if fetcher._records:
        fetcher._fetch_max_wait_ms = min(wait_ms, HELD_WAIT_MS)
    try:
        return actions(assignment)
    finally:
        fetcher._fetch_max_wait_ms = wait_ms


def _asker(fetcher: Any) -> SimpleNamespace:
    """A fetcher as far as it asks where topics begin and end: over another connection than that of its fetches, behind
    which a question would wait for as long as they wait for records. A takeover begins with one, and is waited for."""
    ask = partial(fetcher._client.send, group=ConnectionGroup.COORDINATION)
    return SimpleNamespace(_client=SimpleNamespace(send=ask), _isolation_level=fetcher._isolation_level)


def _note_answers(assignment: Any, request: Any) -> None:
    """Stamp what was just answered with a clock that nobody can set, in place of aiokafka's stamp, a whole number."""
    for topic, partitions in request.topics if assignment.active else ():
        for partition, *_ in partitions:
            state = assignment.state_value(TopicPartition(topic, partition))
            if isinstance(state.timestamp, int):
                state.timestamp = time.monotonic()


class _InFlight(set[int]):
    """The brokers that a fetch is under way to. Its end wakes the fetch routine.

    When others are assigned while a fetch ends, the routine may look a turn too early, find its broker still in here,
    and go to sleep for as long as `consumer_timeout_ms`.
    """

    def __init__(self, fetcher: Any) -> None:
        super().__init__()
        self._fetcher = fetcher

    def discard(self, node_id: object) -> None:
        super().discard(node_id)
        self._fetcher._notify(self._fetcher._wait_consume_future)


class _Blocks(OrderedDict[TopicPartition, Any]):
    """The fetcher's store of answers. What is put in is taught to come out as one block."""

    def __setitem__(self, partition: TopicPartition, answer: Any) -> None:
        if isinstance(answer, FetchResult):
            answer.getall = partial(take_block, answer)
        super().__setitem__(partition, answer)


def take_block(answer: FetchResult, _max_records: int | None = None) -> Block:
    """All records of one answer. The size of an answer is bounded by `max_partition_fetch_bytes`, not by a count."""
    if not answer.has_more() or not answer.check_assignment(answer._topic_partition):
        return Block()
    fetched = answer._partition_records
    try:
        block = _records(fetched)
    except Exception as error:
        answer._partition_records = None  # half read; it is fetched again, or the rest would come without this batch
        raise UnreadableError(fetched._tp, fetched.next_fetch_offset, error) from error
    answer._update_position()
    # The answer and its records hold each other by an iterator that nobody asks; with our rare garbage collection the
    # bytes of every answer would stay, a megabyte each.
    fetched._records_iterator = answer._partition_records = None
    del answer.getall
    return block


def _records(fetched: Any) -> Block:
    """The records of the answer's batches, without aborted transactions and what lies before the wanted offset.

    What came uncompressed is as large as the answer was; only what came compressed must be weighed.
    """
    block, is_compressed = Block(), False
    batches = fetched._records
    answer_bytes = batches.size_in_bytes()
    while batches.has_next():
        batch = batches.next_batch()
        if fetched._check_crcs and not batch.validate_crc():
            raise CorruptRecordException(f"a batch of {fetched._tp} at offset {batch.base_offset} fails its checksum")
        if not is_skipped(fetched, batch):
            records = _read(batches, batch)
            is_compressed = is_compressed or batch.compression_type != 0
            if records and records[0].offset < fetched.next_fetch_offset:
                records = [record for record in records if record.offset >= fetched.next_fetch_offset]
            block.extend(records)
        fetched.next_fetch_offset = batch.next_offset
    block.size_bytes = RECORD_BYTES * len(block) + (_weighed_bytes(block) if is_compressed else answer_bytes)
    return block


def _read(answer: KeptRecords, batch: Any) -> list[Record]:
    try:
        return list(batch)
    except UnicodeDecodeError:
        return answer.reread(batch.base_offset)


def _weighed_bytes(block: Block) -> int:
    """How long the values are in all, by a sample of them: each that is looked at costs as much as to decode it."""
    step = 1 + len(block) // WEIGHED_MAX
    weighed = block[::step]
    return values_bytes([record.value for record in weighed]) * len(block) // max(1, len(weighed))


def values_bytes(values: list[bytes | None]) -> int:
    """How long some values are in all. Tombstones are rare, and to look for them costs more than to count."""
    try:
        return sum(map(len, values))  # type: ignore[arg-type]  # what is caught below
    except TypeError:
        return sum(map(len, filter(None, values)))


def is_skipped(fetched: Any, batch: Any) -> bool:
    """Whether a batch holds no records for us: a control batch, or one of a transaction that was aborted."""
    if fetched._isolation_level == READ_COMMITTED and batch.producer_id is not None:
        fetched._consume_aborted_up_to(batch.base_offset)
        if batch.is_control_batch and fetched._contains_abort_marker(batch):
            fetched._aborted_producers.discard(batch.producer_id)
        if batch.is_transactional and batch.producer_id in fetched._aborted_producers:
            return True
    return bool(batch.is_control_batch)
