"""A flow cut into segments and partitions gives what the whole flow gives on one partition.

A tiny cluster without Kafka: every partition of every segment has its program, sources are read and edges are carried
in any order and in batches of any size, tables are moved to fresh programs on the way. Only the multiset of results
counts: between partitions there is no order.
"""

import random
from collections import Counter, deque
from typing import Any
from zlib import crc32

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.batch import BEGINNING_MS, END_MS, Batch
from services.operators.keys import field_reader, group_reader, group_values, key_bytes
from services.operators.program import Program
from services.operators.table import entries_of
from services.operators.watermark import InputWatermarks, Upstream
from services.operators.wiring import flow_program, input_name, segment_program
from topics.flow.file import parse_graph
from topics.flow.graph import Edge, Segment

FLOW = """
flow: cluster
sources:
  orders: {topic: orders, key: id, event_time: t, partitions: 3}
  payments: {topic: payments, key: payer, event_time: t, partitions: 2}
operators:
  sizes:  {op: split, input: orders, routes: {big: "n > 5"}, otherwise: small}
  more:   {op: map, input: sizes.big, set: {n: n + 1}}
  both:   {op: union, inputs: [more, sizes.small]}
  paid:   {op: join, left: both, right: payments, on: {id: order}, within: 20ms, kind: left,
           emit: {who: left.who, n: left.n, amount: right.amount}}
  totals: {op: aggregate, input: paid, by: [who], window: {size: 40ms},
           emit: {n: sum(n), amount: sum(amount), c: count()}}
  best:   {op: top_k, input: totals, k: 2, by: n}
  visits: {op: aggregate, input: both, by: [id], window: {gap: 15ms}, emit: {n: count()}}
sinks:
  top: {input: best, topic: top}
  visited: {input: visits, topic: visited}
"""

GRAPH = parse_graph(FLOW)
SINKS = {sink.input for sink in GRAPH.spec.sinks}
LATENESS_MS = 10
NEVER_IDLE_MS = 10**9

Row = tuple[dict[str, Any], int]


def partition_of(key: bytes | None, count: int) -> int:
    return crc32(key or b"") % count


class Task:
    """One partition of one segment: its program, the watermarks of its inputs, and the changelog of both."""

    def __init__(self, segment: Segment, upstreams: dict[str, int]) -> None:
        self.segment = segment
        self.upstreams = {name: Upstream(range(count), NEVER_IDLE_MS) for name, count in upstreams.items()}
        self.changelog: dict[tuple[str, bytes], bytes | None] = {}
        self.start()

    def start(self) -> None:
        self.program: Program = segment_program(GRAPH, self.segment)
        self.watermarks = InputWatermarks(self.upstreams)
        self.tables = {**self.program.tables, **self.watermarks.tables}
        for (name, key), value in self.changelog.items():
            entries = entries_of([(key, value)])
            if name in self.program.tables:
                self.program.restore(name, entries)
            else:
                self.tables[name].restore(entries)

    def process(self, name: str, upstream: int, batch: Batch) -> dict[str, Batch]:
        in_time, late = self.watermarks.admit(name, upstream, batch, now_ms=0)
        assert not late.values, "no partition was ever idle"
        return self.program.process(name, in_time)

    def move(self) -> None:
        for name, table in self.tables.items():
            self.changelog.update({(name, key): value for key, value in table.drain()})
        self.start()


class Cluster:
    """Queues between tasks; `step` carries one batch somewhere."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.results: Counter[tuple[str, bytes, int]] = Counter()
        self.counts = {segment.id: segment.partitions or 1 for segment in GRAPH.segments}
        self.makers = {name: segment for segment in GRAPH.segments for name in segment.operators}
        self.tasks = {
            (segment.id, partition): Task(segment, {input_name(edge): self.writers(edge) for edge in segment.inputs})
            for segment in GRAPH.segments
            for partition in range(self.counts[segment.id])
        }
        # From each writer to each task the batches on their way; order holds only between the same two.
        self.queues: dict[tuple[str, int, str, int], deque[Batch]] = {}

    def writers(self, edge: Edge) -> int:
        """How many partitions may write to one partition of this edge's reader."""
        return 1 if edge.kind == "source" else self.counts[self.makers[edge.upstream].id]

    def send(self, name: str, upstream: int, segment: str, partition: int, batch: Batch) -> None:
        self.queues.setdefault((name, upstream, segment, partition), deque()).append(batch)

    def step(self) -> bool:
        waiting = sorted(address for address, queue in self.queues.items() if queue)
        if not waiting:
            return False
        name, upstream, segment, partition = address = self.rng.choice(waiting)
        task = self.tasks[segment, partition]
        if self.rng.random() < 0.03:
            task.move()
        for stream, batch in task.process(name, upstream, self.queues[address].popleft()).items():
            if stream in SINKS:
                self.results.update(counted(stream, batch))
            for reader in GRAPH.segments:
                for edge in reader.inputs:
                    if edge.kind != "source" and edge.stream == stream:
                        self.spread(edge, reader, partition, batch)
        return True

    def spread(self, edge: Edge, reader: Segment, partition: int, batch: Batch) -> None:
        count = self.counts[reader.id]
        if edge.rekey is None:
            targets = [partition] * len(batch)
        else:
            groups = group_reader(edge.rekey.by)(batch.values)
            targets = [partition_of(key_bytes(group_values(group)), count) for group in groups]
        for target in range(count):
            part = batch.select([each == target for each in targets])
            self.send(input_name(edge), partition, reader.id, target, part)


def counted(stream: str, batch: Batch) -> list[tuple[str, bytes, int]]:
    encode = msgspec.json.Encoder(order="deterministic").encode
    return [(stream, encode(value), time) for value, time in zip(batch.values, batch.times, strict=True)]


def rows(rng: random.Random, name: str) -> list[Row]:
    """Records in time, out of order by less than the lateness."""
    made, largest = [], 0
    for _ in range(rng.randrange(14)):
        largest += rng.randrange(12)
        time = max(0, largest - rng.randrange(LATENESS_MS))
        if name == "orders":
            made.append(({"id": rng.choice("abcd"), "who": rng.choice("xyz"), "n": rng.randrange(9), "t": time}, time))
        else:
            made.append(({"order": rng.choice("abcd"), "payer": rng.choice("pq"), "amount": rng.randrange(5)}, time))
    return made


def batch_of(part: list[Row], start: int, watermark_ms: int) -> Batch:
    values, times = [value for value, _ in part], [time for _, time in part]
    return Batch(values, [None] * len(part), times, range(start, start + len(part)), watermark_ms)


def batches(rng: random.Random, partition: list[Row]) -> list[Batch]:
    """A partition cut anywhere, with the watermark that its records allow, and the end of time after them."""
    made, start, watermark_ms = [], 0, BEGINNING_MS
    while start < len(partition):
        part = partition[start : start + rng.randrange(1, 5)]
        watermark_ms = max(watermark_ms, max(time for _, time in part) - LATENESS_MS)
        made.append(batch_of(part, start, watermark_ms))
        start += len(part)
    return [*made, Batch.empty(END_MS)]


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_segments_and_partitions_do_not_change_results(seed: int) -> None:
    """Placement may cut and move a flow as it likes: its user must never see it."""
    rng = random.Random(seed)
    whole, cluster = flow_program(GRAPH), Cluster(rng)
    expected: Counter[tuple[str, bytes, int]] = Counter()
    for source in GRAPH.spec.sources:
        produced = rows(rng, source.name)
        whole.process(source.name, batch_of(produced, 0, BEGINNING_MS))
        assert source.key is not None
        assert source.partitions is not None
        read_key = field_reader(source.key)
        for partition in range(source.partitions):
            own = [
                row for row in produced if partition == partition_of(key_bytes(read_key([row[0]])), source.partitions)
            ]
            for segment in GRAPH.segments:
                if any(edge.kind == "source" and edge.stream == source.name for edge in segment.inputs):
                    for batch in batches(rng, own):
                        cluster.send(source.name, 0, segment.id, partition, batch)
    for source in GRAPH.spec.sources:
        for stream, batch in whole.process(source.name, Batch.empty(END_MS)).items():
            expected.update(counted(stream, batch))
    while cluster.step():
        pass
    assert expected == cluster.results
