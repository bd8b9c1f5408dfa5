"""Landmarks: a task's notes that Kafka does not forget, on a compacted topic of its flow.

A broker deletes a committed offset some time after its last commit (`offsets.retention.minutes`, a week by default):
our groups have no members, so it counts while a task runs, too. A task therefore commits from time to time what it has
committed before, and puts a landmark into the same transaction. Where the offsets are gone nevertheless, after a long
rest say, the landmark tells a task that has run before from one that is new: to begin anew would give all results
again, on top of the state that was kept.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

from aiokafka import TopicPartition
from aiokafka.errors import RequestTimedOutError

from services.host.beginnings import FirstRecordsGoneError
from services.host.fetch import BlockConsumer, Record
from services.host.remembered import Note, Remembered, unpack
from services.host.segment_plan import SegmentPlan
from topics.catalogue import LANDMARKS
from topics.messages import Landmark

LANDMARK_EVERY_MS = 3_600_000
"""So often a task commits, idle or not: far below the days for which a broker keeps an offset."""
READ_S_MAX = 60.0
"""What lies behind another task's open transaction can be read when that has ended: after seconds at the most."""
POLL_MS = 20


class OffsetsLostError(Exception):
    """A task that has run before has no committed offsets any more: a person must say where it goes on."""


class Landmarks:
    """Those of one task."""

    def __init__(self, bootstrap: str, plan: SegmentPlan, partition: int) -> None:
        self._bootstrap = bootstrap
        self._plan = plan
        self._partition = partition

    def entry(
        self, epoch: int, offsets: Mapping[TopicPartition, int], remembered: bytes | None, *, now_ms: int
    ) -> tuple[bytes | None, bytes]:
        """Key and value of a new one."""
        landmark = Landmark(
            segment=self._plan.segment.id,
            partition=self._partition,
            epoch=epoch,
            committed_ms=now_ms,
            offsets={at.topic: offset for at, offset in offsets.items()},
            remembered=remembered,
        )
        return LANDMARKS.key_of(landmark), LANDMARKS.codec.encode(landmark, topic=self._plan.landmarks)

    async def recall(self, note: Note) -> Remembered:
        """All that belongs to the offset where this note was found. Raises OffsetsLostError."""
        if note.packed is not None:
            return unpack(note.packed)
        landmark = await self.last(from_offset=note.landmark_offset)
        if landmark is None or landmark.remembered is None:
            raise OffsetsLostError(
                f"{self._plan.group}: what belongs to its offsets stood on topic {self._plan.landmarks} and is gone "
                f"from there; {self._set_by_hand({})}"
            )
        return unpack(landmark.remembered)

    async def check_new(self) -> None:
        """Raise OffsetsLostError if this task has ever committed anything."""
        landmark = await self.last()
        if landmark is not None:
            at = datetime.fromtimestamp(landmark.committed_ms / 1_000, UTC)
            stood = ", ".join(f"{topic} at offset {offset}" for topic, offset in landmark.offsets.items())
            raise OffsetsLostError(
                f"{self._plan.group}: it has run before (on {at:%Y-%m-%d %H:%M} UTC partition {self._partition} stood "
                f"on {stood}), but Kafka has no committed offsets of it any more: it deletes them "
                "offsets.retention.minutes after the last commit, and with their topic. To read all again would give "
                "results twice, so it waits; "
                f"{self._set_by_hand(landmark.offsets)}"
            )

    async def check_read(self, beginnings: Mapping[TopicPartition, int]) -> None:
        """Raise FirstRecordsGoneError if an edge of ours no longer has records that nobody has read.

        A revision's segment is new too, and begins where the edge now begins: what is gone before that a segment of the
        revision before it has read, and left its landmark.
        """
        edges = {each.topic for each in self._plan.inputs if each.source is None and each.server is None}
        begun_late = {at: offset for at, offset in beginnings.items() if at.topic in edges and offset > 0}
        if not begun_late:
            return
        told = [each for each in await self.all() if each.partition == self._partition]
        for at, offset in sorted(begun_late.items()):
            if not any(at.topic in each.offsets for each in told):
                raise FirstRecordsGoneError(
                    f"{self._plan.group}: nobody has read {at.topic}[{at.partition}] so far, and Kafka has kept it "
                    f"from offset {offset} on only: results would be wrong. To go on without what is gone, "
                    f"{self._set_by_hand({each.topic: begins for each, begins in beginnings.items()})}"
                )

    async def last(self, *, from_offset: int = 0) -> Landmark | None:
        """The newest of this task that was committed, asked after the former owner was fenced."""
        found = (await self._newest(from_offset)).get(f"{self._plan.segment.id}/{self._partition}".encode())
        return self._decoded(found) if found is not None else None

    async def all(self) -> list[Landmark]:
        """The newest of each task that the flow has ever had."""
        return [self._decoded(record) for record in (await self._newest(0)).values()]

    async def _newest(self, from_offset: int) -> dict[bytes, Record]:
        at = TopicPartition(self._plan.landmarks, 0)
        consumer = BlockConsumer(
            bootstrap_servers=self._bootstrap,
            client_id=f"{self._plan.transactional_id(self._partition)}.landmarks",
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=POLL_MS,
        )
        try:
            await consumer.start()
            consumer.assign([at])
            consumer.seek(at, max(from_offset, (await consumer.beginning_offsets([at]))[at]))
            async with asyncio.timeout(READ_S_MAX):
                return await _read_to_the_end(consumer, at)
        except TimeoutError:
            waited = f"{at.topic} could not be read to its end in {READ_S_MAX:.0f} s: a transaction stays open on it"
            raise RequestTimedOutError(waited) from None
        finally:
            await consumer.stop()

    def _decoded(self, record: Record) -> Landmark:
        return LANDMARKS.codec.decode(record.value, topic=self._plan.landmarks, partition=0, offset=record.offset)

    def _set_by_hand(self, offsets: Mapping[str, int]) -> str:
        """What a person can do; the task is tried again by itself and finds it."""
        topics = [each.topic for each in self._plan.inputs if self._partition < each.partitions]
        commands = " and ".join(
            f"kafka-consumer-groups --bootstrap-server {self._bootstrap} --group {self._plan.group} "
            f"--topic {topic}:{self._partition} --reset-offsets --to-offset "
            f"{offsets.get(topic, 'OFFSET')} --execute"
            for topic in topics
        )
        return (
            f"say where it goes on, by {commands} (or --to-datetime, --to-latest), or withdraw the flow and submit it "
            "under another name to begin anew"
        )


async def _read_to_the_end(consumer: BlockConsumer, at: TopicPartition) -> dict[bytes, Record]:
    """The last record of each key. To where the topic really ends, not to the first open transaction: ours may lie
    behind another task's. And to where it ends when it is first asked: others may write to it all the time."""
    newest: dict[bytes, Record] = {}
    end = None
    while end is None or await consumer.position(at) < end:
        for records in (await consumer.getmany(timeout_ms=POLL_MS)).values():
            newest |= {record.key: record for record in records}
        end = consumer.highwater(at) if end is None else end
    return newest
