"""Which fields are read, and that leaving out the others never shows in a result."""

import msgspec
import pytest

from services.operators.batch import END_MS, Batch
from services.operators.program import Program
from services.operators.pruning import can_have_slots, fields_read, needless_projections
from services.operators.run import FlowRun
from services.operators.wiring import flow_program
from topics.expressions import parse
from topics.flow import specs
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph

SUMS = "sums: {op: aggregate, input: %s, by: [who.name], window: {size: 1m}, emit: {n: sum(n)}}"


def graph(*operators: str, reads: str = "sums", sources: str = "s: {topic: s, event_time: t, key: k}") -> FlowGraph:
    lines = ["flow: pruned", "sources:", f"  {sources}", "operators:", *(f"  {each}" for each in operators)]
    return parse_graph("\n".join([*lines, "sinks:", f"  out: {{input: {reads}, topic: out}}"]))


def read(compiled: FlowGraph) -> dict[str, list[str] | None]:
    operators = [(operator.name, operator.spec) for operator in compiled.operators]
    found = fields_read(compiled.spec.sources, operators, compiled.spec.sinks)
    return {name: None if fields is None else sorted(fields) for name, fields in found.items()}


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ([SUMS % "s"], ["k", "n", "t", "who"]),
        (["a: {op: filter, input: s, where: x.y > 1}", SUMS % "a"], ["k", "n", "t", "who", "x"]),
        (["a: {op: map, input: s, set: {n: m + 1}}", SUMS % "a"], ["k", "m", "n", "t", "who"]),
        (["a: {op: project, input: s, fields: {who: who, n: m}}", SUMS % "a"], ["k", "m", "t", "who"]),
        (["a: {op: flat_map, input: s, each: xs, into: n}", SUMS % "a"], ["k", "n", "t", "who", "xs"]),
        (["a: {op: dedupe, input: s, by: [id], within: 1m}", SUMS % "a"], ["id", "k", "n", "t", "who"]),
        (
            [
                "a: {op: split, input: s, routes: {big: n > 1, red: c == 'r'}}",
                "b: {op: union, inputs: [a.big, a.red]}",
                SUMS % "b",
            ],
            ["c", "k", "n", "t", "who"],
        ),
        (["a: {op: top_k, input: s, k: 1, by: score, window: {size: 1m}}", SUMS % "a"],
         ["k", "n", "score", "t", "who", "window_end", "window_start"]),
        (["a: {python: 'm:f', input: s}", SUMS % "a"], None),
    ],
)  # fmt: skip
def test_a_source_decodes_what_somebody_reads(operators: list[str], expected: list[str] | None) -> None:
    """A field too many costs time, a field too few gives wrong results."""
    assert {"s": expected} == read(graph(*operators))


def test_what_a_sink_writes_whole_is_decoded_whole() -> None:
    """A filter passes on fields that the flow never names."""
    assert {"s": None} == read(graph("a: {op: filter, input: s, where: x > 1}", reads="a"))


def test_a_join_reads_the_fields_of_each_side_that_it_emits() -> None:
    """Without `emit`, or with a whole side in it, everything is passed on."""
    sources = "l: {topic: l, key: id}\n  r: {topic: r, key: id}"
    join = "j: {op: join, left: l, right: r, on: [id], within: 1s, emit: {a: left.a.b, r: %s}}"
    assert {"l": ["a", "id"], "r": ["c", "id"]} == read(graph(join % "right.c", reads="j", sources=sources))
    assert {"l": ["a", "id"], "r": None} == read(graph(join % "right", reads="j", sources=sources))
    bare = "j: {op: join, left: l, right: r, on: [id], within: 1s}"
    assert {"l": None, "r": None} == read(graph(bare, reads="j", sources=sources))


@pytest.mark.parametrize(
    ("fields", "reader", "expected"),
    [
        ("[who, n]", SUMS % "p", True),
        ("{who: who, n: n, unread: x + 1}", SUMS % "p", True),
        ("{who: who, n: m}", SUMS % "p", False),
        ("[who, n]", "sums: {op: filter, input: p, where: n > 1}", False),
    ],
)
def test_a_projection_is_needless_only_where_nobody_could_tell(fields: str, reader: str, expected: bool) -> None:
    """Not when it computes or renames what is read, hides a field that is read, or is passed on whole."""
    compiled = graph(f"p: {{op: project, input: s, fields: {fields}}}", reader)
    operators = [(operator.name, operator.spec) for operator in compiled.operators]
    assert ({"p"} if expected else set()) == needless_projections(operators, leaving=["sums"])


SLIM = "slim: {op: project, input: %s, fields: {who: who, n: n + 1}}"
KEPT = "kept: {op: filter, input: s, where: n > 1}"


@pytest.mark.parametrize(
    ("operators", "reads", "expected"),
    [
        pytest.param([SLIM % "s"], "slim", True, id="projected"),
        pytest.param([KEPT, SLIM % "kept"], "slim", True, id="filtered, then projected"),
        pytest.param([KEPT], "kept", False, id="goes out whole"),
        pytest.param([KEPT, SUMS % "kept"], "sums", False, id="summed"),
        pytest.param([KEPT, "more: {op: map, input: kept, set: {x: 1}}", SLIM % "more"], "slim", False, id="mapped"),
        pytest.param(["p: {op: project, input: s, fields: [who, n]}", SUMS % "p"], "sums", False, id="needless"),
        pytest.param(["slim: {op: project, input: s, fields: {n: '`odd name`'}}"], "slim", False, id="no plain name"),
        pytest.param(["slim: {op: project, input: s, fields: {n: __class__}}"], "slim", False, id="a special name"),
    ],
)
def test_records_have_slots_where_they_are_read_by_name_alone(operators: list[str], reads: str, expected: bool) -> None:
    """What takes a record for an object (a sink, a map, a function) would not find one."""
    compiled = graph(*operators, reads=reads)
    named = [(operator.name, operator.spec) for operator in compiled.operators]
    fields = fields_read(compiled.spec.sources, named, compiled.spec.sinks)["s"]
    assert expected is can_have_slots("s", fields, named, leaving=[reads])


@pytest.mark.parametrize("name", ["plain", "odd name"])
def test_slots_give_the_results_of_objects(name: str) -> None:
    """Late, timeless and broken records, missing fields and nulls among them; with an odd name there are no slots."""
    raws = [
        msgspec.json.encode({"t": 100_000, "k": "x", "who": "a", name: 2, "n": 3}),
        msgspec.json.encode({"t": 100_001, "k": None, name: 2.5, "n": 1}),
        msgspec.json.encode({"t": 1, "who": "late", "unread": [1]}),
        msgspec.json.encode({"k": "x", "who": "timeless"}),
        b"broken",
        msgspec.json.encode({"t": 100_002, "who": None, "n": "text"}),
        msgspec.json.encode({"t": 100_003, "who": "b", name: {"x": 1}, "n": 7}),
    ]
    texts = ["kept: {op: filter, input: s, where: not (n == 7)}"]
    texts.append(f"slim: {{op: project, input: kept, fields: {{who: who, n: n + 1, d: '`{name}`'}}}}")
    given: list[bytes] = []
    run = FlowRun(graph(*texts, reads="slim"), lambda _, encoded: given.extend(filter(None, encoded.values)))
    run.feed("s", raws, now_ms=0)
    assert [
        {"who": "a", "n": 4, "d": 2},
        {"who": None, "n": 2, "d": 2.5},
        {"who": None, "n": None, "d": None},
    ] == [msgspec.json.decode(each) for each in given]
    assert [{"t": 1, "who": "late", "unread": [1]}] == [value for _, late in run.take_late() for value in late.values]
    assert [3, 4] == sorted(failure.offset for failure in run.take_failures())


def test_a_field_that_a_projection_left_out_stays_out_of_reach() -> None:
    """`n` exists before the projection; after it, its sum must be that of nothing. (A flow file may not even ask.)"""
    total = specs.Aggregation("total", "sum", parse("n"))
    program = Program(
        {
            "p": specs.Project("s", (("who", parse("who")),)),
            "sums": specs.Aggregate("p", ("who",), (total,), specs.Window(size_ms=60_000)),
        },
        inputs=["s"],
        outputs=["sums"],
    )
    program.process("s", Batch([{"who": "a", "n": 5}], [None], [1], [0], 0))
    (row,) = program.process("s", Batch.empty(END_MS))["sums"].values
    assert "a" in row.values()
    assert 5 not in row.values()


def test_a_dot_in_a_fields_own_name_is_no_way_into_an_object() -> None:
    """In backticks a dot is a letter like any other: cut there, the field would not be decoded and read as null."""
    filtered = graph("a: {op: filter, input: s, where: '`x.y` > 1'}", SUMS % "a")
    assert {"s": ["k", "n", "t", "who", "x.y"]} == read(filtered)
    sources = "l: {topic: l, key: id}\n  r: {topic: r, key: id}"
    join = "j: {op: join, left: l, right: r, on: [id], within: 1s, emit: {a: 'left.`a.b`', b: \"right['c.d'].e\"}}"
    assert {"l": ["a.b", "id"], "r": ["c.d", "id"]} == read(graph(join, reads="j", sources=sources))


def test_pruned_and_whole_records_give_the_same_results() -> None:
    """The same flow, once from bytes by the pruned way and once from values that have everything."""
    compiled = graph("a: {op: filter, input: s, where: x.y > 1}", SUMS % "a")
    values = [{"t": t, "who": {"name": "ab"[t % 2]}, "n": t, "x": {"y": t % 3}, "more": [t]} for t in range(40)]
    outputs: list[bytes] = []
    flow = FlowRun(compiled, lambda _, encoded: outputs.extend(encoded.values))
    flow.feed("s", [msgspec.json.encode(value) for value in values], now_ms=0)
    flow.close()
    whole = flow_program(compiled)
    whole.process("s", Batch(values, [None] * 40, list(range(40)), range(40), 0))
    expected = whole.process("s", Batch.empty(END_MS))["sums"].values
    assert len(expected) == 2
    assert expected == [msgspec.json.decode(raw) for raw in outputs]
