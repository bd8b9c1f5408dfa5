"""The way out to an edge topic: batches become blocks, one for each downstream partition that gets some of the records.

A block carries the watermark of the task that sends it; partitions that get no records are told by blocks without
records.
"""

from collections.abc import Iterator

from services.host.partitioner import Partitioner
from services.host.segment_plan import Output
from services.operators.batch import BEGINNING_MS, Batch
from services.operators.failure import Failure
from services.operators.keys import group_reader, group_values, key_bytes
from topics.catalogue import EDGE
from topics.errors import MessageError
from topics.messages import Block, Origin

BLOCK_ROWS_MAX = 2_000


class EdgeOutput:
    """From one task to one edge topic. `failures` takes the records that no block can hold."""

    def __init__(self, output: Output, *, segment: str, partition: int, epoch: int, failures: list[Failure]) -> None:
        self.output = output
        self._segment = segment
        self._partition = partition
        self._epoch = epoch
        self._failures = failures
        self._groups_of = group_reader(output.by) if output.by is not None else None
        self._partitioner = Partitioner(output.partitions, partition)
        self._told_ms = [BEGINNING_MS] * output.partitions
        self._watermark_ms = BEGINNING_MS

    def blocks(self, batch: Batch, origin: Origin) -> Iterator[tuple[int, bytes]]:
        """(downstream partition, block) for the records of a batch."""
        self._watermark_ms = max(self._watermark_ms, batch.watermark_ms)
        if not batch.values:
            return
        for partition, part in self._parts(batch):
            for start in range(0, len(part), BLOCK_ROWS_MAX):
                rows = (
                    part
                    if len(part) <= BLOCK_ROWS_MAX
                    else part.take(range(start, min(start + BLOCK_ROWS_MAX, len(part))))
                )
                # Only the last block of a batch may tell its watermark: the records of the others are still to come.
                is_last = start + BLOCK_ROWS_MAX >= len(part)
                yield from self._encoded(partition, rows, origin, batch.watermark_ms if is_last else BEGINNING_MS)

    def news(self, origin: Origin) -> Iterator[tuple[int, bytes]]:
        """Blocks without records for the partitions that have not heard how far time has come."""
        for partition, told_ms in enumerate(self._told_ms):
            if told_ms < self._watermark_ms:
                self._told_ms[partition] = self._watermark_ms
                yield partition, self._block(Batch.empty(self._watermark_ms), origin, self._watermark_ms)

    def farewell(self, origin: Origin) -> Iterator[tuple[int, bytes]]:
        """Blocks without records for all partitions, to be sent when this task rests."""
        for partition in range(self.output.partitions):
            yield partition, self._block(Batch.empty(self._watermark_ms), origin, self._watermark_ms)

    def _parts(self, batch: Batch) -> Iterator[tuple[int, Batch]]:
        spread = self._spread(batch)
        if isinstance(spread, int):
            yield spread, batch
            return
        positions: dict[int, list[int]] = {}
        for position, partition in enumerate(spread):
            positions.setdefault(partition, []).append(position)
        for partition in sorted(positions):
            yield partition, batch.take(positions[partition])

    def _spread(self, batch: Batch) -> list[int] | int:
        if self._groups_of is None:
            return self._partition
        if not self.output.by:
            return 0
        groups = self._groups_of(batch.values)
        raw = {group: key_bytes(group_values(group)) for group in set(groups)}
        return self._partitioner.spread([raw[group] for group in groups])

    def _encoded(self, partition: int, rows: Batch, origin: Origin, watermark_ms: int) -> Iterator[tuple[int, bytes]]:
        """One block, or several if one would be too large; a record that is too large by itself is a failure."""
        try:
            block = self._block(rows, origin, watermark_ms)
        except MessageError as error:
            if len(rows) == 1:
                self._failures.append(Failure(self.output.stream, rows.offsets[0], str(error), rows.values[0]))
                return
            half = len(rows) // 2
            yield from self._encoded(partition, rows.take(range(half)), origin, BEGINNING_MS)
            yield from self._encoded(partition, rows.take(range(half, len(rows))), origin, watermark_ms)
        else:
            self._told_ms[partition] = max(self._told_ms[partition], watermark_ms)
            yield partition, block

    def _block(self, rows: Batch, origin: Origin, watermark_ms: int) -> bytes:
        block = Block(
            segment=self._segment,
            partition=self._partition,
            epoch=self._epoch,
            watermark_ms=watermark_ms,
            origin_topic=origin.topic,
            origin_partition=origin.partition,
            keys=rows.keys,
            times_ms=rows.times,
            offsets=list(rows.offsets),
            values=rows.values,
        )
        return EDGE.codec.encode(block, topic=self.output.topic)
