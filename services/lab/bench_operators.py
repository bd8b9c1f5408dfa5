"""Bench: operators against a hand-written loop that does the same.

The work is `filter -> project -> tumbling count by key`, JSON in and out, in process. On one side the operators as a
host runs them, batch by batch, with decoding, event time and lateness before and encoding after; on the other a
plain loop over records with msgspec, written for this alone: once on dictionaries, as operators work (the baseline
of every ratio), and once on a struct with just the four fields that matter, the best that we know how to write. All
must give the same results. They run in turn, several times; a ratio is made of runs next to each other, so that a slow
minute of the machine hits all. Seconds are those of the processor, which are the wall clock's on a machine with nothing
else to do.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import process_time
from typing import Any

import msgspec

from services.lab.results import Row
from services.operators.batch import END_MS, Batch
from services.operators.encode import SinkEncoder
from services.operators.failure import Failure
from services.operators.intake import SourceIntake
from services.operators.pruning import fields_read
from services.operators.run import BATCH_RECORDS, FlowRun
from services.operators.table import Untracked
from services.operators.wiring import flow_program
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph

HAND_WRITTEN = "hand-written loop"
HAND_WRITTEN_STRUCT = "hand-written loop, struct"

SIZE_MS = 60_000
LATENESS_MS = 2_000

FLOW = f"""
flow: bench
sources:
  packets: {{topic: packets, event_time: ts, lateness: {LATENESS_MS}ms}}
operators:
  filter:    {{op: filter, input: packets, where: "proto == 'tcp' and bytes > 0"}}
  project:   {{op: project, input: filter, fields: {{host: src, bytes: bytes}}}}
  aggregate: {{op: aggregate, input: project, by: [host], window: {{size: {SIZE_MS}ms}}, emit: {{n: count()}}}}
sinks:
  out: {{input: aggregate, topic: traffic}}
"""

# The same without a new name. Then nobody needs the projection as such, and operators do not carry it out (pruning.py).
FLOW_WITHOUT_RENAMING = FLOW.replace("host: src", "src: src").replace("by: [host]", "by: [src]")


@dataclass(frozen=True, slots=True)
class Params:
    """How much is measured. A second of event time has 1,000 records, from 1,000 sources that all send alike."""

    records: int = 1_000_000
    repetitions: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        assert self.records > 0, self
        assert self.repetitions > 0, self


def packets(count: int, seed: int) -> list[bytes]:
    """Records of about 120 bytes in JSON, out of order by up to half a second; one in 10,000 is late."""
    rng = random.Random(seed)
    encode = msgspec.json.Encoder().encode
    protocols = ["tcp"] * 8 + ["udp", "icmp"]
    start_ms = 1_700_000_000_000
    raws = []
    for i in range(count):
        behind_ms = rng.randrange(500) if rng.random() < 0.9999 else 3 * LATENESS_MS
        number = rng.randrange(1_000)
        raws.append(
            encode(
                {
                    "ts": start_ms + i - behind_ms,
                    "src": f"10.0.{number % 10}.{number // 10}",
                    "dst": f"10.1.{rng.randrange(256)}.{rng.randrange(256)}",
                    "proto": rng.choice(protocols),
                    "bytes": rng.randrange(1_500),
                    "sport": rng.randrange(1_024, 65_536),
                    "dport": rng.choice((22, 53, 80, 443)),
                    "flags": "ACK",
                }
            )
        )
    return raws


class Counts:
    """The counts of open windows, and the encoded rows of closed ones: what both hand-written loops end in."""

    def __init__(self) -> None:
        self.windows: dict[int, dict[str, int]] = {}
        self.rows: list[bytes] = []
        self._encode = msgspec.json.Encoder().encode

    def close(self, watermark_ms: int) -> None:
        """Turn the windows that end at the watermark or before it into rows."""
        for start in sorted(start for start in self.windows if start + SIZE_MS <= watermark_ms):
            for host, n in sorted(self.windows.pop(start).items()):
                row = {"host": host, "n": n, "window_start": start, "window_end": start + SIZE_MS}
                self.rows.append(self._encode(row))


def hand_written(raws: Sequence[bytes]) -> list[bytes]:
    """What someone writes who needs this one workload and knows Python well."""
    decode = msgspec.json.Decoder().decode
    counted = Counts()
    windows = counted.windows
    largest_ms = 0
    next_end_ms = 0
    for raw in raws:
        record = decode(raw)
        ts = record["ts"]
        if ts > largest_ms:
            largest_ms = ts
            watermark_ms = ts - LATENESS_MS
            if watermark_ms >= next_end_ms:
                counted.close(watermark_ms)
                next_end_ms = watermark_ms - watermark_ms % SIZE_MS + SIZE_MS
        elif ts < largest_ms - LATENESS_MS:
            continue
        if record["proto"] == "tcp" and record["bytes"] > 0:
            slim = {"host": record["src"], "bytes": record["bytes"]}
            start = ts - ts % SIZE_MS
            counts = windows.get(start)
            if counts is None:
                counts = windows[start] = {}
            host = slim["host"]
            counts[host] = counts.get(host, 0) + 1
    counted.close(END_MS)
    return counted.rows


class Packet(msgspec.Struct):
    """The fields that the workload reads; msgspec skips the others."""

    ts: int
    src: str
    proto: str
    bytes: int


def hand_written_struct(raws: Sequence[bytes]) -> list[bytes]:
    """The same for someone who also knows the types of the fields before."""
    decode = msgspec.json.Decoder(Packet).decode
    counted = Counts()
    windows = counted.windows
    largest_ms = 0
    next_end_ms = 0
    for raw in raws:
        record = decode(raw)
        ts = record.ts
        if ts > largest_ms:
            largest_ms = ts
            watermark_ms = ts - LATENESS_MS
            if watermark_ms >= next_end_ms:
                counted.close(watermark_ms)
                next_end_ms = watermark_ms - watermark_ms % SIZE_MS + SIZE_MS
        elif ts < largest_ms - LATENESS_MS:
            continue
        if record.proto == "tcp" and record.bytes > 0:
            slim: dict[str, Any] = {"host": record.src, "bytes": record.bytes}
            start = ts - ts % SIZE_MS
            counts = windows.get(start)
            if counts is None:
                counts = windows[start] = {}
            host = slim["host"]
            counts[host] = counts.get(host, 0) + 1
    counted.close(END_MS)
    return counted.rows


class Operators:
    """The same workload as a compiled flow, driven in batches as `flow run` and hosts do."""

    def __init__(self, flow: str) -> None:
        self.graph: FlowGraph = parse_graph(flow)

    def run(self, raws: Sequence[bytes]) -> list[bytes]:
        """From raw records to raw results."""
        outputs: list[bytes] = []
        flow = FlowRun(self.graph, lambda _, encoded: outputs.extend(encoded.values))
        for start in range(0, len(raws), BATCH_RECORDS):
            flow.feed("packets", raws[start : start + BATCH_RECORDS], now_ms=0)
        flow.close()
        return outputs

    def stages(self, raws: Sequence[bytes]) -> dict[str, float]:
        """Records/s of each stage on its own, each counted by the records that it is given."""
        marks: list[tuple[str, int, float]] = []
        program = flow_program(self.graph, probe=lambda name, count, _: marks.append((name, count, process_time())))
        spec = self.graph.spec
        operators = [(operator.name, operator.spec) for operator in self.graph.operators]
        (source,), (sink,) = spec.sources, spec.sinks
        intake = SourceIntake(source, fields=fields_read(spec.sources, operators, spec.sinks)[source.name])
        for table in program.tables.values():
            table.changed = Untracked()
        failures: list[Failure] = []
        encoder = SinkEncoder(sink, failures=failures)
        spent: dict[str, list[float]] = {}

        def account(batch: Batch) -> None:
            marks[:] = [("start", 0, process_time())]
            results = program.process(source.name, batch)[sink.input]
            marks.append(("release memory", len(batch), process_time()))
            encoder.encode(results)
            marks.append(("encode", len(results), process_time()))
            for (_, _, begin), (name, count, end) in pairwise(marks):
                totals = spent.setdefault(name, [0, 0.0])
                totals[0] += count
                totals[1] += end - begin

        read = spent.setdefault("decode and event time", [0, 0.0])
        for start in range(0, len(raws), BATCH_RECORDS):
            part = raws[start : start + BATCH_RECORDS]
            begin = process_time()
            arrivals = intake.read(part, [None] * len(part), [0] * len(part), range(start, start + len(part)))
            read[0] += len(part)
            read[1] += process_time() - begin
            account(arrivals.batch)
        account(Batch.empty(END_MS))
        assert not failures, failures[:3]
        return {name: count / seconds for name, (count, seconds) in spent.items()}


def measure(params: Params, *, progress: Callable[[str], None]) -> list[Row]:
    """Run the sides in turn and return the rows."""
    raws = packets(params.records, params.seed)
    operators = Operators(FLOW)
    sides: dict[str, Callable[[Sequence[bytes]], list[bytes]]] = {
        HAND_WRITTEN: hand_written,
        HAND_WRITTEN_STRUCT: hand_written_struct,
        "operators": operators.run,
        "operators, no renaming": Operators(FLOW_WITHOUT_RENAMING).run,
    }
    rates: dict[str, list[float]] = {name: [] for name in sides}
    stages: dict[str, list[float]] = {}
    for repetition in range(params.repetitions):
        progress(f"repetition {repetition + 1} of {params.repetitions}")
        outputs = {}
        for name, side in sides.items() if repetition % 2 == 0 else reversed(sides.items()):
            begin = process_time()
            outputs[name] = side(raws)
            rates[name].append(params.records / (process_time() - begin))
        expected = sorted(_rows(outputs[HAND_WRITTEN]))
        assert all(expected == sorted(_rows(each)) for each in outputs.values()), f"results differ; {params}"
        for name, rate in operators.stages(raws).items():
            stages.setdefault(name, []).append(rate)

    def ratios(name: str) -> list[float]:
        return [one / other for one, other in zip(rates[name], rates[HAND_WRITTEN], strict=True)]

    return [
        Row.of("record size", [sum(map(len, raws)) / len(raws)], "bytes"),
        *(Row.of(f"stage: {name}", samples, "records/s") for name, samples in stages.items()),
        *(Row.of(name, samples, "records/s") for name, samples in rates.items()),
        *(Row.of(f"ratio: {name}", ratios(name), "ratio", baseline=HAND_WRITTEN) for name in list(sides)[1:]),
    ]


def _rows(raws: list[bytes]) -> Iterable[tuple[int, str, int]]:
    """Results without their order inside a window and the name of the key, which are each side's own."""
    for raw in raws:
        row = msgspec.json.decode(raw)
        yield row["window_end"], row.get("host", row.get("src")), row["n"]
