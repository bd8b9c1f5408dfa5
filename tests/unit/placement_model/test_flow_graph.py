"""A flow compiled to integers: rates, service times of segments (eq 3), paths, and clear refusals."""

import pytest

from placement.model import Edge, Flow, ModelError, Sink, Source, Task, chain


def three_in_a_row(*batches: float) -> Flow:
    tasks = tuple(Task(f"t{i}", float(i + 1), cs2=1.0, batch=batch) for i, batch in enumerate(batches))
    return chain("f", Source("in", "h0", 0.1, ca2=0.5), tasks, Sink("out", "h1"))


def test_a_segments_service_counts_each_task_as_often_as_it_runs() -> None:
    """Eq 3: S1 + B1 S2 + B1 B2 S3, with batches 2 and 0.5."""
    graph = three_in_a_row(2.0, 0.5, 1.0).graph
    ((edge, stream),) = graph.streams(0b111)
    assert 0 == edge
    assert 1.0 + 2.0 * 2.0 + 2.0 * 0.5 * 3.0 == pytest.approx(stream.work)
    assert 0.1 == stream.rate_per_ms


def test_a_segments_variance_adds_up_over_its_runs() -> None:
    """Runs are independent, so variances add as often as tasks run: 1 + 2 * 4 over a mean of 5, squared."""
    ((_, stream),) = three_in_a_row(2.0, 1.0, 1.0).graph.streams(0b011)
    assert (1.0 + 2.0 * 4.0) / 5.0**2 == pytest.approx(stream.cs2)


def test_a_message_that_may_trigger_nothing_makes_a_segments_work_vary() -> None:
    """The paper's variance is that of the whole service time: a message passes or not, and with it the work behind."""
    ((_, stream),) = three_in_a_row(0.25, 1.0, 1.0).graph.streams(0b011)
    mean = 1.0 + 0.25 * 2.0
    assert (1.0 + 0.25 * 4.0 + 0.25 * 0.75 * 2.0**2) / mean**2 == pytest.approx(stream.cs2)


def test_results_wait_for_all_that_made_them_and_not_for_what_was_dropped() -> None:
    """Fused or apart, a message that passes a filter takes the whole service of what follows."""
    ((_, stream),) = three_in_a_row(0.25, 2.0, 1.0).graph.streams(0b111)
    assert 1.0 + 0.25 * (2.0 + 2.0 * 3.0) == pytest.approx(stream.work)
    assert 1.0 + 2.0 + 2.0 * 3.0 == pytest.approx(stream.path_work)


def test_a_result_of_one_branch_waits_for_the_mean_of_the_other() -> None:
    """Both run before anything leaves; half of the paths pass the filter, the others may find it closed."""
    flow = Flow(
        "f",
        (Source("in", "h0", 0.1),),
        (Task("split", 1.0), Task("rare", 8.0), Task("all", 2.0)),
        (Sink("o1", "h1"), Sink("o2", "h1")),
        (Edge("in", "split"), Edge("split", "rare", 0.25), Edge("split", "all"), Edge("rare", "o1"), Edge("all", "o2")),
    )
    ((_, stream),) = flow.graph.streams(0b111)
    assert 1.0 + (8.0 + 0.25 * 8.0) / 2 + 2.0 == pytest.approx(stream.path_work)


def test_a_split_chain_enters_a_host_twice() -> None:
    """A -> B -> A: the flow queues at A two times, each with its own rate."""
    graph = three_in_a_row(2.0, 0.5, 1.0).graph
    streams = dict(graph.streams(0b101))
    assert {0, 2} == set(streams)
    assert 1.0 == streams[0].work
    assert 3.0 == streams[2].work
    assert 0.1 * 2.0 * 0.5 == pytest.approx(streams[2].rate_per_ms)


def test_utilisation_is_the_same_fused_or_split() -> None:
    """Fusing saves queueing, not work."""
    graph = three_in_a_row(2.0, 0.5, 1.0).graph

    def rho(*masks: int) -> float:
        return sum(stream.load(1.0).rho for mask in masks for _, stream in graph.streams(mask))

    assert rho(0b111) == pytest.approx(rho(0b001, 0b010, 0b100))


def join() -> Flow:
    """Two sources into a join, then a task: four vertices, two paths."""
    tasks = (Task("left", 1.0), Task("right", 2.0), Task("join", 3.0), Task("last", 4.0))
    edges = ("a", "left"), ("b", "right"), ("left", "join"), ("right", "join"), ("join", "last"), ("last", "out")
    sources = (Source("a", "h0", 0.1), Source("b", "h1", 0.3))
    return Flow("j", sources, tasks, (Sink("out", "h2"),), tuple(Edge(*edge) for edge in edges), weight=2.0)


def test_paths_share_the_edges_behind_a_join() -> None:
    """The mean over paths counts a branch half and the common tail whole."""
    graph = join().graph
    assert (0.5, 0.5, 0.5, 0.5, 1.0, 1.0) == tuple(edge.path_share for edge in graph.edges)
    assert 0.4 == pytest.approx(graph.edges[4].rate_per_ms)


def test_a_join_alone_is_entered_by_two_streams_with_the_flows_weight() -> None:
    """Both inputs queue; a millisecond here costs half the paths each, times the flow's weight."""
    streams = dict(join().graph.streams(0b0100))
    assert {2: 1.0, 3: 1.0} == {edge: stream.weight for edge, stream in streams.items()}


def test_a_join_fused_with_one_branch_is_entered_from_the_other() -> None:
    """Messages of the fused branch pay for the join at their own entry."""
    streams = dict(join().graph.streams(0b0101))
    assert {0, 3} == set(streams)
    assert 1.0 + 3.0 == streams[0].work
    assert 3.0 == streams[3].work


def test_tapping_a_task_idles_only_what_feeds_nothing_else() -> None:
    """Reuse adds load only downstream of the tap."""
    graph = join().graph
    assert frozenset({1, 2, 3}) == graph.needed(frozenset({0}))
    assert frozenset({3}) == graph.needed(frozenset({2}))


@pytest.mark.parametrize(
    ("edges", "complaint"),
    [
        ((("in", "a"), ("a", "b"), ("b", "a"), ("b", "out")), "a cycle through a, b"),
        ((("in", "a"), ("a", "out")), "not connected: b"),
        ((("in", "a"), ("a", "b"), ("b", "out"), ("b", "c")), "no 'c' here"),
        ((("in", "a"), ("a", "b"), ("b", "out"), ("out", "b")), "it only receives"),
        ((("in", "a"), ("a", "b"), ("b", "in"), ("b", "out")), "it only sends"),
        ((("in", "a"), ("in", "a"), ("a", "b"), ("b", "out")), "given twice"),
    ],
)
def test_a_misshapen_flow_is_refused_with_its_fault(edges: tuple[tuple[str, str], ...], complaint: str) -> None:
    """A user must learn what to change, not that something failed."""
    flow = Flow(
        "f",
        (Source("in", "h0", 0.1),),
        (Task("a", 1.0), Task("b", 1.0)),
        (Sink("out", "h0"),),
        tuple(Edge(*edge) for edge in edges),
    )
    with pytest.raises(ModelError, match=complaint):
        assert flow.graph


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Task("t", 0.0), "service_vwu"),
        (lambda: Task("t", 1.0, cs2=-1.0), "cs2"),
        (lambda: Task("t", 1.0, batch=0.0), "batch"),
        (lambda: Task("t", 1.0, output_bytes=-1.0), "output_bytes"),
        (lambda: Task("t", 1.0, output_bytes=float("inf")), "output_bytes"),
        (lambda: Source("s", "h", 0.0), "rate_per_ms"),
        (lambda: Source("s", "h", 1.0, message_bytes=float("nan")), "message_bytes"),
        (lambda: Source("s", "h", 1.0, message_bytes=float("inf")), "message_bytes"),
        (lambda: Source("s", "h", 1.0, ca2=float("nan")), "ca2"),
        (lambda: Edge("a", "b", share=0.0), "share"),
        (lambda: three_in_a_row(1.0).__class__("f", (), (), (), ()), "at least one source"),
    ],
)
def test_a_number_that_cannot_be_is_refused_by_name(make: object, complaint: str) -> None:
    """Bad numbers must not travel into prices."""
    assert callable(make)
    with pytest.raises(ModelError, match=complaint):
        make()
