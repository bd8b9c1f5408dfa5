"""However a batch is sliced, a program makes the same of it."""

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators import rolling, slices
from services.operators.batch import BEGINNING_MS, END_MS, Batch
from services.operators.program import Program
from services.operators.slices import Slices
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph

JOINED = """
flow: shop
sources:
  orders: {topic: orders}
  clicks: {topic: clicks}
operators:
  both: {op: join, kind: outer, left: orders, right: clicks, on: [user], within: 5ms}
  last: {op: aggregate, input: both, by: [user], window: {size: 20ms}, emit: {pairs: count()}}
sinks:
  out: {input: last, topic: results}
"""
FLATTENED = """
flow: shop
sources:
  orders: {topic: orders}
  clicks: {topic: clicks}
operators:
  all:   {op: union, inputs: [orders, clicks]}
  items: {op: flat_map, input: all, each: items, into: item}
  sizes: {op: split, input: items, routes: {large: "item > 2"}, otherwise: rest}
  more:  {op: flat_map, input: sizes.large, each: items, into: other}
  last:  {op: union, inputs: [more, sizes.rest]}
sinks:
  out: {input: last, topic: results}
"""
CLOSED = """
flow: shop
sources:
  orders: {topic: orders}
  clicks: {topic: clicks}
operators:
  all:   {op: union, inputs: [orders, clicks]}
  sums:  {op: aggregate, input: all, by: [user, items], window: WINDOW, emit: {n: count(), most: max(after)}}
  busy:  {op: filter, input: sums, where: "n > 0"}
  later: {op: aggregate, input: busy, by: [items], window: {size: 40ms}, emit: {n: sum(n)}}
  best:  {op: top_k, input: sums, k: 2, by: n, per: [user], window: {size: 40ms}}
sinks:
  each: {input: busy, topic: results}
  out: {input: later, topic: later}
  top: {input: best, topic: best}
"""
WINDOWS = ["{size: 20ms}", "{hop: 10ms, size: 30ms}", "{gap: 15ms}"]
RECORDS = st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 5), max_size=4), st.integers(0, 9))
BATCHES = st.lists(st.tuples(st.sampled_from(["orders", "clicks"]), st.lists(RECORDS, max_size=12)), max_size=8)


def program(graph: FlowGraph) -> Program:
    operators = {each.name: each.spec for each in graph.operators}
    return Program(operators, inputs=["orders", "clicks"], outputs=[sink.input for sink in graph.spec.sinks])


def given_batches(drawn: list[tuple[str, list[Any]]]) -> list[tuple[str, Batch]]:
    """Event time goes on by 10 ms a batch, and the records of one lie anywhere within that."""
    made, offset = [], 0
    for number, (name, records) in enumerate(drawn):
        values = [{"user": user, "items": items, "after": after} for user, items, after in records]
        times = [10 * number + after for _, _, after in records]
        offsets = range(offset, offset := offset + len(records))
        made.append((name, Batch(values, [None] * len(records), times, offsets, 10 * number)))
    return [*made, ("orders", Batch.empty(END_MS)), ("clicks", Batch.empty(END_MS))]


@pytest.mark.parametrize(
    "graph",
    [parse_graph(each) for each in (JOINED, FLATTENED, *(CLOSED.replace("WINDOW", window) for window in WINDOWS))],
    ids=["joined", "flattened", "tumbling", "hopping", "sessions"],
)
@settings(max_examples=200)
@given(drawn=BATCHES, rows_max=st.integers(1, 30))
def test_slices_change_nothing(graph: FlowGraph, drawn: list[tuple[str, list[Any]]], rows_max: int) -> None:
    """Rows, their order and how far time has come are those of whole batches."""
    with patch.object(slices, "ROWS_MAX", rows_max), patch.object(rolling, "BREATH_GROUPS", rows_max):
        whole, sliced = program(graph), Slices(program(graph))
        for name, batch in given_batches(drawn):
            made = list(sliced.run(name, batch))
            for output, expected in whole.process(name, batch).items():
                pieces = [piece[output] for piece in made]
                rows = [row for piece in pieces for row in zip(piece.values, piece.keys, piece.times, strict=True)]
                assert list(zip(expected.values, expected.keys, expected.times, strict=True)) == rows
                assert expected.watermark_ms == pieces[-1].watermark_ms
                told = [BEGINNING_MS, *(piece.watermark_ms for piece in pieces)]
                assert sorted(told) == told
