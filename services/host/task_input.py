"""The inputs of a task: partitions of source and edge topics, from fetched records to batches for the program.

What inputs must remember (how far event time has come) is a few numbers. They are kept as the metadata of the committed
offset, so they always belong to exactly that offset, and a segment without state needs no changelog.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aiokafka import TopicPartition

from services.host.edge_headers import read_born, rests
from services.host.fetch import Record, values_bytes
from services.host.remembered import Note, Remembered, read_note
from services.host.segment_plan import Input
from services.host.snapshot import SnapshotPlace
from services.operators.batch import Batch
from services.operators.failure import Failure
from services.operators.intake import SourceIntake
from services.operators.table import Table
from services.operators.watermark import InputWatermarks, Upstream
from topics.catalogue import EDGE
from topics.errors import MessageError, OtherVersionError
from topics.messages import Origin

NOBODY = -1
"""The partition that stands for the writers of an input that has none."""

TURNS = 1 << 32
TURN = 0x9E3779B9
"""The golden section of all turns: steps of this length are spread evenly however many there are."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What some fetched records became.

    `originals`: the raw records that can't be read, by offset, for dead letters. `born_ms`: when one of the source's
    records that it came from was written, the sample by which latency is measured; None if nobody knows. `size_bytes`:
    of the records' values. `dropped`: late or unreadable ones that another segment sets aside. `fetched`: how many
    records it was; none if only time has moved on.
    """

    batch: Batch
    late: Batch
    failures: list[Failure]
    origin: Origin
    originals: Mapping[int, Record] = field(default_factory=dict)
    born_ms: int | None = None
    size_bytes: int = 0
    dropped: int = 0
    fetched: int = 0


class TaskInput:
    """One partition. `next_offset`: the first that was not yet processed; `fetch_offset`: the first not yet fetched."""

    def __init__(self, plan: Input, partition: int) -> None:
        self.plan = plan
        self.at = TopicPartition(plan.topic, partition)
        self.next_offset = 0
        self.fetch_offset = 0
        self.intake = None
        if plan.source is not None:
            self.intake = SourceIntake(plan.source, fields=plan.fields, slots=plan.slots)
        self._turn = 0

    def sample(self, records: Sequence[Record]) -> Record:
        """One of these records, each time from another place, so that over some batches all places come equally often.

        The last of a batch has waited for the shortest: by it alone, flows would seem quicker the more waits for them.
        """
        self._turn = (self._turn + TURN) % TURNS
        return records[self._turn * len(records) // TURNS]

    @property
    def upstream(self) -> Upstream:
        """Who writes to it: a source partition by itself, or every partition of the upstream segment."""
        partitions = [self.at.partition] if self.plan.source is not None else range(self.plan.upstream_partitions)
        return Upstream(partitions, self.plan.idle_ms)


class NewWriterError(Exception):
    """A partition of the segment before ours writes to an edge, and our plan does not know it yet.

    Its source topic has grown. The registry tells all hosts, but they do not hear it at the same instant.
    """


class TaskInputs:
    """All inputs of a task, and the watermarks over them."""

    def __init__(self, plans: Sequence[Input], partition: int) -> None:
        self.by_name = {each.name: TaskInput(each, partition) for each in plans if partition < each.partitions}
        upstream = {name: each.upstream for name, each in self.by_name.items()}
        # Of an input with fewer partitions than others nothing comes to the last tasks: nobody there may wait for it.
        absent = [each.name for each in plans if each.name not in self.by_name]
        self._watermarks = InputWatermarks({**upstream, **{name: Upstream([NOBODY], None) for name in absent}})
        for name in absent:
            self._watermarks.rest(name, NOBODY)

    def watermark_ms(self, name: str) -> int:
        """How far event time has come on an input."""
        return self._watermarks.watermark_ms(name)

    def read(self, name: str, records: list[Record], *, now_ms: int) -> Iterator[Parcel]:
        """The records as parcels, in order. After the last one the input's `next_offset` is past them all."""
        each = self.by_name[name]
        if each.intake is not None:
            yield self._from_source(name, each, each.intake, records, now_ms)
        else:
            for record in records:
                yield self._from_edge(name, each, record, now_ms)
        each.next_offset = records[-1].offset + 1

    def moved(self, *, now_ms: int, unread: Container[str] = ()) -> list[tuple[str, Batch]]:
        """Batches without records for the inputs on which time moved on because something is silent.

        `unread`: the inputs of which something waits, so that they are not silent.
        """
        moved = self._watermarks.moved(now_ms=now_ms, unread=unread)
        return [(name, Batch.empty(watermark_ms)) for name, watermark_ms in moved]

    def is_idle(self, *, now_ms: int) -> bool:
        """Whether nothing comes from anywhere, so that nobody should wait for what this task sends."""
        return self._watermarks.is_idle(now_ms=now_ms)

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The first offset of each input that was not yet processed."""
        return {each.at: each.next_offset for each in self.by_name.values()}

    def remembered(self, snapshot: SnapshotPlace | None) -> Remembered:
        """All that belongs to these offsets, and where the last snapshot is."""
        return Remembered(snapshot, {name: table.data for name, table in self._tables().items()})

    def note(self, committed: Mapping[TopicPartition, tuple[int, str]]) -> Note:
        """What stands with the committed offsets; an input that is new has nothing."""
        texts = [committed[each.at][1] for each in self.by_name.values()]
        return read_note(next(filter(None, reversed(texts)), ""))

    def resume(self, committed: Mapping[TopicPartition, tuple[int, str]], remembered: Remembered) -> None:
        """Go on from what was committed."""
        for each in self.by_name.values():
            each.next_offset = each.fetch_offset = committed[each.at][0]
        for name, table in self._tables().items():
            table.data.update(remembered.tables.get(name, {}))

    def _tables(self) -> dict[str, Table]:
        clocks = {
            f"{name}/{table_name}": table
            for name, each in self.by_name.items()
            if each.intake is not None
            for table_name, table in each.intake.tables.items()
        }
        return clocks | {f"watermarks/{name}": table for name, table in self._watermarks.tables.items()}

    def _from_source(
        self, name: str, each: TaskInput, intake: SourceIntake, records: list[Record], now_ms: int
    ) -> Parcel:
        at = each.at
        values = [record.value for record in records]
        arrivals = intake.read(
            values,
            [record.key for record in records],
            [record.timestamp for record in records] if intake.reads_timestamps else [],
            _offsets(records),
        )
        batch, behind = self._watermarks.admit(name, at.partition, arrivals.batch, now_ms=now_ms)
        failed = {failure.offset for failure in arrivals.failures}
        originals = {record.offset: record for record in records if record.offset in failed} if failed else {}
        origin = Origin(at.topic, at.partition, records[0].offset)
        late, dropped = arrivals.whole(behind), len(arrivals.late) + len(arrivals.failures)
        if each.plan.tells:
            late, dropped = _joined(arrivals.late, late), 0
        born_ms = each.sample(records).timestamp
        size_bytes = values_bytes(values)
        return Parcel(
            batch,
            late,
            arrivals.failures,
            origin,
            originals,
            born_ms if born_ms >= 0 else None,
            size_bytes,
            dropped,
            len(records),
        )

    def _from_edge(self, name: str, each: TaskInput, record: Record, now_ms: int) -> Parcel:
        at = each.at
        try:
            block = EDGE.codec.decode(record.value, topic=at.topic, partition=at.partition, offset=record.offset)
        except OtherVersionError:
            raise  # it is one of ours, and holds what must not be lost: it waits for a host that can read it
        except MessageError as error:
            return self._foreign(name, at, record, str(error))
        if block.segment != each.plan.writer:
            # What a former revision's segment computed; the present one sends all of it anew.
            nothing = Batch.empty(self.watermark_ms(name))
            return Parcel(nothing, nothing, [], Origin(block.origin_topic, block.origin_partition, 0), fetched=1)
        if block.partition >= each.plan.upstream_partitions:
            raise NewWriterError(
                f"{at.topic}[{at.partition}]: partition {block.partition} of {block.segment} writes to it, and "
                f"{each.plan.upstream_partitions} were known when this task began; it begins anew with the registry's "
                "next word"
            )
        sent = Batch(block.values, block.keys, block.times_ms, block.offsets, block.watermark_ms)
        batch, late = self._watermarks.admit(name, block.partition, sent, now_ms=now_ms)
        if rests(record.headers):
            self._watermarks.rest(name, block.partition)
        origin = Origin(block.origin_topic, block.origin_partition, 0)
        return Parcel(
            batch, late, [], origin, born_ms=read_born(record.headers), size_bytes=len(record.value), fetched=1
        )

    def _foreign(self, name: str, at: TopicPartition, record: Record, error: str) -> Parcel:
        """Nobody but hosts should write to an edge, but anybody can: it is set aside, and holds up none of ours."""
        nothing = Batch.empty(self.watermark_ms(name))
        return Parcel(
            nothing,
            nothing,
            [Failure(name, record.offset, error, record.value)],
            Origin(at.topic, at.partition, record.offset),
            {record.offset: record},
            size_bytes=len(record.value or b""),
            fetched=1,
        )


def _offsets(records: list[Record]) -> Sequence[int]:
    """The offsets of some records, which have no gaps where nothing was compacted and no transaction ended."""
    first, last = records[0].offset, records[-1].offset
    return range(first, last + 1) if last - first + 1 == len(records) else [record.offset for record in records]


def _joined(one: Batch, other: Batch) -> Batch:
    if not one.values or not other.values:
        return one if one.values else other
    return Batch(
        one.values + other.values,
        one.keys + other.keys,
        one.times + other.times,
        [*one.offsets, *other.offsets],
        one.watermark_ms,
    )


def from_offset(records: list[Record], offset: int) -> list[Record]:
    """The records from this offset on: what a task has already processed never comes in twice."""
    if not records or records[0].offset >= offset:
        return records
    return [record for record in records if record.offset >= offset]
