"""When segments of two flows write the same, and what a reader counts on."""

import pytest

from services.sharing.equality import CannotTapError, promise, segment_of, shape, tapped_edges
from tests.unit.sharing.talks import segment, talk, tap
from topics.flow.builder import Flow
from topics.flow.graph import FlowGraph
from topics.messages import SegmentTap


def shape_of(graph: FlowGraph, operator: str) -> str:
    found = segment_of(graph, segment(graph, operator))
    assert found is not None
    return shape(graph, found)


def test_equal_segments_of_two_flows_have_one_shape() -> None:
    """Whatever comes after them: the names of flows and sinks are nobody's business."""
    assert shape_of(talk("f"), "counts") == shape_of(talk("g", then="shop"), "counts")


@pytest.mark.parametrize(
    "other", [{"by": "city"}, {"where": "size > 1"}, {"delivery": "at_least_once"}, {"partitions": 8}], ids=str
)
def test_another_key_condition_delivery_or_partition_count_is_another_segment(other: dict) -> None:
    """Its records are others, lie elsewhere, or may come twice."""
    assert shape_of(talk("f"), "counts") != shape_of(talk("g", **other), "counts")


def test_another_cut_on_the_way_is_another_segment() -> None:
    """The same counts, but by way of two partitions: how often each upstream speaks, and when, is not the same."""
    graphs = []
    for name, ways in (("f", 4), ("g", 2)):
        flow = Flow(name)
        first = flow.source("clicks", topic="clicks", key="id", partitions=ways).dedupe(
            by=["user"], within="1m", name="once"
        )
        second = first.aggregate(by=["team"], emit={"n": "count()"}, name="counts")
        second.aggregate(by=["n"], emit={"m": "count()"}, name="last").sink("out", topic=name)
        graphs.append(flow.graph())
    assert shape_of(graphs[0], "counts") != shape_of(graphs[1], "counts")


def test_a_reader_is_told_the_topic_of_the_serving_flow() -> None:
    """Edge topics are named by flows and operators: those of the other flow have other names."""
    graph, server = talk("g", then="shop"), talk("f", then="shop")
    (edge,) = tapped_edges(graph, server, tap(graph, server))
    assert ("stig.flow.g.edge.counts.TO.totals.0", "stig.flow.f.edge.counts.TO.totals.0") == (edge.edge, edge.topic)


def test_an_edge_by_another_key_serves_nobody() -> None:
    """The segment is equal, its results are, but they lie in the wrong partitions."""
    graph, server = talk("g", then="shop"), talk("f", then="team")
    with pytest.raises(CannotTapError, match="no edge like"):
        tapped_edges(graph, server, tap(graph, server))


def test_a_segment_that_writes_to_a_sink_serves_nobody() -> None:
    """When its flow is withdrawn the sink must stop, and the rest go on: it can't do both."""
    graph, server = talk("g"), talk("f", raw=True)
    for operator in ("kept", "counts"):  # the latter does not, but what feeds it does
        with pytest.raises(CannotTapError, match="writes to a sink"):
            tapped_edges(graph, server, tap(graph, server, operator))
    with pytest.raises(CannotTapError, match="writes to a sink"):
        tapped_edges(server, graph, tap(server, graph, "kept"))


def fields(name: str, emit: dict[str, str]) -> FlowGraph:
    """A filter whose records go on as they are, to something that reads this and that of them."""
    flow = Flow(name)
    kept = flow.source("clicks", topic="clicks", key="id", partitions=4).filter("size > 0", name="kept")
    kept.aggregate(by=["user"], emit=emit, name="totals").sink("out", topic=name)
    return flow.graph()


def test_who_serves_must_pass_on_all_fields_that_are_read() -> None:
    """A source is decoded as far as its own flow reads it. What is not decoded would be null in silence."""
    count, total = fields("count", {"n": "count()"}), fields("total", {"n": "sum(price)"})
    assert shape_of(count, "kept") == shape_of(total, "kept")
    with pytest.raises(CannotTapError, match="does not pass on price, which total reads"):
        tapped_edges(total, count, tap(total, count, "kept"))
    assert tapped_edges(count, total, tap(count, total, "kept"))


def test_who_serves_must_commit_as_often_as_the_other_one_asks_for() -> None:
    """Exactly once a record waits for the commit, however near its reader's bound is."""
    slow, quick = talk("slow"), talk("quick", latency_ms=40)
    with pytest.raises(CannotTapError, match="too rarely for quick"):
        tapped_edges(quick, slow, tap(quick, slow))
    assert tapped_edges(slow, quick, tap(slow, quick))
    quick, slow = (talk(name, delivery="at_least_once", latency_ms=ms) for name, ms in (("q", 40), ("s", 4_000)))
    assert tapped_edges(quick, slow, tap(quick, slow)), "here nobody waits"


def test_a_promise_holds_the_fields_and_the_topics() -> None:
    """The segment's id is the same: what it passes on is not."""
    one, other = fields("f", {"n": "count()"}), fields("f", {"n": "sum(price)"})
    first, second = (segment_of(graph, segment(graph, "kept")) for graph in (one, other))
    assert first is not None
    assert second is not None
    assert first.id == second.id
    assert promise(one, first) != promise(other, second)
    assert promise(one, first) == promise(fields("f", {"k": "count()"}), first)


def test_two_inputs_of_one_reader_never_get_the_same_topic() -> None:
    """A segment tells its inputs apart by topic: one of the two would starve."""

    def joined(name: str, ports: int) -> FlowGraph:
        flow = Flow(name)
        kept = flow.source("clicks", topic="clicks", key="id", partitions=4).filter("size > 0", name="kept")
        if ports == 2:
            both = kept.join(kept, on=["user"], within="1m", emit={"a": "left.size", "b": "right.size"}, name="pairs")
        else:
            both = kept.aggregate(by=["user"], emit={"n": "count()"}, name="pairs")
        both.sink("out", topic=name)
        return flow.graph()

    twice, once = joined("twice", 2), joined("once", 1)
    edges = tapped_edges(twice, joined("more", 2), tap(twice, joined("more", 2), "kept"))
    assert 2 == len({edge.topic for edge in edges})
    with pytest.raises(CannotTapError, match="no edge like"):
        tapped_edges(twice, once, tap(twice, once, "kept"))


def test_a_segment_that_is_not_there_serves_nobody() -> None:
    """The flow may have been revised since."""
    graph, server = talk("g"), talk("f")
    with pytest.raises(CannotTapError, match="flow f has no segment"):
        tapped_edges(graph, server, SegmentTap(segment(graph, "counts"), "f", "f.gone"))
