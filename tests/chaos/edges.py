"""What one segment owes the next: the rows and watermarks on an edge topic, by the operators and as they are there.

A sink tells nothing of an edge where its segment is judged by what it read: what never reached the edge, nobody misses
behind it. So each edge is judged by itself, over what its own segment read. Nothing of the product's way out to an edge
is used here but the hash of keys.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.host.partitioner import Partitioner
from services.host.segment_plan import Output
from services.operators.batch import BEGINNING_MS, Batch
from services.operators.keys import group_reader, group_values, key_bytes
from tests.chaos.observed import Row
from tests.chaos.oracle import sorted_json
from topics.catalogue import EDGE

Way = tuple[int, int]
"""From a partition of the upstream segment to a partition of the edge."""
Said = tuple[Way, bytes | None, int, int, bytes]
"""Its way, key, event time, offset at the origin, and value as JSON with sorted names."""


@dataclass
class Speech:
    """All that is said on an edge: rows in their order, and how far each way says that event time has come.

    `behind`: rows that came after a watermark which had passed them.
    """

    rows: list[Said] = field(default_factory=list)
    watermarks_ms: dict[Way, int] = field(default_factory=dict)
    behind: list[Said] = field(default_factory=list)

    def say(self, way: Way, batch: Batch) -> None:
        """Some rows, and the watermark after them."""
        known_ms = self.watermarks_ms.get(way, BEGINNING_MS)
        rows = zip(batch.keys, batch.times, batch.offsets, batch.values, strict=True)
        said = [(way, key, time_ms, offset, sorted_json(value)) for key, time_ms, offset, value in rows]
        self.rows += said
        self.behind += [row for row in said if row[2] < known_ms]
        if batch.watermark_ms > known_ms:
            self.watermarks_ms[way] = batch.watermark_ms

    def lanes(self) -> dict[tuple[Way, bytes | None], list[Said]]:
        """The rows that must keep their order: those of one key on one way."""
        found: dict[tuple[Way, bytes | None], list[Said]] = {}
        for row in self.rows:
            found.setdefault(row[:2], []).append(row)
        return found


def owed(output: Output, tasks: Sequence[Sequence[Batch]]) -> Speech:
    """What must be there. `tasks`: for each partition of the upstream segment what its program gave."""
    speech = Speech()
    for partition, batches in enumerate(tasks):
        for batch in batches:
            targets = list(_targets(output, partition, batch.values))
            for target in range(output.partitions):
                chosen = [i for i, each in enumerate(targets) if each == target]
                speech.say((partition, target), batch.take(chosen))
    return speech


def found(topic: str, rows: Sequence[Row]) -> Speech:
    """What is there."""
    speech = Speech()
    for row in rows:
        block = EDGE.codec.decode(row.value, topic=topic, partition=row.partition, offset=row.offset)
        batch = Batch(block.values, block.keys, block.times_ms, block.offsets, block.watermark_ms)
        speech.say((block.partition, row.partition), batch)
    return speech


def _targets(output: Output, partition: int, values: list[dict[str, Any]]) -> Iterator[int]:
    """The partition of the edge to which each row belongs."""
    if not output.by:
        yield from [partition if output.by is None else 0] * len(values)
        return
    partitioner = Partitioner(output.partitions, partition)
    for group in group_reader(output.by)(values):
        spread = partitioner.spread([key_bytes(group_values(group))])
        yield spread if isinstance(spread, int) else spread[0]
