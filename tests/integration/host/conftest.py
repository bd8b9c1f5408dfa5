"""A small bench for segments on the real broker: make a flow, run its segments in this process, send, read results."""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from services.host.changelog import changelog_topics
from services.host.plan_topics import declarations
from services.host.segment import Segment
from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.task_context import ClockMs, TaskContext, wall_clock_ms
from services.operators.wiring import segment_program
from topics import admin
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph

Rows = list[tuple[bytes | None, Any]]


@dataclass
class Bench:
    """One flow on one broker. `text` has the placeholders {source} and {sink}."""

    bootstrap: str
    graph: FlowGraph
    source: str
    sink: str
    partitions: int
    folder: Path
    now_ms: ClockMs = wall_clock_ms
    segments: list[Segment] = field(default_factory=list)
    states: list[tuple[int, str, str | None]] = field(default_factory=list)

    def plans(self) -> list[SegmentPlan]:
        counts = {self.source: self.partitions, self.sink: self.partitions}
        return [plan_segment(self.graph, segment.id, counts) for segment in self.graph.segments]

    def make_topics(self) -> None:
        for plan in self.plans():
            logs = changelog_topics(plan.graph, segment_program(plan.graph, plan.segment, allow=("tests",)))
            ensured = admin.ensure(admin.connect(self.bootstrap), declarations(plan, list(logs.values())))
            assert () == ensured.differences

    async def begin(self, *, epoch: int = 1, allow: Sequence[str] = ()) -> list[Segment]:
        """All segments with all partitions, in this process."""
        begun = []
        for plan in self.plans():
            segment = self.segment(plan, allow=allow)
            await segment.begin()
            for partition in range(plan.partitions):
                await segment.own(partition, epoch)
            begun.append(segment)
        return begun

    def segment(self, plan: SegmentPlan, *, allow: Sequence[str] = ()) -> Segment:
        """One segment, not begun, that `stop` will stop."""
        context = TaskContext(self.bootstrap, allow=tuple(allow), now_ms=self.now_ms)
        self.segments.append(Segment(plan, context, data_folder=self.folder, on_state=self._note))
        return self.segments[-1]

    async def followed(self, standby: Segment, owner: Segment, *, timeout_s: float = 60.0) -> None:
        """Wait until a standby's tables are those of the owner."""
        async with asyncio.timeout(timeout_s):
            for partition in standby.standbys:
                theirs = owner.seats[partition].task._program.tables
                ours = standby.followed()[partition].memory.program.tables
                while any(theirs[name].data != ours[name].data for name in theirs):
                    await asyncio.sleep(0.02)

    def _note(self, segment: Segment, seat: Any) -> None:
        self.states.append((seat.partition, seat.state, seat.reason))

    async def send(self, values: Sequence[Any], *, key: Callable[[Any], bytes | None] = lambda _: None) -> None:
        """Records in turn over the partitions, or by key; raw bytes go as they are."""
        producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap)
        await producer.start()
        try:
            for i, value in enumerate(values):
                raw = value if isinstance(value, bytes) else msgspec.json.encode(value)
                chosen = key(value)
                partition = None if chosen is not None else i % self.partitions
                await producer.send(self.source, raw, key=chosen, partition=partition)
            await producer.flush()
        finally:
            await producer.stop()

    async def read(self, topic: str, *, committed: bool = True) -> Rows:
        """Everything on a topic up to its present end."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed" if committed else "read_uncommitted",
        )
        await consumer.start()
        try:
            await consumer._client.add_topic(topic)
            partitions = [TopicPartition(topic, each) for each in sorted(consumer.partitions_for_topic(topic))]
            consumer.assign(partitions)
            ends = await consumer.end_offsets(partitions)
            await consumer.seek_to_beginning(*partitions)
            rows: Rows = []
            while [at for at in partitions if await consumer.position(at) < ends[at]]:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    rows += [(record.key, msgspec.json.decode(record.value)) for record in records]
            return rows
        finally:
            await consumer.stop()

    async def until(self, condition: Callable[[Rows], bool], *, timeout_s: float = 120.0) -> Rows:
        """What the sink holds when the condition is true of it."""
        rows: Rows = []
        try:
            async with asyncio.timeout(timeout_s):
                while not condition(rows := await self.read(self.sink)):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            written = await self.read(self.sink, committed=False)
            pytest.fail(
                f"not in {timeout_s} s; the sink holds {len(rows)} committed rows of {len(written)}\n{self.describe()}"
            )
        return rows

    def describe(self) -> str:
        """Where everything stands, for a test that waited in vain."""
        lines = [str(self.states)]
        for segment in self.segments:
            consumer = segment._consumer
            lines.append(f"{segment.plan.segment.id}: assigned {consumer.assignment()}, feed {segment._background[0]}")
            for seat in segment.seats.values():
                task = seat.task
                if task is None:
                    lines.append(f"  {seat}: no task")
                    continue
                inputs = {name: (each.next_offset, each.fetch_offset) for name, each in task._inputs.by_name.items()}
                marks = {name: task._inputs.watermark_ms(name) for name in inputs}
                ends = {at: consumer.highwater(at) for at in consumer.assignment()}
                lines.append(
                    f"  {seat}: room {task.has_room}, idle {task._inbox.is_idle}, dirty {task._is_dirty}, "
                    f"commits {task.commits}, transaction open {task._writer._open}, inputs {inputs}, "
                    f"watermarks {marks}, highwaters {ends}, running {seat.running}\n"
                    f"    tables { {name: len(table.data) for name, table in task._program.tables.items()} }"
                )
        return "\n".join(lines)

    async def stop(self) -> None:
        for segment in self.segments:
            await segment.stop()
        self.segments.clear()


@pytest.fixture
def bench(kafka: str, topic: Callable[..., str], tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes a bench from a flow's text, and its topics. `on`: another broker."""

    def make(text: str, *, partitions: int = 2, on: str = kafka) -> Bench:
        # Results carry their event times, which are long ago here: retention must not remove them.
        forever = {"retention.ms": "-1"}
        source = topic("source", partitions=partitions, config=forever, on=on)
        sink = topic("sink", partitions=partitions, config=forever, on=on)
        name = f"flow-{uuid.uuid4().hex[:8]}"
        graph = parse_graph(text.format(flow=name, source=source, sink=sink))
        made = Bench(on, graph, source, sink, partitions, tmp_path)
        made.make_topics()
        return made

    return make
