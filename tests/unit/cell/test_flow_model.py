"""The model of single flows: pins, floors, lag, routes, and what others run of it."""

from collections.abc import Mapping

import pytest

from services.host.cell.flow_measures import measure_flow
from services.host.cell.flow_model import RATE_PER_MS_MIN, model_flow
from services.host.cell.pins import Pin, pin
from topics.flow.builder import Flow
from topics.flow.graph import FlowGraph
from topics.messages import Moments, OperatorMetrics

REGIONS = {"edge-2": "edge", "edge-1": "edge", "noc": "core"}


def row(graph: FlowGraph, operator: str, second: int, **values: int | Moments) -> OperatorMetrics:
    """One second of one operator, in which nothing happened but what is given."""
    segment = next(each.id for each in graph.segments if operator in each.operators)
    nothing: dict[str, int | Moments] = dict.fromkeys(
        ("arrivals", "outputs", "lag", "bytes_in", "bytes_out", "state_bytes", "late", "dropped", "dead_letters"), 0
    )
    nothing |= dict.fromkeys(("gaps_us", "batch", "service_us", "wait_us"), Moments(0, 0.0, 0.0))
    return OperatorMetrics(
        host="noc", flow="f", segment=segment, operator=operator, partition=0, second=second, **(nothing | values)
    )


def counting(by: str = "user", *, name: str = "f", delivery: str = "at_least_once", where: str = "a > 0") -> FlowGraph:
    """A filter, and a count after a re-key."""
    flow = Flow(name, delivery=delivery)  # type: ignore[arg-type]
    seen = flow.source("s", topic="clicks", key="id", partitions=4).filter(where, name="kept")
    seen.aggregate(by=[by], emit={"n": "count()"}, name="counts").sink("out", topic=f"{name}-out")
    return flow.graph()


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("edge-2", Pin("edge-2", "host")),
        ("edge", Pin("edge-1", "region")),
        ("core", Pin("noc", "region")),
    ],
)
def test_an_end_stands_at_its_host_or_in_its_region(at: str, expected: Pin) -> None:
    """A region is its first live host by name, so that everybody agrees."""
    assert expected == pin("f", at, REGIONS)


def test_an_end_whose_host_is_gone_stands_where_chance_puts_it_and_says_so() -> None:
    """A flow whose source's host died still has to run somewhere."""
    assert "away" == pin("f", "edge-9", REGIONS).why
    assert pin("f", None, REGIONS).host == pin("f", "edge-9", REGIONS).host


def test_records_that_wait_are_offered_all_the_same() -> None:
    """A host that can't keep up must not look as if the load had gone down: that would keep the flow there."""
    graph = counting()
    rows = [row(graph, "kept", second, arrivals=100, outputs=100, lag=second * 50) for second in range(10)]

    model = model_flow(graph, REGIONS, measure_flow(rows, {}, span_s=10))

    (source,) = model.flow.sources
    assert 0.150 == pytest.approx(source.rate_per_ms)
    assert "measured" == model.origins["s", "rate_per_ms"]


def test_a_silent_source_has_the_smallest_rate_and_no_other() -> None:
    """The model divides by rates; a flow that once ran and fell silent is still a flow."""
    graph = counting()

    model = model_flow(graph, REGIONS, measure_flow([row(graph, "counts", 1, outputs=1)], {}, span_s=10))

    (source,) = model.flow.sources
    assert (RATE_PER_MS_MIN, "floor") == (source.rate_per_ms, model.origins["s", "rate_per_ms"])


def test_the_routes_of_a_split_carry_what_their_readers_saw() -> None:
    """Nine tenths of the records go one way, so that way must be short."""
    flow = Flow("f")
    split = flow.source("s", topic="t", key="id", partitions=4).split({"big": "n > 9"}, otherwise="small", name="sizes")
    for route in ("big", "small"):
        split[route].aggregate(by=["x"], emit={"n": "count()"}, name=f"{route}-n").sink(f"{route}-out", topic=route)
    graph = flow.graph()
    rows = [
        row(graph, "sizes", 1, arrivals=1_000, outputs=1_000),
        row(graph, "big-n", 1, arrivals=900, outputs=900),
        row(graph, "small-n", 1, arrivals=100, outputs=100),
    ]

    model = model_flow(graph, REGIONS, measure_flow(rows, {}, span_s=1))

    first = graph.segments[0].id
    rates: Mapping[str, float] = {
        model.flow.edges[edge.index].head: edge.rate_per_ms
        for edge in model.flow.graph.edges
        if model.flow.edges[edge.index].tail == first
    }
    heads = {segment.operators[0]: segment.id for segment in graph.segments}
    assert (0.9, 0.1) == pytest.approx((rates[heads["big-n"]], rates[heads["small-n"]]))


def test_what_others_run_is_measured_by_those_who_read_it() -> None:
    """No host reports of it under this flow's name, and a flow that looks idle would be put anywhere."""
    graph = counting()
    rows = [row(graph, "counts", second, arrivals=500, outputs=500) for second in range(10)]
    served = graph.segments[0].id

    model = model_flow(graph, REGIONS, measure_flow(rows, {}, span_s=10), served=[served])

    (edge,) = [edge for edge in model.flow.graph.edges if model.flow.edges[edge.index].tail == served]
    assert 0.5 == pytest.approx(edge.rate_per_ms)
