"""What a flow's hops cost wherever it runs."""

import pytest

from placement.model import Sink, Source, Task, chain
from services.host.cell.flow_hops import FlowHops
from services.host.cell.flow_model import commit_wait_ms, model_flow
from topics.flow.file import parse_graph

TEXT = """
flow: talk
qos: {latency_ms: BOUND}
delivery: DELIVERY
sources:
  orders: {topic: orders, at: a, key: user, partitions: 2}
operators:
  large: {op: filter, input: orders, where: "amount > 0"}
sinks:
  out: {input: large, topic: out, at: b}
"""
CHAIN = chain("f", Source("in", "a", 1.0), (Task("x", 1.0), Task("y", 1.0)), Sink("out", "b"))


def test_each_edge_is_a_hop_and_what_is_written_waits_for_its_commit() -> None:
    """Three hops; the first reads what somebody else has written."""
    assert 3 * 4.0 + 2 * 50.0 == FlowHops.of(CHAIN.graph, hop_ms=4.0, commit_ms=50.0).total_ms


@pytest.mark.parametrize("commit_ms", [0.0, 50.0])
def test_beyond_the_last_task_is_its_hop_to_the_sink(commit_ms: float) -> None:
    """Hosts measure up to the end of the last task, with the wait for its commit: the model must not add that again."""
    hops = FlowHops.of(CHAIN.graph, hop_ms=4.0, commit_ms=commit_ms)
    assert 4.0 + 7.0 == hops.beyond_ms(CHAIN.graph, {0: "a", 1: "c"}, lambda a, b: {("c", "b"): 7.0}[a, b])


def test_the_brain_s_bound_is_what_the_hops_leave() -> None:
    """A flow whose hops alone break its bound is refused, not placed."""
    graph = parse_graph(TEXT.replace("BOUND", "40").replace("DELIVERY", "at_least_once"))
    regions = {"a": "r", "b": "r"}
    assert 40.0 - 2 * 4.0 == model_flow(graph, regions, hop_ms=4.0).flow.latency_bound_ms
    tight = parse_graph(TEXT.replace("BOUND", "6").replace("DELIVERY", "at_least_once"))
    assert 0.0 < model_flow(tight, regions, hop_ms=4.0).flow.latency_bound_ms < 0.1


def test_a_busy_moment_refuses_nothing() -> None:
    """Hops of 200 ms on machines that have too much to do are no property of the flow; predictions tell them."""
    graph = parse_graph(TEXT.replace("BOUND", "200").replace("DELIVERY", "at_least_once"))
    model = model_flow(graph, {"a": "r", "b": "r"}, hop_ms=200.0)
    assert (400.0, 10.0) == (model.hops.total_ms, model.held_ms)
    assert 190.0 == model.flow.latency_bound_ms


def test_only_exactly_once_waits_for_commits() -> None:
    """At least once, readers see results when they are written."""
    once = parse_graph(TEXT.replace("BOUND", "200").replace("DELIVERY", "exactly_once")).spec
    least = parse_graph(TEXT.replace("BOUND", "200").replace("DELIVERY", "at_least_once")).spec
    assert (25.0, 0.0) == (commit_wait_ms(once), commit_wait_ms(least))
