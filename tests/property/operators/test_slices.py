"""However a batch is sliced, a program makes the same of it."""

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators import slices
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
RECORDS = st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 5), max_size=4), st.integers(0, 9))
BATCHES = st.lists(st.tuples(st.sampled_from(["orders", "clicks"]), st.lists(RECORDS, max_size=12)), max_size=8)


def program(graph: FlowGraph) -> Program:
    return Program({each.name: each.spec for each in graph.operators}, inputs=["orders", "clicks"], outputs=["last"])


def given_batches(drawn: list[tuple[str, list[Any]]]) -> list[tuple[str, Batch]]:
    """Event time goes on by 10 ms a batch, and the records of one lie anywhere within that."""
    made, offset = [], 0
    for number, (name, records) in enumerate(drawn):
        values = [{"user": user, "items": items} for user, items, _ in records]
        times = [10 * number + after for _, _, after in records]
        offsets = range(offset, offset := offset + len(records))
        made.append((name, Batch(values, [None] * len(records), times, offsets, 10 * number)))
    return [*made, ("orders", Batch.empty(END_MS)), ("clicks", Batch.empty(END_MS))]


@pytest.mark.parametrize("graph", [parse_graph(JOINED), parse_graph(FLATTENED)], ids=["joined", "flattened"])
@settings(max_examples=200)
@given(drawn=BATCHES, rows_max=st.integers(1, 30))
def test_slices_change_nothing(graph: FlowGraph, drawn: list[tuple[str, list[Any]]], rows_max: int) -> None:
    """Rows, their order and how far time has come are those of whole batches."""
    whole, sliced = program(graph), Slices(program(graph))
    with patch.object(slices, "ROWS_MAX", rows_max):
        for name, batch in given_batches(drawn):
            expected = whole.process(name, batch)["last"]
            pieces = [piece["last"] for piece in sliced.run(name, batch)]
            rows = [row for piece in pieces for row in zip(piece.values, piece.keys, piece.times, strict=True)]
            assert list(zip(expected.values, expected.keys, expected.times, strict=True)) == rows
            assert expected.watermark_ms == pieces[-1].watermark_ms
            told = [BEGINNING_MS, *(piece.watermark_ms for piece in pieces)]
            assert sorted(told) == told
