"""How seldom a segment's tasks may commit where commits are slow: nobody who waits for a commit may wait for long."""

import pytest

from services.host.segment_plan import STRETCHED_S_MAX, SegmentPlan, plan_segment
from topics.flow.file import parse_graph

TEXT = """
flow: shops
delivery: DELIVERY
QOS
sources:
  a: {topic: a, key: shop}
  b: {topic: b, key: shop}
operators:
  b-in: {op: filter, input: b, where: "amount > 0"}
  sums: {op: aggregate, input: b-in, by: [team], emit: {total: sum(amount)}}
  both: {op: union, inputs: [a, sums]}
sinks:
  out: {input: OUT, topic: out, key: team}
"""


def plans(*, delivery: str = "at_least_once", qos: str = "", out: str = "sums") -> dict[str, SegmentPlan]:
    text = TEXT.replace("DELIVERY", delivery).replace("QOS", qos).replace("OUT", out)
    if out != "both":
        text = "".join(line for line in text.splitlines(keepends=True) if "  both:" not in line and "  a:" not in line)
    graph = parse_graph(text)
    made = (plan_segment(graph, each.id, {"a": 2, "b": 2, "out": 2}) for each in graph.segments)
    return {plan.segment.operators[0]: plan for plan in made}


def test_where_nobody_waits_for_commits_they_may_be_rare() -> None:
    """Edges are read ahead of their commit, and so are results by whoever wants them soon."""
    assert {"b-in": STRETCHED_S_MAX, "sums": STRETCHED_S_MAX} == {
        name: plan.stretched_s_max for name, plan in plans().items()
    }


def test_a_segment_whose_edge_is_read_beside_a_source_commits_as_often_as_ever() -> None:
    """Its reader has one consumer, which sees of users' records only what is committed, and so of ours."""
    found = plans(out="both")
    assert found["sums"].reads_committed
    assert found["b-in"].commit_interval_s == found["b-in"].stretched_s_max < STRETCHED_S_MAX
    assert STRETCHED_S_MAX == found["sums"].stretched_s_max


@pytest.mark.parametrize(("qos", "most_s"), [("qos: {latency_ms: 400}", 0.2), ("qos: {latency_ms: 60000}", 3.0)])
def test_a_bound_bounds_also_what_readers_of_committed_records_wait_for(qos: str, most_s: float) -> None:
    """Many clients read only what is committed unless they are told otherwise."""
    assert most_s == plans(qos=qos)["sums"].stretched_s_max


def test_exactly_once_never_stretches() -> None:
    """Its results are the commits."""
    plan = plans(delivery="exactly_once")["sums"]
    assert plan.commit_interval_s == plan.stretched_s_max
