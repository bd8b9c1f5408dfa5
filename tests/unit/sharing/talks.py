"""Flows that have a counting segment in common, and a registry in which they run."""

from typing import Any

from services.registry.view import RegistryView
from services.sharing.equality import tapped_edges
from services.sharing.taps import edges_read, left_to_run
from tests.unit.registry_messages import committed_plan
from topics.flow.builder import Flow
from topics.flow.graph import FlowGraph
from topics.messages import CommittedPlan, FlowRevision, Placement, SegmentTap

DEFAULTS: dict[str, Any] = {
    "by": "user",
    "where": "size > 0",
    "then": "team",
    "emit": "sum(n)",
    "delivery": "exactly_once",
    "latency_ms": None,
    "partitions": 4,
    "raw": False,
}


def talk(name: str, **other: Any) -> FlowGraph:
    """kept (a filter), counts by a key, and totals by another one: three segments. `raw`: kept has a sink, too."""
    return _flow(name, DEFAULTS | other).graph()


def text_of(name: str, **other: Any) -> str:
    return _flow(name, DEFAULTS | other).to_yaml()


def _flow(name: str, how: dict[str, Any]) -> Flow:
    flow = Flow(name, delivery=how["delivery"], latency_ms=how["latency_ms"])
    clicks = flow.source("clicks", topic="clicks", at="a", key="id", partitions=how["partitions"])
    kept = clicks.filter(how["where"], name="kept")
    if how["raw"]:
        kept.sink("raw", topic=f"{name}-raw")
    counts = kept.aggregate(by=[how["by"], "team", "shop"], emit={"n": "count()"}, name="counts")
    totals = counts.aggregate(by=[how["then"]], emit={"total": how["emit"]}, name="totals")
    totals.sink("out", topic=f"{name}-out")
    return flow


def segment(graph: FlowGraph, operator: str) -> str:
    return next(each.id for each in graph.segments if operator in each.operators)


def tap(graph: FlowGraph, server: FlowGraph, operator: str = "counts") -> SegmentTap:
    return SegmentTap(segment(graph, operator), server.spec.name, segment(server, operator))


def submit(
    view: RegistryView, graph: FlowGraph, text: str = "?", *, revision: int = 1, state: Any = "submitted"
) -> None:
    view.take(
        FlowRevision(
            flow=graph.spec.name,
            revision=revision,
            state=state,
            text=text,
            delivery=graph.spec.delivery,
            changed_ms=revision,
        )
    )


def plan(graph: FlowGraph, *taps: SegmentTap, host: str = "a", epoch: int = 1, revision: int = 1) -> CommittedPlan:
    name, left = graph.spec.name, sorted(left_to_run(graph, [tap.segment for tap in taps]))
    return committed_plan(
        name, dict.fromkeys(left, host), revision=revision, epoch=epoch, hash=f"{name}-{epoch}", taps=taps
    )


def run(view: RegistryView, graph: FlowGraph, *taps: SegmentTap, server: FlowGraph | None = None) -> None:
    """Submitted, planned and placed, one partition for each segment."""
    submit(view, graph, text_of(graph.spec.name))
    view.take(plan(graph, *taps))
    edges = [edge for tap in taps if server is not None for edge in tapped_edges(graph, server, tap)]
    for each in graph.segments:
        if each.id in left_to_run(graph, [tap.segment for tap in taps]):
            entry = Placement(
                segment=each.id,
                partition=0,
                epoch=1,
                host="a",
                flow=graph.spec.name,
                revision=1,
                operators=each.operators,
                placed_ms=1,
                reads=edges_read(graph, each.id, edges),
            )
            view.take(entry)
