"""What other flows run for a flow, taken into its model. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from placement.served import served_flow
from services.host.cell.flow_hops import FlowHops
from services.host.cell.flow_model import BOUND_MS_MIN, FlowModel
from services.registry.view import RegistryView
from topics.messages import SegmentTap


def served_at(
    view: RegistryView, taps: Sequence[SegmentTap], *, live: Collection[str], otherwise: str
) -> dict[str, str]:
    """Tapped segment -> the live host that runs most of what serves it; `otherwise` while none does."""
    found = {}
    for tap in taps:
        entries = [each for each in view.placements.values() if each.segment == tap.server_segment]
        hosts = Counter(each.host for each in entries if each.host is not None and each.host in live)
        found[tap.segment] = min(hosts, key=lambda host: (-hosts[host], host), default=otherwise)
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
