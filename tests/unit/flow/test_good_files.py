"""The files under tests/flows/good compile, and between them use all there is."""

from pathlib import Path
from typing import get_args

import pytest

from topics.flow.file import load_graph, parse_graph
from topics.flow.specs import Filter, Map, OperatorSpec, Qos, Source, TopK
from topics.flow.write import to_yaml

GOOD = sorted((Path(__file__).parents[2] / "flows" / "good").glob("*.yaml"))
TOP_TALKERS = next(file for file in GOOD if file.stem == "top-talkers")
EVERY_OPERATOR = next(file for file in GOOD if file.stem == "every-operator")


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.stem)
def test_a_good_file_compiles_and_survives_being_written(file: Path):
    """A written flow is the same flow."""
    graph = load_graph(file)

    assert graph == parse_graph(to_yaml(graph.spec))


def test_the_example_of_the_design_means_what_it_says():
    """DESIGN section 3 is the first thing a user tries."""
    spec = load_graph(TOP_TALKERS).spec

    assert ("top-talkers", Qos(250.0, 2.0, 0.99), "at_least_once") == (spec.name, spec.qos, spec.delivery)
    assert (Source("packets", "packets", at="edge-1", key="src", event_time="ts"),) == spec.sources
    assert ["tcp", "traffic", "top"] == [name for name, _ in spec.operators]
    top = dict(spec.operators)["top"]
    assert isinstance(top, TopK)
    assert (100, "bytes", (), "desc", None) == (top.k, top.by.text, top.per, top.order, top.window)


def test_the_other_example_has_every_operator():
    """So that all of them are drawn, written and compiled in these tests."""
    used = {type(spec) for _, spec in load_graph(EVERY_OPERATOR).spec.operators}

    assert set(get_args(OperatorSpec)) == used


def test_types_reach_the_sinks():
    """A typed graph: what flows into a sink is known where the sources say their types."""
    graph = load_graph(EVERY_OPERATOR)

    assert {
        "country": "string",
        "amount": "float",
        "mean": "float",
        "largest": "float",
        "orders": "int",
        "distinct_orders": "int",
        "window_start": "time",
        "window_end": "time",
    } == dict(graph.stream("revenue").schema.fields)
    assert not graph.stream("revenue").schema.is_open


def test_operators_come_after_what_they_read_and_otherwise_as_in_the_file():
    """Topological order, and a stable one."""
    text = """
flow: demo
sources: {s: {topic: s}}
operators:
  last: {op: union, inputs: [b, c]}
  c: {op: filter, input: a, where: x}
  b: {op: filter, input: a, where: y}
  a: {op: filter, input: s, where: z}
sinks: {out: {input: last, topic: out}}
"""
    assert ["a", "c", "b", "last"] == [operator.name for operator in parse_graph(text).operators]


def test_words_that_yaml_1_1_takes_for_truth_values_are_names():
    """`on` is our own key, and `no`, `yes`, `y` are fields that people have."""
    text = """
flow: demo
sources: {s: {topic: s, key: no}}
operators:
  m: {op: map, input: s, set: {yes: no, on: "true"}, drop: [y]}
sinks: {out: {input: m, topic: out}}
"""
    spec = dict(parse_graph(text).spec.operators)["m"]

    assert isinstance(spec, Map)
    assert [("yes", "no"), ("on", "true")] == [(name, expression.text) for name, expression in spec.set]


@pytest.mark.parametrize(("written", "expected"), [("true", "true"), ("1", "1"), ("1.50", "1.5"), ("null", "null")])
def test_a_constant_needs_no_quotes_to_be_an_expression(written: str, expected: str):
    """YAML's numbers and truth values are expressions too."""
    text = f"flow: d\nsources: {{s: {{topic: s}}}}\noperators: {{m: {{op: map, input: s, set: {{x: {written}}}}}}}\n"
    spec = dict(parse_graph(text + "sinks: {out: {input: m, topic: out}}\n").spec.operators)["m"]

    assert isinstance(spec, Map)
    assert expected == spec.set[0][1].text


def test_a_hop_as_long_as_the_window_is_a_tumbling_window():
    """One way to say one thing, so that equal windows are equal."""
    text = TOP_TALKERS.read_text()
    same = text.replace("hop: 10s, size: 20m", "hop: 20m, size: 20m"), text.replace("hop: 10s, size: 20m", "size: 20m")

    assert parse_graph(same[0]) == parse_graph(same[1])


def test_an_expression_over_several_lines_is_one_expression():
    """Block scalars keep long conditions readable."""
    operators = "operators:\n  f:\n    op: filter\n    input: s\n    where: >-\n      a > 0\n      and b > 0\n"
    text = f"flow: d\nsources: {{s: {{topic: s}}}}\n{operators}"
    spec = dict(parse_graph(text + "sinks: {out: {input: f, topic: out}}\n").spec.operators)["f"]

    assert isinstance(spec, Filter)
    assert "a > 0 and b > 0" == spec.where.text
