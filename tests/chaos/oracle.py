"""What should have come out: the operators in this process, on the same records, with no host, batch, fault or hurry.

`whole_flow` runs the flow as one program over the source records: the judge wherever every record counts once. In
`at_least_once` a segment behind an edge also reads what an upstream segment wrote and then, after a fault, wrote again;
it owes the result of what it read, so it is judged by `segment`, over the edge as it is on the broker. The state of a
task, and what it owes to edges, is judged by `segment` always.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from services.host.segment_plan import SegmentPlan
from services.host.task_input import TaskInputs
from services.operators.batch import BEGINNING_MS, Batch
from services.operators.encode import SinkEncoder
from services.operators.failure import Failure
from services.operators.intake import SourceIntake
from services.operators.program import Program
from services.operators.pruning import fields_read
from services.operators.table import Table, decode_value, encode_value
from services.operators.wiring import flow_program, segment_program
from tests.chaos.observed import Row
from topics.flow.graph import FlowGraph
from topics.flow.specs import Join, Sink

ALLOW = ("tests.chaos",)

Result = tuple[bytes | None, bytes]
"""Key and value of a result, the value as JSON with sorted names."""
Place = tuple[str, str, int, int]
"""Who set a record aside (an operator or input), and its origin: topic, partition, offset."""
Tables = dict[str, dict[Any, Any]]

sorted_json = msgspec.json.Encoder(order="sorted").encode


@dataclass
class Expected:
    """Results by sink, and where the records came from that are dead or late."""

    results: dict[str, Counter[Result]] = field(default_factory=dict)
    dead: Counter[Place] = field(default_factory=Counter)
    late: Counter[Place] = field(default_factory=Counter)

    def add(self, sink: str, encoder: SinkEncoder, batch: Batch) -> None:
        """Results that reach a sink."""
        encoded = encoder.encode(batch)
        found = self.results.setdefault(sink, Counter())
        found.update(result(key, value) for key, value in zip(encoded.keys, encoded.values, strict=True))


def result(key: bytes | None, value: bytes) -> Result:
    """A record of a sink, so that equal ones are equal."""
    return key, sorted_json(msgspec.json.decode(value))


def whole_flow(graph: FlowGraph, read: Mapping[str, Sequence[Row]]) -> Expected:
    """The flow as one program. `read`: the records of each source topic."""
    spec = graph.spec
    program = flow_program(graph, allow=ALLOW)
    failures: list[Failure] = []
    encoders = {sink.name: (sink, SinkEncoder(sink, failures=failures)) for sink in spec.sinks}
    expected = Expected({sink.name: Counter() for sink in spec.sinks})
    fields = fields_read(spec.sources, [(each.name, each.spec) for each in graph.operators], spec.sinks)

    def run(name: str, batch: Batch) -> None:
        for stream, out in program.process(name, batch).items():
            for sink, encoder in encoders.values():
                if sink.input == stream:
                    expected.add(sink.name, encoder, out)

    reached: dict[str, list[int]] = {}
    for source in spec.sources:
        for partition, rows in _by_partition(read[source.topic]).items():
            arrivals = SourceIntake(source, fields=fields[source.name]).read(
                [row.value for row in rows],
                [row.key for row in rows],
                [row.timestamp for row in rows],
                [row.offset for row in rows],
            )
            reached.setdefault(source.name, []).append(arrivals.batch.watermark_ms)
            run(source.name, arrivals.batch.with_watermark(BEGINNING_MS))
            failed = [*arrivals.failures, *program.take_failures()]
            expected.dead.update((each.operator, source.topic, partition, each.offset) for each in failed)
            expected.late.update((source.name, source.topic, partition, offset) for offset in arrivals.late.offsets)
    for name, watermarks in reached.items():
        run(name, Batch.empty(min(watermarks)))
    assert not failures, failures
    return expected


@dataclass
class SegmentTask:
    """A task that has read all its input: its outputs by stream, its tables, and what it set aside."""

    outputs: dict[str, list[Batch]]
    tables: Tables
    failures: list[tuple[Failure, str, int]]
    late: list[Place]


def segment(plan: SegmentPlan, partition: int, read: Mapping[str, Sequence[Row]]) -> SegmentTask:
    """One task over what is on its input topics."""
    program = segment_program(plan.graph, plan.segment, allow=ALLOW)
    inputs = TaskInputs(plan.inputs, partition)
    done = SegmentTask({}, {}, [], [])
    for name, each in inputs.by_name.items():
        rows = [row for row in read[each.plan.topic] if row.partition == partition]
        if not rows:
            continue
        for parcel in inputs.read(name, rows, now_ms=0):
            for stream, out in program.process(name, parcel.batch).items():
                done.outputs.setdefault(stream, []).append(out)
            origin = parcel.origin
            failed = [*(parcel.failures if each.plan.tells else ()), *program.take_failures()]
            done.failures += [(failure, origin.topic, origin.partition) for failure in failed]
            done.late += [(name, origin.topic, origin.partition, max(0, offset)) for offset in parcel.late.offsets]
    done.tables = remembered(plan, program, inputs)
    return done


def by_segments(plans: Sequence[SegmentPlan], read: Mapping[str, Sequence[Row]]) -> Expected:
    """All segments, each over what is on its input topics."""
    expected = Expected()
    for plan in plans:
        sinks = {output.stream: output.sink for output in plan.outputs if output.sink is not None}
        for partition in range(plan.partitions):
            done = segment(plan, partition, read)
            for stream, sink in sinks.items():
                _deliver(expected, sink, done.outputs.get(stream, []))
            expected.dead.update((each.operator, topic, at, each.offset) for each, topic, at in done.failures)
            expected.late.update(done.late)
    return expected


def _deliver(expected: Expected, sink: Sink, batches: Sequence[Batch]) -> None:
    failures: list[Failure] = []
    encoder = SinkEncoder(sink, failures=failures)
    for batch in batches:
        expected.add(sink.name, encoder, batch)
    assert not failures, failures


def remembered(plan: SegmentPlan, program: Program, inputs: TaskInputs) -> Tables:
    """All that a task remembers, so that equal states are equal: what its inputs do, and its operators' tables."""
    tables = {f"input {name}": _plain(table) for name, table in inputs._tables().items()}
    for name, table in program.tables.items():
        is_join = isinstance(plan.graph.operator(name.partition("/")[0]).spec, Join)
        tables[name] = _without_numbers(table) if is_join else _plain(table)
    return tables


def _plain(table: Table) -> dict[Any, Any]:
    """As a changelog would carry it, where lists and tuples do not differ."""
    return {encode_value(key): decode_value(encode_value(value)) for key, value in table.data.items()}


def _without_numbers(table: Table) -> dict[Any, Any]:
    """A join numbers the records of both sides as they come, and between the sides chance decides who comes first."""
    if not all(isinstance(key, tuple) for key in table.data):
        return _plain(table)
    return dict(Counter(encode_value((*key[:-1], value)) for key, value in table.data.items()))


def _by_partition(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.partition, []).append(row)
    return found
