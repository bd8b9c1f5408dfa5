"""What is known of fields, and what follows from it."""

import pytest

from topics.flow.file import parse_graph
from topics.flow.problems import FlowError
from topics.flow.schema import Schema, merged_schemas


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src", "string"),
        ("user.id", "int"),
        ("user", "object"),
        ("user.name", None),
        ("other", None),
        ("src.x", None),
        ("free.any.thing", "any"),
    ],
)
def test_a_closed_schema_knows_all_its_fields(path: str, expected: str | None):
    """None means that the field can only be null: a mistake in the flow."""
    schema = Schema.of({"src": "string", "user.id": "int", "free": "object"})

    assert expected == schema.type_of(path)


@pytest.mark.parametrize(
    ("path", "expected"), [("src", "string"), ("other", "any"), ("user.name", "any"), ("src.x", None)]
)
def test_an_open_schema_allows_more_fields(path: str, expected: str | None):
    """A source's records may have fields that its schema does not name, but none inside a string."""
    schema = Schema.of({"src": "string", "user.id": "int"}, open_below={""})

    assert expected == schema.type_of(path)


def test_a_union_keeps_the_types_that_all_agree_on():
    """A field that is int here and string there may be anything."""
    one = Schema.of({"a": "int", "b": "int", "c": "int"})
    other = Schema.of({"a": "int", "b": "string"})

    assert Schema.of({"a": "int", "b": "any", "c": "any"}) == merged_schemas([one, other])


FLOW = """
flow: demo
sources: {{s: {{topic: s, schema: {{src: string, bytes: int, user.id: int, items: list}}}}}}
operators:
  {}
sinks: {{out: {{input: z, topic: out}}}}
"""


def problems(*operators: str) -> list[str]:
    try:
        parse_graph(FLOW.format("\n  ".join(operators)))
    except FlowError as error:
        return [f"{problem.message}" for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "operators",
    [
        ["z: {op: filter, input: s, where: unnamed > 0}"],
        ['z: {op: filter, input: s, where: "`bytes.raw` > 0"}'],
        ["z: {op: map, input: s, set: {x: user.unnamed}}"],
        [
            "p: {op: python, input: s}".replace("op: python", "python: m:f"),
            "z: {op: filter, input: p, where: whatever > 0}",
        ],
        ["p: {op: flat_map, input: s, each: items, into: item}", "z: {op: filter, input: p, where: item.price > 0}"],
        ["z: {op: join, left: s, right: s, on: [src], within: 1s, emit: {a: left.unnamed, b: right.bytes + 1}}"],
        [
            "j: {op: join, left: s, right: s, on: [src], within: 1s}",
            "z: {op: filter, input: j, where: left.bytes > 0 and src != ''}",
        ],
    ],
)
def test_what_may_be_right_is_not_refused(operators: list[str]):
    """Only certain mistakes are problems."""
    assert [] == problems(*operators)


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        (["z: {op: filter, input: s, where: lower(bytes) == 'a'}"], "lower() needs string, found int"),
        (["z: {op: map, input: s, set: {x: src.id}}"], "field access .id needs object, found string"),
        (["z: {op: flat_map, input: s, each: bytes, into: b}"], "the result needs list, found int"),
        (
            [
                "a: {op: aggregate, input: s, by: [src], emit: {n: count()}}",
                "z: {op: filter, input: a, where: n == 'x'}",
            ],
            "== compares int with string, which are never equal; convert one of them",
        ),
        (
            ["a: {op: map, input: s, set: {bytes: string(bytes)}}", "z: {op: map, input: a, set: {x: bytes * 2}}"],
            "* needs number, found string",
        ),
        (
            ["a: {op: project, input: s, fields: [src]}", "z: {op: map, input: a, drop: [scr]}"],
            "the input has no field 'scr'",
        ),
        (
            [
                "a: {op: project, input: s, fields: {rank: bytes}}",
                "z: {op: top_k, input: a, k: 1, by: rank, window: {size: 1s}}",
            ],
            "'a' has a field 'rank' already, which top_k would replace; rename it first",
        ),
    ],
)
def test_what_is_certainly_wrong_is_refused_along_the_flow(operators: list[str], expected: str):
    """Types follow the records through maps, projects and aggregates."""
    assert [expected] == problems(*operators)


def test_an_operator_that_cannot_be_read_does_not_spoil_the_rest():
    """Its output may have any field, so what reads it gets no problems of its own."""
    found = problems("a: {op: projct, input: s, fields: [src]}", "z: {op: filter, input: a, where: x > 0}")

    assert ["there is no operator 'projct'"] == found
