"""Run: a whole flow in this process, on records that someone hands in. No broker, no host, one partition.

It is how a user tries a flow in a second (`stigmergy flow run`), how end-to-end tests look at operators, and how the
benchmark drives them: the same intake, program and encoders that a host uses, with a loop around them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from services.operators.batch import END_MS, Batch
from services.operators.encode import Encoded, SinkEncoder
from services.operators.failure import Failure
from services.operators.intake import SourceIntake
from services.operators.keys import field_reader, key_bytes
from services.operators.pruning import can_have_slots, fields_read
from services.operators.table import Untracked
from services.operators.wiring import flow_program
from topics.flow.graph import FlowGraph
from topics.flow.specs import Source

# Large enough that a batch's own cost does not show, small enough that its records are still in the processor's cache
# when the next operator looks at them. Measured: docs/decisions/0076-batches-and-columns.md.
BATCH_RECORDS = 1_000

Deliver = Callable[[str, Encoded], None]
"""Takes the records for one sink."""


@dataclass(slots=True)
class Counts:
    """What happened to the records. `undecodable` could not be read, `dead` failed in an operator or at a sink."""

    read: int = 0
    late: int = 0
    undecodable: int = 0
    dead: int = 0
    written: dict[str, int] = field(default_factory=dict)


class FlowRun:
    """Feed it raw records by source; it delivers results by sink, and keeps late records and failures to be taken."""

    def __init__(self, graph: FlowGraph, deliver: Deliver, *, allow: Sequence[str] = ()) -> None:
        spec = graph.spec
        self._program = flow_program(graph, allow=allow)
        self._deliver = deliver
        self._sources = {source.name: source for source in spec.sources}
        operators = [(each.name, each.spec) for each in graph.operators]
        read = fields_read(spec.sources, operators, spec.sinks)
        leaving = [sink.input for sink in spec.sinks]
        # A file is JSON lines, whatever the topic carries.
        self._intakes = {
            name: SourceIntake(
                replace(source, codec="json"),
                fields=read[name],
                slots=can_have_slots(name, read[name], operators, leaving=leaving),
            )
            for name, source in self._sources.items()
        }
        for table in self._program.tables.values():
            table.changed = Untracked()
        self._failures: list[Failure] = []
        self._late: list[tuple[str, Batch]] = []
        self._sinks = [(sink, SinkEncoder(replace(sink, codec="json"), failures=self._failures)) for sink in spec.sinks]
        self._offsets = dict.fromkeys(self._sources, 0)
        self.counts = Counts(written={sink.name: 0 for sink in spec.sinks})

    def feed(self, name: str, raws: Sequence[bytes], *, now_ms: int) -> None:
        """Run a batch of raw records of one source; `now_ms` stands for Kafka's timestamp, which a file has not."""
        first = self._offsets[name]
        self._offsets[name] += len(raws)
        count = len(raws)
        arrivals = self._intakes[name].read(raws, [None] * count, [now_ms] * count, range(first, first + count))
        self.counts.read += count
        self.counts.undecodable += len(arrivals.failures)
        self._failures += arrivals.failures
        if arrivals.late.values:
            self.counts.late += len(arrivals.late)
            self._late.append((name, arrivals.late))
        self._run(name, _keyed(self._sources[name], arrivals.batch))

    def end(self, name: str) -> None:
        """Nothing more comes from this source: its watermark goes to the end of time and holds nobody back any more."""
        self._run(name, Batch.empty(END_MS))

    def close(self) -> None:
        """Nothing more comes at all: every window closes."""
        for name in self._sources:
            self.end(name)

    def take_failures(self) -> list[Failure]:
        """The failures since this was last asked."""
        taken = self._failures.copy()
        self._failures.clear()
        return taken

    def take_late(self) -> list[tuple[str, Batch]]:
        """The late records since this was last asked, by source."""
        taken, self._late = self._late, []
        return taken

    def _run(self, name: str, batch: Batch) -> None:
        outputs = self._program.process(name, batch)
        failed = self._program.take_failures()
        self._failures += failed
        self.counts.dead += len(failed)
        for sink, encoder in self._sinks:
            results = outputs.get(sink.input)
            if results is not None and results.values:
                encoded = encoder.encode(results)
                self.counts.dead += len(results) - len(encoded.values)
                self.counts.written[sink.name] += len(encoded.values)
                self._deliver(sink.name, encoded)


def _keyed(source: Source, batch: Batch) -> Batch:
    """The key that a producer would have given each record: that of the source's key field."""
    if source.key is None:
        return batch
    keys: list[bytes | None] = [
        None if key is None else key_bytes((key,)) for key in field_reader(source.key)(batch.values)
    ]
    return replace(batch, keys=keys)
