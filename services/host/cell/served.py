"""What other flows run for a flow: found when it is placed for the first time, and taken into its model."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace

from placement.served import served_flow
from services.host.cell.flow_hops import FlowHops
from services.host.cell.flow_model import BOUND_MS_MIN, FlowModel
from services.registry.view import RegistryView
from services.sharing.counts import may_serve
from services.sharing.equality import tapped_edges
from services.sharing.taps import choose
from topics.flow.graph import FlowGraph
from topics.messages import FlowRevision, SegmentTap

GraphOf = Callable[[FlowRevision], Awaitable[FlowGraph | None]]
AreWhole = Callable[[Collection[str]], Awaitable[bool]]
"""Whether these topics still have all that was ever written to them."""


async def find_taps(
    graph: FlowGraph, view: RegistryView, *, graph_of: GraphOf, are_whole: AreWhole
) -> tuple[SegmentTap, ...]:
    """What a flow that has never run may read of flows that run: of several equal segments those of the oldest flow."""
    revisions = sorted(view.flows.values(), key=lambda each: (each.changed_ms, each.flow))
    able = [each for each in revisions if each.flow != graph.spec.name and may_serve(view, each.flow)]
    servers = [found for each in able if (found := await graph_of(each)) is not None]
    while True:
        taps = await asyncio.to_thread(choose, graph, servers)
        by_name = {server.spec.name: server for server in servers}
        cut = {tap.server for tap in taps if not await are_whole(_topics(graph, by_name[tap.server], tap))}
        if not cut:
            return taps
        servers = [server for server in servers if server.spec.name not in cut]


def _topics(graph: FlowGraph, server: FlowGraph, tap: SegmentTap) -> list[str]:
    return sorted({edge.topic for edge in tapped_edges(graph, server, tap)})


def served_at(
    view: RegistryView, taps: Sequence[SegmentTap], *, live: Collection[str], otherwise: str
) -> dict[str, str]:
    """Tapped segment -> the live host that runs most of what serves it; `otherwise` while none does."""
    found = {}
    for tap in taps:
        entries = [each for each in view.placements.values() if each.segment == tap.server_segment]
        hosts = Counter(each.host for each in entries if each.host in live)
        found[tap.segment] = min(hosts, key=lambda host: (-hosts[host], str(host))) or otherwise if hosts else otherwise
    return found


def served_model(model: FlowModel, where: dict[str, str], *, way_ms: Callable[[str, str], float]) -> FlowModel:
    """The model without what others run. The way to them counts for the flow, but not what it costs to be there."""
    if not where:
        return model
    whole, flow = model.flow, served_flow(model.flow, where)
    first = {source.host for source in whole.sources}
    taken_ms = sum(
        edge.path_share * max(way_ms(origin, where[flow.edges[edge.index].tail]) for origin in first)
        for edge in flow.graph.edges
        if flow.edges[edge.index].tail in where
    )
    bound_ms = max(BOUND_MS_MIN, whole.latency_bound_ms - taken_ms)
    hops = FlowHops(model.hops.total_ms + taken_ms, model.hops.last_ms)
    return replace(model, flow=replace(flow, latency_bound_ms=bound_ms), hops=hops, held_ms=model.held_ms + taken_ms)
