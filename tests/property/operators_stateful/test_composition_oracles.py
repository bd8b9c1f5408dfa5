"""Operators after one another, fused in one program or with a re-key between programs, against plain lists.

One operator's rows and watermarks are the next one's input, so this is where a promise broken between two would show.
"""

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.batch import BEGINNING_MS, END_MS, Batch
from services.operators.operator import Operator
from services.operators.program import Program
from services.operators.table import Entries
from topics import expressions
from topics.flow import specs

SIZE_MS, HOP_MS = 12, 4
VALUES: list[dict[str, Any]] = [
    {"src": src, "net": net, "bytes": size} for src, net in [("a", "x"), ("b", "x"), ("c", "y")] for size in (1, 2, 5)
]
TRAFFIC = specs.Aggregate(
    "packets",
    ("src", "net"),
    (specs.Aggregation("bytes", "sum", expressions.parse("bytes")), specs.Aggregation("n", "count")),
    specs.Window(size_ms=SIZE_MS, hop_ms=HOP_MS),
)
TOP = specs.TopK("traffic", 2, expressions.parse("bytes"), ("net",))

entropy = st.binary(max_size=75)


class Whole(Operator):
    """A program with one output as one operator, so that it can be run, cut and restarted like one."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.tables = program.tables

    def process(self, batch: Batch, port: int) -> Batch:
        (out,) = self._program.process(self._program.inputs[port], batch).values()
        return out

    def restore(self, name: str, entries: Entries) -> None:
        self._program.restore(name, entries)


def top_talkers(records: list[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """For each window and net the two sources with the most bytes, by looking at all records again and again."""
    rows = []
    for start in range(-100, 160, HOP_MS):
        inside = [value for time, value in records if start <= time < start + SIZE_MS]
        for net in ("x", "y"):
            totals = []
            for src in sorted({value["src"] for value in inside if value["net"] == net}):
                sizes = [value["bytes"] for value in inside if value["src"] == src]
                totals.append({"src": src, "net": net, "bytes": sum(sizes), "n": len(sizes)})
            totals.sort(key=lambda row: (-row["bytes"], json.dumps(row, sort_keys=True, separators=(",", ":"))))
            rows += [
                row | {"rank": rank, "window_start": start, "window_end": start + SIZE_MS}
                for rank, row in enumerate(totals[:2], start=1)
            ]
    return rows


def bag(rows: list[dict[str, Any]]) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(tuple(sorted(row.items())) for row in rows)


@settings(max_examples=400)
@given(drawn=entropy)
def test_top_talkers_fused_in_one_program_are_those_of_the_list(streams: SimpleNamespace, drawn: bytes) -> None:
    """The flagship flow: results of a window reach top_k in the batch that closes it, and leave in the same batch."""
    stream = streams.stream(drawn, VALUES)
    rows = streams.run(
        lambda: Whole(Program({"traffic": TRAFFIC, "top": TOP}, inputs=["packets"], outputs=["top"])),
        stream,
    )
    expected = top_talkers([(each.time, each.value) for each in stream.arrivals])
    assert bag(expected) == bag([row for row, _, _ in rows])


@settings(max_examples=400)
@given(drawn=entropy)
def test_top_talkers_are_the_same_with_a_re_key_between(streams: SimpleNamespace, drawn: bytes) -> None:
    """Two upstream partitions by src, a re-key to net: the rows of one window come in pieces, one after the other."""
    stream = streams.stream(drawn, VALUES)
    upstream = [Program({"traffic": TRAFFIC}, inputs=["packets"], outputs=["traffic"]) for _ in range(2)]
    downstream = {net: Program({"top": TOP}, inputs=["traffic"], outputs=["top"]) for net in ("x", "y")}
    watermarks = [BEGINNING_MS, BEGINNING_MS]
    found: list[dict[str, Any]] = []

    def send(partition: int, batch: Batch) -> None:
        rows = upstream[partition].process("packets", batch)["traffic"]
        watermarks[partition] = rows.watermark_ms
        for net, program in downstream.items():
            part = rows.select([row["net"] == net for row in rows.values]).with_watermark(min(watermarks))
            out = program.process("traffic", part)["top"]
            assert set(out.keys) <= {net.encode()}
            found.extend(out.values)

    watermark_ms = BEGINNING_MS
    for each in stream.arrivals:
        partition = 0 if each.value["src"] == "a" else 1
        send(partition, streams.batch_of([each]).with_watermark(watermark_ms))
        watermark_ms = each.watermark_ms
    for partition in (0, 1):
        send(partition, Batch.empty(END_MS))
    assert bag(top_talkers([(each.time, each.value) for each in stream.arrivals])) == bag(found)


@settings(max_examples=400)
@given(drawn=entropy, within_ms=st.sampled_from([2, 9, 30]))
def test_windows_after_a_left_join_count_the_lonely_records_too(
    streams: SimpleNamespace, drawn: bytes, within_ms: int
) -> None:
    """They come `within` late: if the join did not hold its watermark back, the windows after it would be closed."""
    stream = streams.stream(drawn, VALUES, ports=2)
    emit = (("src", expressions.parse("left.src")), ("other", expressions.parse("right.bytes")))
    count = (specs.Aggregation("n", "count"), specs.Aggregation("others", "count", expressions.parse("other")))
    operators = {
        "once": specs.Dedupe("packets", ("src", "bytes"), 0),
        "pairs": specs.Join("once", "orders", (("src", "src"),), within_ms, "left", emit),
        "counts": specs.Aggregate("pairs", ("src",), count, specs.Window(size_ms=SIZE_MS)),
    }
    rows = streams.run(
        lambda: Whole(Program(operators, inputs=["packets", "orders"], outputs=["counts"])), stream, ports=2
    )
    lefts = list({(a.time, a.value["src"], a.value["bytes"]) for a in stream.arrivals if a.port == 0})
    rights = [(each.time, each.value["src"]) for each in stream.arrivals if each.port == 1]
    pairs: list[tuple[int, str, bool]] = []
    for time, src, _ in lefts:
        partners = [at for at, other in rights if other == src and abs(at - time) <= within_ms]
        pairs += [(max(time, at), src, True) for at in partners] or [(time, src, False)]
    expected = []
    for start, src in {(time // SIZE_MS * SIZE_MS, src) for time, src, _ in pairs}:
        inside = [paired for time, other, paired in pairs if other == src and start <= time < start + SIZE_MS]
        bounds = {"window_start": start, "window_end": start + SIZE_MS}
        expected.append({"src": src, "n": len(inside), "others": sum(inside)} | bounds)
    assert bag(expected) == bag([row for row, _, _ in rows])
