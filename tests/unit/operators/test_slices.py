"""A batch goes through a program in slices where a record may become many rows."""

from collections.abc import Iterable
from typing import Any

import pytest

from services.operators.batch import Batch, follow
from services.operators.program import Program
from services.operators.slices import ROWS_MAX, Slices
from topics.flow import specs
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph

JOIN = """
flow: shop
sources:
  orders: {topic: orders}
  clicks: {topic: clicks}
operators:
  both: {op: join, left: orders, right: clicks, on: [user], within: 1m}
sinks:
  out: {input: both, topic: results}
"""


def program(graph: FlowGraph) -> Program:
    operators: dict[str, specs.OperatorSpec] = {each.name: each.spec for each in graph.operators}
    return Program(operators, inputs=[each.name for each in graph.spec.sources], outputs=list(operators)[-1:])


def batch(values: list[dict[str, Any]], watermark_ms: int = 0) -> Batch:
    return Batch(values, [None] * len(values), [0] * len(values), range(len(values)), watermark_ms)


def rows(pieces: Iterable[dict[str, Batch]], output: str) -> list[int]:
    return [len(piece[output]) for piece in pieces]


def test_a_hot_key_s_rows_come_piece_by_piece() -> None:
    """All at once they would be as many as the product of both sides, here 120,000; memory must hold only some."""
    slices = Slices(program(parse_graph(JOIN)))
    assert [0] == rows(slices.run("orders", batch([{"user": f"u{k}"} for k in range(200)])), "both")
    assert [0] == rows(slices.run("clicks", batch([{"user": "a"}] * 400)), "both")
    first, *others = rows(slices.run("orders", batch([{"user": "a"}] * 300)), "both")
    assert 300 * 400 == first + sum(others)
    assert 50 * 400 == first, "nothing has warned of them, so the first slice is as large as any"
    assert 2 * ROWS_MAX > max(others)


def test_where_records_make_few_rows_slices_are_large_and_rows_come_together() -> None:
    """A slice costs something, and a write more."""
    made = program(parse_graph(JOIN))
    processed: list[int] = []
    process = made.process
    made.process = lambda name, part: processed.append(len(part)) or process(name, part)  # type: ignore[method-assign, func-returns-value]
    slices = Slices(made)
    assert [0] == rows(slices.run("orders", batch([{"user": f"u{k}"} for k in range(2_000)])), "both")
    assert [1, 2, 4, 8, 16, 32, 50] == processed[:7]
    assert {50} == set(processed[7:-1])


def test_only_the_last_slice_tells_how_far_time_has_come() -> None:
    """The records of the others are still to come: a window that closes too early loses them."""
    made = program(parse_graph(JOIN))
    told: list[int] = []
    process = made.process
    made.process = lambda name, part: told.append(part.watermark_ms) or process(name, part)  # type: ignore[method-assign, func-returns-value]
    slices = Slices(made)
    list(slices.run("orders", batch([], 7)))
    list(slices.run("orders", batch([{"user": "a"}] * 6, 9)))
    assert [7, 7, 7, 9] == told


def test_a_program_that_multiplies_nothing_gets_its_batch_as_it_is() -> None:
    """The fast path pays nothing."""
    text = JOIN.replace(
        "both: {op: join, left: orders, right: clicks, on: [user], within: 1m}",
        "both: {op: union, inputs: [orders, clicks]}",
    )
    made = program(parse_graph(text))
    given = batch([{"user": "a"}] * 5_000)
    (piece,) = Slices(made).run("orders", given)
    assert given.values is piece["both"].values


COUNTS = """
flow: shop
sources:
  orders: {topic: orders}
operators:
  counts: {op: aggregate, input: orders, by: [user], window: WINDOW, emit: {n: count()}}
sinks:
  out: {input: counts, topic: results}
"""
GROUPS = 3 * ROWS_MAX + 1
ORDERS = [{"user": f"u{k}"} for k in range(GROUPS)]


@pytest.mark.parametrize("window", ["{size: 1m}", "{hop: 1m, size: 2m}", "{gap: 1m}"])
@pytest.mark.parametrize("given", [1_000, GROUPS], ids=["small batches", "one batch"])
def test_what_time_closes_comes_in_pieces_and_only_the_last_tells_the_time(window: str, given: int) -> None:
    """A million groups take seconds, in which a host must not be silent. They are the same rows, in the same order."""
    graph = parse_graph(COUNTS.replace("WINDOW", window))
    whole, made = program(graph), program(graph)
    cut = Slices(made)
    for first in range(0, GROUPS, given):
        part = ORDERS[first : first + given]
        whole.process("orders", batch(part))
        list(cut.run("orders", batch(part)))
    expected = whole.process("orders", batch([], 100_000))["counts"]
    pieces, more = [], []
    for piece in cut.run("orders", batch([], 100_000)):
        pieces.append(piece["counts"])
        more.append(cut.has_more)
    assert GROUPS == len(expected)
    assert [ROWS_MAX] * 3 + [1] == list(map(len, pieces))
    assert expected == follow(pieces)
    assert [0, 0, 0, 100_000] == [piece.watermark_ms for piece in pieces]
    assert [True, True, True, False] == more
    assert {name: table.data for name, table in whole.tables.items()} == {
        name: table.data for name, table in made.tables.items()
    }


def test_where_a_function_is_called_a_close_stays_whole() -> None:
    """What was written of a first piece would wait in an open transaction until the function has done the last."""
    graph = parse_graph(COUNTS.replace("WINDOW", "{size: 1m}"))
    made = program(graph)
    made.waits = True
    cut = Slices(made)
    list(cut.run("orders", batch(ORDERS)))
    assert [GROUPS] == rows(cut.run("orders", batch([], 100_000)), "counts")
