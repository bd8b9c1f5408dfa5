"""Programs: operators wired together."""

from services.operators.batch import END_MS, Batch
from services.operators.program import Program
from services.operators.wiring import flow_program, input_name, segment_program
from topics.expressions import parse
from topics.flow import specs
from topics.flow.file import parse_graph

FLOW = """
flow: shop
sources:
  orders: {topic: orders, key: id, event_time: ts, partitions: 4}
  payments: {topic: payments, key: payer, event_time: ts, partitions: 2}
operators:
  sizes: {op: split, input: orders, routes: {big: "n > 10"}, otherwise: small}
  paid: {op: join, left: sizes.big, right: payments, on: {id: order}, within: 10s, emit: {amount: right.amount}}
  total: {op: aggregate, input: paid, by: [amount], window: {size: 1m}, emit: {n: count()}}
sinks:
  out: {input: total, topic: totals}
  rest: {input: sizes.small, topic: rest}
"""


def test_a_batch_reaches_what_depends_on_its_input_and_nothing_else() -> None:
    """A join's other side must not see records that are not its own."""
    program = Program(
        {
            "a": specs.Filter("left", parse("n > 1")),
            "b": specs.Map("right", (("seen", parse("true")),)),
            "both": specs.Union(("a", "b")),
        },
        inputs=["left", "right"],
        outputs=["a", "both", "left"],
    )
    outputs = program.process("left", Batch([{"n": 1}, {"n": 2}], [None] * 2, [5, 6], [0, 1], 4))
    assert {"a": [{"n": 2}], "both": [{"n": 2}], "left": [{"n": 1}, {"n": 2}]} == {
        name: batch.values for name, batch in outputs.items()
    }
    outputs = program.process("right", Batch([{"n": 0}], [None], [7], [0], 3))
    assert {"both": [{"n": 0, "seen": True}]} == {name: batch.values for name, batch in outputs.items()}
    assert 3 == outputs["both"].watermark_ms


def test_tables_are_named_by_operator_and_a_probe_sees_every_step() -> None:
    """Hosts write a changelog for each operator and measure each operator."""
    seen: list[tuple[str, int, int]] = []
    program = Program(
        {"many": specs.FlatMap("in", parse("xs"), "x"), "u": specs.Union(("many", "in"))},
        inputs=["in"],
        outputs=["u"],
        probe=lambda name, came_in, came_out: seen.append((name, came_in, came_out)),
    )
    program.process("in", Batch([{"xs": [1, 2, 3]}], [None], [0], [0], 0))
    assert [("many", 1, 3), ("u", 4, 4)] == seen
    assert ["u/watermarks"] == list(program.tables)


def test_a_segment_has_the_edges_that_cross_its_border_as_inputs_and_outputs() -> None:
    """The host connects topics to programs by these names."""
    graph = parse_graph(FLOW)
    programs = {segment.operators: segment_program(graph, segment) for segment in graph.segments}
    named = {operators: (program.inputs, program.outputs) for operators, program in programs.items()}
    expected = {
        ("payments-in",): (("payments",), ("payments-in",)),
        ("sizes",): (("orders",), ("sizes.big", "sizes.small")),
        ("paid",): (("payments-in>paid.right", "sizes.big>paid.left"), ("paid",)),
        ("total",): (("paid>total.input",), ("total",)),
    }
    assert expected == named
    assert {name for inputs, _ in named.values() for name in inputs} == {
        input_name(edge) for segment in graph.segments for edge in segment.inputs
    }


def test_the_end_of_time_goes_through_a_whole_flow() -> None:
    """At the end of its input a flow gives out every open window."""
    program = flow_program(parse_graph(FLOW))
    program.process("orders", Batch([{"id": "a", "n": 11}], [b"a"], [1_000], [0], 0))
    program.process("payments", Batch([{"order": "a", "amount": 5}], [b"p"], [2_000], [0], 0))
    program.process("orders", Batch.empty(END_MS))
    outputs = program.process("payments", Batch.empty(END_MS))
    assert [{"amount": 5, "n": 1, "window_start": 0, "window_end": 60_000}] == outputs["total"].values
