"""Following the registry: compacted topics read from the beginning and then for ever, without a consumer group."""

import asyncio
from collections.abc import Callable, Sequence

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from services.registry.view import RegistryView
from topics.messages import Message
from topics.topic import Topic

log = structlog.get_logger(__name__)

POLL_MS = 500
FETCH_WAIT_MS = 2_000
"""So long a fetch waits at a broker where nothing changes: every process follows a dozen topics on all brokers."""
PAUSE_S = 0.2

OnMessage = Callable[[Message], None]
OnApplied = Callable[[], None]


class RegistryFollower:
    """`start`, `catch_up` with what is there, `run` until cancelled; `fresh` waits for what was just written."""

    def __init__(
        self, bootstrap: str, view: RegistryView, topics: Sequence[Topic], *, client_id: str, on_message: OnMessage
    ) -> None:
        self._view = view
        self._on_message = on_message
        self._partitions = [TopicPartition(topic.name, 0) for topic in topics]
        self._applied = dict.fromkeys(self._partitions, 0)
        self._moved = asyncio.Condition()
        # A broker answers the requests of a connection in turn, so what is asked behind a fetch waits as long as that.
        self._consumer, self._asker = (
            AIOKafkaConsumer(
                bootstrap_servers=bootstrap,
                client_id=client_id,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                isolation_level="read_committed",  # a placement instance that was fenced may have left half a write
                fetch_max_wait_ms=FETCH_WAIT_MS,
                retry_backoff_ms=50,
                metadata_max_age_ms=5_000,
                request_timeout_ms=10_000,
            )
            for _ in range(2)
        )
        self._may_ask = False

    async def start(self) -> None:
        """Connect. May be called again after it has raised a KafkaError."""
        if not self._may_ask:
            await self._asker.start()
            self._asker.assign(self._partitions)  # so that it learns of all topics at once
            self._asker.pause(*self._partitions)
            self._may_ask = True
        await self._consumer.start()
        self._consumer.assign(self._partitions)

    async def catch_up(self) -> None:
        """Returns when everything that was written before has been applied. May be called again, too."""
        ends = await self._asker.end_offsets(self._partitions)
        while not self._has_reached(ends):
            await self._step()

    async def run(self, on_applied: OnApplied) -> None:
        """Apply what comes, for ever; `on_applied` is called after each bunch of records."""
        while True:
            try:
                if await self._step():
                    on_applied()
            except KafkaError as error:
                log.warning("the registry can't be read; trying again", error=repr(error))
                await asyncio.sleep(PAUSE_S)

    async def fresh(self) -> None:
        """Returns when everything that was written before this call has been applied. `run` must be running."""
        ends = await self._asker.end_offsets(self._partitions)
        async with self._moved:
            await self._moved.wait_for(lambda: self._has_reached(ends))

    async def reread(self) -> None:
        """Read everything from the beginning again, into an emptied view. `run` must be running."""
        self._view.clear()
        self._applied = dict.fromkeys(self._partitions, 0)
        await self._consumer.seek_to_beginning(*self._partitions)
        await self.fresh()

    async def stop(self) -> None:
        try:
            await self._consumer.stop()
        finally:
            await self._asker.stop()

    async def _step(self) -> bool:
        """Fetch and apply once; whether anything came."""
        fetched = await self._consumer.getmany(timeout_ms=POLL_MS)
        for at, records in fetched.items():
            for record in records:
                message = self._view.apply(
                    at.topic,
                    record.key,
                    record.value,
                    partition=at.partition,
                    offset=record.offset,
                    appended_ms=record.timestamp,
                )
                if message is not None:
                    self._on_message(message)
        async with self._moved:
            for at in self._partitions:
                self._applied[at] = await self._consumer.position(at)
            self._moved.notify_all()
        return bool(fetched)

    def _has_reached(self, ends: dict[TopicPartition, int]) -> bool:
        return all(self._applied[at] >= end for at, end in ends.items())
