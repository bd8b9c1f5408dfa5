"""Identity: what an operator computes and from what, and nothing else."""

import pytest

from topics.flow.file import parse_graph

TEXT = """
flow: demo
qos: {{latency_ms: 100}}
sources:
  s: {{{source}}}
operators:
  a: {{{a}}}
  b: {{{b}}}
sinks:
  out: {{input: b, topic: out}}
"""
SOURCE = "topic: packets, key: src, event_time: ts"
A = "op: filter, input: s, where: bytes > 0 and src != 'x'"
B = "op: aggregate, input: a, by: [src, dst], window: {size: 1m, hop: 10s}, emit: {n: count(), m: max(bytes)}"


def identity(*, source: str = SOURCE, a: str = A, b: str = B) -> str:
    return parse_graph(TEXT.format(source=source, a=a, b=b)).operator("b").identity


def test_an_identity_does_not_change():
    """Other processes and later versions compare with it; a change here needs a new IDENTITY_VERSION."""
    assert "fd091a82f2c5193c53ce400156c60a7af0b15e6a20ddb9fab6a3d4da7644f8e6" == identity()


@pytest.mark.parametrize(
    "same",
    [
        {"source": "event_time: ts, key: src, topic: packets"},
        {"source": SOURCE + ", at: edge-9"},
        {"source": SOURCE + ", partitions: 16"},
        {"source": SOURCE + ", schema: {bytes: int}"},
        {"source": SOURCE + ", lateness: 1000ms, idle: 30s, time_unit: ms, codec: json"},
        {"a": "where: \"(bytes>0) and (src!='x')\", input: s, op: filter"},
        {"b": B.replace("n: count(), m: max(bytes)", "m: max( bytes ), n: count()")},
        {"b": B.replace("size: 1m, hop: 10s", "hop: 10000ms, size: 60s, emit: close")},
    ],
    ids=lambda same: next(iter(same.values()))[-40:],
)
def test_layout_order_defaults_and_placement_do_not_matter(same: dict[str, str]):
    """Two users who mean the same shall find each other's operators."""
    assert identity() == identity(**same)


@pytest.mark.parametrize(
    "other",
    [
        {"source": SOURCE.replace("packets", "packets2")},
        {"source": SOURCE.replace("key: src", "key: dst")},
        {"source": SOURCE.replace("event_time: ts", "event_time: t2")},
        {"source": SOURCE + ", time_unit: s"},
        {"source": SOURCE + ", lateness: 2s"},
        {"source": SOURCE + ", idle: 10s"},
        {"source": SOURCE + ", codec: msgpack"},
        {"a": A.replace("bytes > 0", "bytes >= 0")},
        {"a": "op: map, input: s, set: {x: '1'}"},
        {"b": B.replace("[src, dst]", "[src]")},
        {"b": B.replace("size: 1m", "size: 2m")},
        {"b": B.replace("hop: 10s", "hop: 20s")},
        {"b": B.replace("hop: 10s", "hop: 10s, emit: change")},
        {"b": B.replace("m: max(bytes)", "m: min(bytes)")},
        {"b": B.replace("m: max(bytes)", "x: max(bytes)")},
        {
            "b": B.replace("input: a", "input: s")
            + "}\n  c: {op: filter, input: a, where: 'true'}\n  d: {op: union, inputs: [b, c]"
        },
    ],
    ids=lambda other: next(iter(other.values()))[-40:],
)
def test_whatever_changes_the_result_changes_the_identity(other: dict[str, str]):
    """Reusing an operator that computes something else would be silently wrong."""
    text = (
        TEXT.format(source=SOURCE, a=A, b=B)
        if not other
        else TEXT.format(**{"source": SOURCE, "a": A, "b": B, **other})
    )
    if "d: {" in text:
        text = text.replace("out: {input: b", "out: {input: d")

    assert identity() != parse_graph(text).operator("b").identity


def operators(text: str) -> dict[str, str]:
    return {operator.name: operator.identity for operator in parse_graph(text).operators}


def flow(operators_text: str, sink: str = "z") -> str:
    head = "flow: other\nsources:\n  p: {topic: p}\n  q: {topic: q}\noperators:\n"
    return f"{head}{operators_text}\nsinks:\n  out: {{input: {sink}, topic: out}}\n"


def test_a_union_is_the_same_in_any_order():
    """It gives the same records."""
    assert (
        operators(flow("  z: {op: union, inputs: [p, q]}"))["z"]
        == operators(flow("  z: {op: union, inputs: [q, p]}"))["z"]
    )


def test_the_sides_of_a_join_are_not_exchangeable():
    """Its rows differ."""
    join = "  z: {{op: join, left: {}, right: {}, on: [id], within: 1s}}"

    assert operators(flow(join.format("p", "q")))["z"] != operators(flow(join.format("q", "p")))["z"]


def test_routes_are_known_by_their_order_not_by_their_names():
    """The first condition that is true wins, so order counts; what a route is called does not."""
    text = "  s: {{op: split, input: p, routes: {{{}}}, otherwise: {}}}\n  z: {{op: union, inputs: [{}, q]}}"
    one = operators(flow(text.format("big: a > 1, small: a > 0", "rest", "s.big")))
    renamed = operators(flow(text.format("x: a > 1, y: a > 0", "z1", "s.x")))
    swapped = operators(flow(text.format("small: a > 0, big: a > 1", "rest", "s.big")))
    second = operators(flow(text.format("big: a > 1, small: a > 0", "rest", "s.small")))

    assert one == renamed
    assert one["s"] != swapped["s"]
    assert one["s"] == second["s"]
    assert one["z"] != second["z"]


def test_a_rekey_does_not_change_what_is_computed():
    """How many partitions a topic has is no part of the question that an operator answers."""
    count = "  z: {op: aggregate, input: p, by: [id], emit: {n: count()}}\n  y: {op: union, inputs: [z, q]}"
    spread, single = flow(count, "y"), flow(count, "y").replace("topic: p}", "topic: p, partitions: 1}")

    assert operators(spread)["z"] == operators(single)["z"]
    assert {"p-in"} == operators(spread).keys() - operators(single).keys()


def test_equal_operators_of_one_flow_are_noted():
    """The author may not have meant to compute the same twice."""
    filters = "  a: {op: filter, input: p, where: x}\n  b: {op: filter, input: p, where: (x)}\n"
    graph = parse_graph(flow(filters + "  z: {op: union, inputs: [a, b, q]}"))

    assert ("b: computes the same as a; read that one twice to save work",) == graph.notes
