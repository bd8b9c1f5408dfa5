"""The outputs of a task: what its program gives to sinks and edges, and the records that it sets aside.

All of it goes to the task's writer, so nothing of it counts until the task commits. For sinks, encoding and writing are
two steps: a task that fails on everything ends between them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from services.host.edge_headers import born_header
from services.host.edges import EdgeOutput
from services.host.partitioner import Partitioner
from services.host.segment_plan import Output, SegmentPlan
from services.host.set_aside import Entry
from services.host.task_input import Parcel
from services.host.writer import NO_HEADERS, Headers, Writer, Written
from services.operators.batch import BEGINNING_MS, Batch
from services.operators.encode import Encoded, SinkEncoder
from services.operators.failure import Failure
from topics.topic import MINUTE_MS

AHEAD_MS_MAX = 30 * MINUTE_MS
"""How far ahead of the clock a result's Kafka timestamp may be: half of what brokers allow unless told otherwise
(`message.timestamp.after.max.ms`), and the rest is for clocks that differ."""

EncodedSink = tuple[Output, Encoded, Partitioner]


class TaskOutputs:
    """All outputs of a task. `failures` takes the records that can't be written."""

    def __init__(
        self, plan: SegmentPlan, partition: int, epoch: int, writer: Writer, *, failures: list[Failure]
    ) -> None:
        self._writer = writer
        self._newest_ms = BEGINNING_MS
        """The latest time that the clock has told: one that jumps back must not make old records of new ones."""
        self._sinks = [
            (
                output,
                SinkEncoder(output.sink, failures=failures, bytes_max=output.bytes_max),
                Partitioner(output.partitions, partition),
            )
            for output in plan.outputs
            if output.sink is not None
        ]
        self.edges = [
            EdgeOutput(output, segment=plan.segment.id, partition=partition, epoch=epoch, failures=failures)
            for output in plan.outputs
            if output.sink is None
        ]

    def encode(self, outputs: Mapping[str, Batch], *, now_ms: int) -> list[EncodedSink]:
        """What goes to sinks. `outputs`: what the program gave, by stream."""
        self._newest_ms = now_ms = max(self._newest_ms, now_ms)
        return [
            (output, encoder.encode(_in_reach(outputs[output.stream], now_ms)), partitioner)
            for output, encoder, partitioner in self._sinks
            if outputs.get(output.stream)
        ]

    def tried(self, outputs: Mapping[str, Batch]) -> dict[str, int]:
        """Sink -> how many records it was to get."""
        return {
            output.sink.name: len(outputs[output.stream])
            for output, _, _ in self._sinks
            if output.sink is not None and output.stream in outputs
        }

    async def write_sinks(self, encoded: Iterable[EncodedSink]) -> Written | None:
        """To each the partition that its key says. Returns when the broker answers for the last; None without any."""
        written = None
        for output, results, partitioner in encoded:
            written = await self._write_sink(output, results, partitioner)
        return written

    async def write_edges(self, outputs: Mapping[str, Batch], parcel: Parcel, now_ms: int) -> None:
        """What the program made of a parcel."""
        for edge in self.edges:
            batch = outputs.get(edge.output.stream)
            if batch is not None:
                await self.write_blocks(edge, edge.blocks(batch, parcel.origin), now_ms, born_header(parcel.born_ms))

    async def write_blocks(
        self, edge: EdgeOutput, blocks: Iterable[tuple[int, bytes]], now_ms: int, headers: Headers = NO_HEADERS
    ) -> None:
        """(downstream partition, block) to an edge."""
        by_partition: dict[int, list[bytes]] = {}
        for partition, block in blocks:
            by_partition.setdefault(partition, []).append(block)
        for partition, values in by_partition.items():
            count = len(values)
            await self._writer.write(
                edge.output.topic, partition, [None] * count, values, [now_ms] * count, headers=headers
            )

    async def write_entries(self, entries: Iterable[Entry], now_ms: int) -> None:
        """Dead letters or late records."""
        by_topic: dict[str, list[Entry]] = {}
        for entry in entries:
            by_topic.setdefault(entry[0], []).append(entry)
        for topic, rows in by_topic.items():
            await self._writer.write(
                topic, 0, [key for _, key, _ in rows], [value for _, _, value in rows], [now_ms] * len(rows)
            )

    async def _write_sink(self, output: Output, results: Encoded, partitioner: Partitioner) -> Written | None:
        spread = partitioner.spread(results.keys)
        if isinstance(spread, int):
            return await self._writer.write(
                output.topic, spread, results.keys, results.values, results.times, bytes_max=output.bytes_max
            )
        written = None
        positions: dict[int, list[int]] = {}
        for position, partition in enumerate(spread):
            positions.setdefault(partition, []).append(position)
        for partition in sorted(positions):
            chosen = positions[partition]
            written = await self._writer.write(
                output.topic,
                partition,
                [results.keys[i] for i in chosen],
                [results.values[i] for i in chosen],
                [results.times[i] for i in chosen],
                bytes_max=output.bytes_max,
            )
        return written


def _in_reach(batch: Batch, now_ms: int) -> Batch:
    """Results with times that brokers take as timestamps: those too far ahead get that of their writing (decision 267).

    The broker would refuse the whole transaction, and again whenever it is tried anew.
    """
    latest_ms = now_ms + AHEAD_MS_MAX
    if batch.span_ms[1] <= latest_ms:
        return batch
    times = [time_ms if time_ms <= latest_ms else now_ms for time_ms in batch.times]
    return replace(batch, times=times, known_span_ms=None)
