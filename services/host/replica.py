"""A replica: the state of a task, rebuilt from its snapshot and changelogs, and kept up to date as long as one likes.

A task that starts catches up once, after it has fenced the former owner. A standby on another host follows the
changelogs while the owner works; when it takes over, only the last few changes are missing.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping

import structlog
from aiokafka import TopicPartition

from services.host.changelog import apply
from services.host.fetch import BlockConsumer, Record
from services.host.gently import gently
from services.host.snapshot import SnapshotPlace, load_piece
from services.operators.program import Program

log = structlog.get_logger(__name__)

FETCH_BYTES_MAX = 2 << 20
PORTION_ENTRIES = 1_000
"""Applied in one go, one to three milliseconds: the other tasks of the host have their turn in between."""

CATCH_UP_POLL_S = 0.005
"""Where a transaction was aborted the end is reached without a record that would wake us."""


class Replica:
    """`open`, `read` and `catch_up` as often as wanted, `close`.

    `positions`: the next changelog offset for each operator, after it has caught up.
    `is_gentle`: nobody waits for it, so it takes no more than half of the host's time.
    """

    def __init__(
        self,
        program: Program,
        changelogs: Mapping[str, str],
        snapshots: str,
        partition: int,
        *,
        bootstrap: str,
        client_id: str,
    ) -> None:
        self._program = program
        self._operators = {TopicPartition(topic, partition): operator for operator, topic in changelogs.items()}
        self._snapshots = TopicPartition(snapshots, partition)
        self._new_consumer = lambda: BlockConsumer(
            bootstrap_servers=bootstrap,
            client_id=client_id,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=FETCH_BYTES_MAX,
        )
        self._consumer = self._new_consumer()
        self.positions = dict.fromkeys(changelogs, 0)
        self.entries_read = 0
        self.is_gentle = False
        self._unapplied: deque[tuple[str, list[Record]]] = deque()

    async def open(self, place: SnapshotPlace | None) -> None:
        """Load the snapshot, if there is one, and begin to fetch the changelogs after it.

        Where pieces of it are missing (its topic was made anew, or lost its end with a broker's disk), the changelogs
        are read from their beginning: they are compacted, so the whole of them is the state too.
        """
        consumer = self._consumer
        await consumer.start()
        if place is not None:
            found = await self._load(place)
            if found == place.pieces:
                self.positions |= place.offsets
            else:
                log.warning(
                    "a snapshot is incomplete; all changes are read instead",
                    topic=self._snapshots.topic,
                    partition=self._snapshots.partition,
                    pieces=place.pieces,
                    found=found,
                )
                await gently(self._program.forget())
        consumer.assign(list(self._operators))
        beginnings = await consumer.beginning_offsets(list(self._operators))
        for at, operator in self._operators.items():
            consumer.seek(at, max(self.positions[operator], beginnings[at]))

    async def catch_up(self) -> None:
        """Read the changelogs to their present end. Before the first call, and after a pause, that may take a while."""
        ends = await self._consumer.end_offsets(list(self._operators))
        while self._unapplied or not await _has_reached(self._consumer, ends):
            await self.read(timeout_s=CATCH_UP_POLL_S)
        self.positions = {operator: ends[at] for at, operator in self._operators.items()}

    async def read(self, *, timeout_s: float) -> int:
        """Apply what was fetched, or what comes in this time; returns the number of entries."""
        if not self._unapplied:
            for at, records in (await self._consumer.getmany(timeout_ms=int(timeout_s * 1_000))).items():
                for start in range(0, len(records), PORTION_ENTRIES):
                    self._unapplied.append((self._operators[at], records[start : start + PORTION_ENTRIES]))
        count = 0
        while self._unapplied:  # whoever is cancelled while others have their turn leaves the rest to the next read
            begin_s = time.monotonic()
            operator, portion = self._unapplied[0]
            apply(self._program, operator, portion)
            self._unapplied.popleft()  # only now: a full disk may have taken nothing of it
            count += len(portion)
            self.entries_read += len(portion)
            await self._let_others(time.monotonic() - begin_s)
        return count

    async def _let_others(self, worked_s: float) -> None:
        await asyncio.sleep(worked_s if self.is_gentle else 0)

    async def close(self) -> None:
        """Stop reading; the program keeps what was read."""
        await self._consumer.stop()

    async def _load(self, place: SnapshotPlace) -> int:
        """Returns how many of its pieces were found.

        By a consumer of its own: when it reaches the snapshot's end its next fetch is already on its way and waits
        at the broker, and the first fetch of the changelogs would wait behind it.
        """
        consumer, at = self._new_consumer(), self._snapshots
        found: set[bytes] = set()
        try:
            await consumer.start()
            consumer.assign([at])
            ends: dict[TopicPartition, int] = await consumer.end_offsets([at])
            # A topic that ends before the place was made anew, and may since have got a snapshot nearer its beginning.
            begin = place.from_offset if place.from_offset <= ends[at] else 0
            consumer.seek(at, max(begin, (await consumer.beginning_offsets([at]))[at]))
            while not await _has_reached(consumer, ends):
                for record in (await consumer.getmany(timeout_ms=int(CATCH_UP_POLL_S * 1_000))).get(at, ()):
                    begin_s = time.monotonic()
                    entries = load_piece(self._program, place, record.key, record.value)
                    if entries is not None:
                        found.add(record.key)
                        self.entries_read += entries
                    await self._let_others(time.monotonic() - begin_s)
        finally:
            await consumer.stop()
        return len(found)


async def _has_reached(consumer: BlockConsumer, ends: Mapping[TopicPartition, int]) -> bool:
    """The position also moves over transaction markers and compacted records, which bring no record."""
    return all([await consumer.position(at) >= end for at, end in ends.items()])
