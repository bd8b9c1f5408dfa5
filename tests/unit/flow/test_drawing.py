"""Drawings of flows, as text and as DOT."""

from pathlib import Path

from topics.flow.builder import Flow
from topics.flow.dot import to_dot
from topics.flow.drawing import draw
from topics.flow.file import load_graph
from topics.flow.graph import FlowGraph

GOOD = Path(__file__).parents[2] / "flows" / "good"


def lines(graph: FlowGraph) -> list[str]:
    return [f"{row.lanes}  {row.name}".rstrip() for row in draw(graph)]


def test_a_chain_is_one_lane_from_top_to_bottom():
    """Dotted where records go through a topic."""
    rows = draw(load_graph(GOOD / "top-talkers.yaml"))

    assert [
        ("●", "packets", "source", "topic packets by src at edge-1", None),
        ("○", "tcp", "filter", "proto == 'tcp' and bytes > 0", 1),
        ("○", "traffic", "aggregate", "bytes = sum(bytes), n = count() by src, dst, window of 20m every 10s", 1),
        ("┆", "", "re-key", "traffic into 1 partition", None),
        ("○", "top", "top_k", "100 by bytes desc", 2),
        ("■", "out", "sink", "topic top-talkers at noc", None),
    ] == [(row.lanes, row.name, row.op, row.text, row.segment) for row in rows]


def test_branches_open_lanes_and_meet_again():
    """A reader can follow every record with a finger."""
    flow = Flow("demo")
    first = flow.source("s", topic="s").filter("x", name="first")
    left, right, middle = (first.filter(name, name=name) for name in ("left", "right", "middle"))
    flow.union(left, right, name="both").sink("out", topic="out")
    middle.sink("rest", topic="rest")

    assert [
        "●  s",
        "○  first",
        "├─┬─╮",
        "○ │ │  left",
        "│ ○ │  right",
        "│ │ ○  middle",
        "│ │ ■  rest",
        "├─╯",
        "○  both",
        "■  out",
    ] == lines(flow.graph())


def test_lanes_that_do_not_belong_together_cross():
    """The line to a merge passes over those between."""
    flow = Flow("demo")
    first = flow.source("s", topic="s").filter("x", name="first")
    a, b, c = (first.filter(name, name=name) for name in "abc")
    flow.union(a, c, name="both").sink("out", topic="out")
    b.map({"y": "1"}, name="later").sink("rest", topic="rest")

    assert ["├─┼─╯", "○ │  both"] == lines(flow.graph())[6:8]


def test_every_part_is_drawn_once():
    """Whatever the shape."""
    graph = load_graph(GOOD / "every-operator.yaml")
    drawn = [row.name for row in draw(graph) if row.name]
    parts = [each.name for each in (*graph.spec.sources, *graph.operators, *graph.spec.sinks)]

    assert sorted(parts) == sorted(drawn)


def test_dot_boxes_the_segments_and_dashes_the_rekeys():
    """For those who have Graphviz."""
    text = to_dot(load_graph(GOOD / "top-talkers.yaml"))

    assert text.startswith('digraph "top-talkers" {\n')
    assert 2 == text.count("subgraph cluster_")
    assert '  "traffic" -> "top" [label="re-key to 1 partition", style=dashed];' in text.split("\n")


def test_dot_escapes_what_would_end_its_strings():
    """Expressions may hold quotes and backslashes."""
    flow = Flow("demo")
    flow.source("s", topic="s").filter("a == 'say \"hi\"'", name="f").sink("out", topic="out")

    assert 'label="f: filter\\na == ' in to_dot(flow.graph())
    assert r"\"hi\"" in to_dot(flow.graph())
