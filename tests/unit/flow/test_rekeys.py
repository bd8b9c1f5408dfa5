"""Where the compiler lets records change partition, and where it can spare that."""

import pytest

from topics.flow.builder import Flow, Stream
from topics.flow.graph import Edge
from topics.flow.regroup import DEFAULT_PARTITIONS


def rekey_into(stream: Stream, *, port: str = "input") -> Edge:
    """The edge into the operator of `stream`, which gets a sink."""
    stream.sink("out", topic="out")
    return next(e for e in stream.flow.graph().edges if e.target == stream.name and e.port == port)


def counted(stream: Stream, by: list[str]) -> Stream:
    return stream.aggregate(by=by, emit={"n": "count()"}, window={"size": "1m"})


def source(*, key: str | None = "src", partitions: int | None = 8) -> Stream:
    return Flow("demo").source("packets", topic="packets", key=key, partitions=partitions)


@pytest.mark.parametrize("by", [["src"], ["src", "dst"], ["dst", "src"]])
def test_no_rekey_when_the_key_is_among_the_group_fields(by: list[str]):
    """Records with equal `by` have equal key, so they share a partition already."""
    assert "source" == rekey_into(counted(source(), by)).kind


@pytest.mark.parametrize("by", [["dst"], ["dst", "port"]])
def test_rekey_when_the_key_is_not_among_the_group_fields(by: list[str]):
    """One group would be spread over partitions and counted in several places."""
    edge = rekey_into(counted(source(), by))

    assert ("rekey", tuple(by), 8) == (edge.kind, edge.rekey and edge.rekey.by, edge.rekey and edge.rekey.partitions)


def test_rekey_when_the_source_has_no_key():
    """Nothing is known of where its records are."""
    edge = rekey_into(counted(source(key=None, partitions=None), ["src"]))

    assert edge.rekey is not None
    assert DEFAULT_PARTITIONS == edge.rekey.partitions
    assert edge.rekey.reason.endswith("groups by src, but packets is keyed by no known field")


def test_one_partition_needs_no_rekey_whatever_the_group():
    """All records are together there."""
    assert "source" == rekey_into(counted(source(key=None, partitions=1), [])).kind


def test_a_group_of_everything_goes_to_one_partition():
    """A global result cannot be computed in parts."""
    edge = rekey_into(counted(source(), []))

    assert edge.rekey is not None
    assert ((), 1) == (edge.rekey.by, edge.rekey.partitions)


@pytest.mark.parametrize(
    ("change", "by", "kind"),
    [
        (lambda s: s.filter("bytes > 0"), "src", "fused"),
        (lambda s: s.map({"kb": "bytes / 1024"}), "src", "fused"),
        (lambda s: s.map({"src": "lower(src)"}), "src", "rekey"),
        (lambda s: s.map({"src": "src"}), "src", "fused"),
        (lambda s: s.map({"copy": "src"}), "copy", "fused"),
        (lambda s: s.map({"copy": "src"}, drop=["src"]), "copy", "fused"),
        (lambda s: s.map(drop=["src"]), "dst", "rekey"),
        (lambda s: s.map({"src": "dst", "dst": "src"}), "dst", "fused"),
        (lambda s: s.map({"src": "dst", "dst": "src"}), "src", "rekey"),
        (lambda s: s.project(["src", "bytes"]), "src", "fused"),
        (lambda s: s.project({"from_host": "src"}), "from_host", "fused"),
        (lambda s: s.project({"src": "dst"}), "src", "rekey"),
        (lambda s: s.flat_map("items", into="item"), "src", "fused"),
        (lambda s: s.flat_map("items", into="src"), "src", "rekey"),
        (lambda s: s.python("m:f"), "src", "rekey"),
        (lambda s: s.dedupe(by=["src", "id"], within="1m"), "src", "fused"),
        (lambda s: s.split({"a": "bytes > 0"})["a"], "src", "fused"),
        (lambda s: s.flow.union(s.filter("a"), s.filter("b")), "src", "fused"),
    ],
)
def test_the_key_is_followed_through_operators(change, by: str, kind: str):
    """A key that survives unchanged, under whatever name, saves a hop through Kafka; one that does not forces it."""
    assert kind == rekey_into(counted(change(source()), [by])).kind


def test_a_nested_key_is_followed_too():
    """Keys are dotted paths; replacing the object around one loses it, copying the object carries it."""
    assert "fused" == rekey_into(counted(source(key="user.id").project({"who": "user"}), ["who.id"])).kind
    assert "rekey" == rekey_into(counted(source(key="user.id").map({"user": "other"}), ["user.id"])).kind


def test_a_field_with_a_dot_in_its_own_name_is_not_the_nested_key():
    """`user.id` in backticks is another field, so grouping by it without a re-key would count groups in parts."""
    assert "fused" == rekey_into(counted(source(key="user.id").project({"who": "user.id"}), ["who"])).kind
    assert "rekey" == rekey_into(counted(source(key="user.id").project({"who": "`user.id`"}), ["who"])).kind


def test_results_of_an_aggregate_stay_keyed_by_what_is_left_of_the_key():
    """Grouped by src and dst, the results are still in the partition of their src."""
    first = source().aggregate(by=["src", "dst"], emit={"n": "count()"}, window={"size": "1m"})

    assert "fused" == rekey_into(first.aggregate(by=["src"], emit={"m": "max(n)"})).kind


def joined(left: Stream, right: Stream, on=("id",), **more) -> Stream:
    return left.join(right, on=list(on) if isinstance(on, tuple) else on, within="10s", **more)


def two_sources(left: dict, right: dict) -> tuple[Stream, Stream]:
    flow = Flow("demo")
    return flow.source("orders", topic="orders", **left), flow.source("payments", topic="payments", **right)


def join_kinds(stream: Stream) -> tuple[str, str]:
    stream.sink("out", topic="out")
    into = stream.flow.graph().edges_into(stream.name)
    return into[0].kind, into[1].kind


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"key": "id", "partitions": 4}, {"key": "id", "partitions": 4}, ("source", "source")),
        ({"key": "id", "partitions": 4}, {"key": "id", "partitions": 8}, ("rekey", "rekey")),
        ({"key": "id"}, {"key": "id"}, ("rekey", "rekey")),
        ({"key": "id", "partitions": 4}, {"key": "other", "partitions": 4}, ("rekey", "rekey")),
        ({"partitions": 1}, {"partitions": 1}, ("source", "source")),
    ],
)
def test_a_join_needs_both_sides_in_partitions_of_equal_number(left: dict, right: dict, expected: tuple[str, str]):
    """Equal keys must meet: the same fields, and the same known number of partitions."""
    assert expected == join_kinds(joined(*two_sources(left, right)))


def test_a_join_of_differently_named_keys_matches_them_by_pairs():
    """`on: {id: order}` says that left id and right order are the same key."""
    left, right = two_sources({"key": "id", "partitions": 4}, {"key": "order", "partitions": 4})

    assert ("source", "source") == join_kinds(joined(left, right, {"id": "order"}))


def test_a_side_that_the_flow_keyed_already_stays_and_the_other_follows():
    """One hop is enough, with the partition count of the side that stays."""
    left, right = two_sources({"key": "user", "partitions": 8}, {"key": "user", "partitions": 2})
    grouped = left.aggregate(by=["id"], emit={"n": "count()"}, window={"size": "1m"})
    stream = joined(grouped, right)
    stream.sink("out", topic="out")

    left_edge, right_edge = stream.flow.graph().edges_into(stream.name)

    assert "fused" == left_edge.kind
    assert right_edge.rekey is not None
    assert (("id",), 8) == (right_edge.rekey.by, right_edge.rekey.partitions)


def test_a_stream_joined_with_itself_needs_no_known_count():
    """Both sides have the same partitions, however many these are."""
    packets = source(key="id", partitions=None)

    assert ("fused", "fused") == join_kinds(joined(packets.filter("a"), packets.filter("b")))


@pytest.mark.parametrize(
    ("kind", "field", "expected"),
    [
        ("inner", "left.id", "fused"),
        ("inner", "right.id", "fused"),
        ("left", "left.id", "fused"),
        ("left", "right.id", "rekey"),
        ("outer", "left.id", "rekey"),
    ],
)
def test_a_field_that_can_be_missing_after_a_join_carries_no_key(kind, field: str, expected: str):
    """A row without its right side has null there, in the partition of its left key."""
    left, right = two_sources({"key": "id", "partitions": 4}, {"key": "id", "partitions": 4})
    rows = joined(left, right, kind=kind, emit={"id": field})

    assert expected == rekey_into(counted(rows, ["id"])).kind


def test_rows_of_a_join_without_emit_are_keyed_by_its_on_fields():
    """They have the `on` fields, whichever side was there."""
    left, right = two_sources({"key": "id", "partitions": 4}, {"key": "id", "partitions": 4})

    assert "fused" == rekey_into(counted(joined(left, right, kind="outer"), ["id"])).kind


def test_an_on_field_of_a_row_without_a_left_side_carries_the_right_key_only_if_it_is_one():
    """Two left names of one value may be paired with a right key and with another right field."""
    left, right = two_sources({"key": "x", "partitions": 4}, {"key": "p", "partitions": 4})
    rows = joined(left.map({"y": "x"}), right, {"x": "p", "y": "q"}, kind="outer")

    assert "rekey" == rekey_into(counted(rows, ["y"])).kind


def test_a_union_of_differently_partitioned_streams_has_no_known_key():
    """Equal keys of the two are in partitions of different numbers."""
    left, right = two_sources({"key": "id", "partitions": 4}, {"key": "id", "partitions": 8})

    assert "rekey" == rekey_into(counted(left.flow.union(left, right), ["id"])).kind


def test_a_union_of_equally_partitioned_streams_keeps_the_key():
    """Nothing has to move."""
    left, right = two_sources({"key": "id", "partitions": 4}, {"key": "id", "partitions": 4})

    assert "fused" == rekey_into(counted(left.flow.union(left, right), ["id"])).kind


def test_top_k_ranks_per_group_where_the_group_is():
    """With `per` among the key there is no reason to bring all records together."""
    assert "source" == rekey_into(source().top_k(3, by="bytes", per=["src"], window={"size": "1m"})).kind
    assert "rekey" == rekey_into(source().top_k(3, by="bytes", window={"size": "1m"})).kind


@pytest.mark.parametrize(("state", "kind"), [(True, "rekey"), (False, "source")])
def test_only_a_function_with_state_needs_its_records_together(state: bool, kind: str):
    """Without state it looks at one record at a time."""
    assert kind == rekey_into(source().python("m:f", state=state, by=["dst"] if state else None)).kind


def test_a_rekey_of_a_source_gets_an_operator_that_reads_it():
    """Something must run where the records are read and sent on; it is said, and the operator behind it reads it."""
    counted(source(), ["dst"]).sink("out", topic="out")
    stream = source()
    counted(stream, ["dst"]).sink("out", topic="out")
    graph = stream.flow.graph()

    assert ("packets-in", True) == (graph.operators[0].name, graph.operators[0].inserted)
    assert "packets-in" == graph.operators[1].spec.input
    assert graph.sources[0][1] == graph.stream("packets-in")
    assert "packets-in: added, it reads packets for what follows directly" in graph.notes


def test_a_sink_may_read_a_source():
    """Copying a topic is a flow too."""
    stream = source()
    stream.sink("out", topic="out")
    graph = stream.flow.graph()

    assert [("source", "packets", "packets-in"), ("sink", "packets-in", "out")] == [
        (edge.kind, edge.upstream, edge.target) for edge in graph.edges
    ]
