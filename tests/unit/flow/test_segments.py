"""Segments: what runs fused, and ids that are the same everywhere."""

from topics.flow.builder import Flow, Stream
from topics.flow.file import parse_graph


def source(name: str = "packets", **more) -> Stream:
    return Flow("demo").source(name, topic=name, **{"key": "src", "partitions": 4, **more})


def segments(flow: Flow) -> list[tuple[str, ...]]:
    return [segment.operators for segment in flow.graph().segments]


def test_operators_without_a_rekey_between_them_are_one_segment():
    """The example of the design: the ranking alone needs another partition."""
    packets = source()
    traffic = packets.filter("a", name="tcp").aggregate(
        by=["src", "dst"], emit={"n": "count()"}, window={"size": "1m"}, name="traffic"
    )
    traffic.top_k(3, by="n", name="top").sink("out", topic="out")

    assert [("tcp", "traffic"), ("top",)] == segments(packets.flow)


def test_operators_that_only_share_a_source_are_two_segments():
    """They can run on different hosts, since nothing passes between them."""
    packets = source()
    packets.filter("a", name="one").sink("one-out", topic="one")
    packets.filter("b", name="two").sink("two-out", topic="two")

    assert [("one",), ("two",)] == segments(packets.flow)


def test_branches_that_meet_again_are_one_segment():
    """A diamond without a re-key runs in one piece."""
    packets = source()
    first = packets.filter("x", name="first")
    packets.flow.union(first.filter("a", name="left"), first.filter("b", name="right"), name="both").sink(
        "o", topic="o"
    )

    assert [("first", "left", "right", "both")] == segments(packets.flow)


def test_a_way_round_through_a_rekey_cuts_the_direct_edge():
    """Fused, the segment would be upstream and downstream of the other at once, and neither could be drained first."""
    packets = source()
    first = packets.filter("x", name="first")
    counts = first.aggregate(by=["dst"], emit={"n": "count()"}, window={"size": "1m"}, name="counts")
    packets.flow.union(first, counts, name="both").sink("out", topic="out")
    graph = packets.flow.graph()

    assert [("first",), ("counts", "both")] == [segment.operators for segment in graph.segments]
    assert ["handover"] == [edge.kind for edge in graph.edges if edge.upstream == "first" and edge.target == "both"]
    assert "first -> both: through a topic, since both also reads what was re-keyed on another way" in graph.notes


def test_every_edge_that_is_not_fused_enters_or_leaves_a_segment():
    """What a host reads and writes is all that crosses a segment's border."""
    packets = source()
    packets.filter("a", name="one").aggregate(by=["dst"], emit={"n": "count()"}, name="two").sink("out", topic="out")
    first, second = packets.flow.graph().segments

    assert (["source"], ["rekey"]) == ([e.kind for e in first.inputs], [e.kind for e in first.outputs])
    assert (["rekey"], ["sink"]) == ([e.kind for e in second.inputs], [e.kind for e in second.outputs])
    assert first.outputs == second.inputs


def test_a_segment_has_as_many_partitions_as_its_largest_input():
    """One task a partition; None until the broker tells how many a source has."""
    flow = Flow("demo")
    few, many = flow.source("few", topic="few", partitions=2), flow.source("many", topic="many", partitions=8)
    flow.union(few, many).sink("out", topic="out")
    unknown = source(partitions=None)
    unknown.filter("a").sink("out", topic="out")

    assert [8] == [segment.partitions for segment in flow.graph().segments]
    assert [None] == [segment.partitions for segment in unknown.flow.graph().segments]


TEXT = """
flow: demo
sources:
  packets: {topic: packets, key: src, partitions: 4}
operators:
  one: {op: filter, input: packets, where: "bytes > 0"}
  two: {op: aggregate, input: one, by: [dst], emit: {n: count()}}
sinks:
  out: {input: two, topic: out}
"""


def ids(text: str) -> list[str]:
    return [segment.id for segment in parse_graph(text).segments]


def test_a_segments_id_does_not_change():
    """Hosts, registry and changelogs know it by this name; a change here loses their state."""
    assert ["demo.fdfd8e852577", "demo.dfe13b5049ac"] == ids(TEXT)


def test_a_segments_id_ignores_layout_place_and_quality():
    """Moving a source or asking for less latency keeps the state."""
    other = TEXT.replace("key: src", "at: edge-1, key: src").replace('"bytes > 0"', "bytes>0")

    assert ids(TEXT) == ids(other + "qos: {latency_ms: 5}\n")


def test_a_segments_id_changes_when_its_state_would_not_fit():
    """Other computations, names, keys or partitions: state kept under the old id is of no use."""
    changes = [
        ("bytes > 0", "bytes > 1"),
        ("one", "uno"),
        ("key: src", "key: dst"),
        ("partitions: 4", "partitions: 8"),
    ]
    kept = [set(ids(TEXT)) & set(ids(TEXT.replace(old, new))) for old, new in changes]

    assert [set(), set(), set(), set()] == kept


def test_an_unrelated_change_keeps_the_other_segments_id():
    """Only what depends on the change starts anew."""
    changed = ids(TEXT.replace("n: count()", "n: count(), m: max(bytes)"))

    assert (ids(TEXT)[0], True) == (changed[0], ids(TEXT)[1] != changed[1])
