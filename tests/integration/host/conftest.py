"""A small bench for segments on the real broker: make a flow, run its segments in this process, send, read results."""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, TopicPartition

from services.host.changelog import changelog_topics
from services.host.plan_topics import declarations
from services.host.segment import Segment
from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.task import TaskContext
from services.operators.run import FlowRun
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
        context = TaskContext(self.bootstrap, allow=tuple(allow))
        self.segments.append(Segment(plan, context, data_folder=self.folder, on_state=self._note))
        return self.segments[-1]

    async def followed(self, standby: Segment, owner: Segment, *, timeout_s: float = 30.0) -> None:
        """Wait until a standby's tables are those of the owner."""
        async with asyncio.timeout(timeout_s):
            for partition in standby.standbys:
                theirs = owner.seats[partition].task._program.tables
                ours = standby.memory(partition).program.tables
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

    def read(self, topic: str, *, committed: bool = True) -> Rows:
        """Everything on a topic up to its present end."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "enable.partition.eof": True,
            }
        )
        partitions = sorted(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        rows: Rows = []
        open_partitions = set(partitions)
        while open_partitions:
            message = consumer.poll(10)
            assert message is not None, f"no end of {topic} in 10 s"
            if message.error() is not None:
                open_partitions.discard(message.partition())
            else:
                rows.append((message.key(), msgspec.json.decode(message.value())))
        consumer.close()
        return rows

    async def until(self, condition: Callable[[Rows], bool], *, timeout_s: float = 60.0) -> Rows:
        """What the sink holds when the condition is true of it."""
        rows: Rows = []
        try:
            async with asyncio.timeout(timeout_s):
                while not condition(rows := await asyncio.to_thread(self.read, self.sink)):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(
                f"not in {timeout_s} s; the sink holds {len(rows)} rows; states {self.states}"
            ) from None
        return rows

    async def stop(self) -> None:
        for segment in self.segments:
            await segment.stop()
        self.segments.clear()


@pytest.fixture
def bench(kafka: str, topic: Callable[..., str], tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes a bench from a flow's text, and its topics."""

    def make(text: str, *, partitions: int = 2) -> Bench:
        source, sink = topic("source", partitions=partitions), topic("sink", partitions=partitions)
        name = f"flow-{uuid.uuid4().hex[:8]}"
        graph = parse_graph(text.format(flow=name, source=source, sink=sink))
        made = Bench(kafka, graph, source, sink, partitions, tmp_path)
        made.make_topics()
        return made

    return make


def oracle(graph: FlowGraph, records: Mapping[int, Sequence[Any]], *, allow: Sequence[str] = ()) -> list[Any]:
    """What the flow gives in one process, partition by partition; windows that the input does not close stay open."""
    results: list[Any] = []
    for partition in sorted(records):
        run = FlowRun(graph, lambda _, encoded: results.extend(map(msgspec.json.decode, encoded.values)), allow=allow)
        raws = [value if isinstance(value, bytes) else msgspec.json.encode(value) for value in records[partition]]
        run.feed(run.sources[0], raws, now_ms=0)
    return results
