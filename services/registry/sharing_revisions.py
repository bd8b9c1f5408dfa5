"""What may change of flows that share segments, and what may not: asked before a revision is written. Pure."""

from services.registry.errors import RegistryError
from services.registry.sharing_counts import fixed_taps
from services.registry.view import RegistryView
from services.sharing.equality import CannotTapError, promise, segment_of, tapped_edges
from services.sharing.taps import still_tapped
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph
from topics.messages import SegmentTap

ANOTHER_NAME = "submit it under another name"


def check_serving(view: RegistryView, graph: FlowGraph) -> None:
    """Raises RegistryError if others read what this revision of the flow would not write any more."""
    for entry in view.placements.values():
        if entry.flow == graph.spec.name and entry.serves:
            segment = segment_of(graph, entry.segment)
            if segment is None or promise(graph, segment) != entry.promise:
                tappers = ", ".join(entry.serves)
                raise RegistryError(
                    f"{tappers} read what {', '.join(entry.operators)} of {entry.flow} give, and this would change it",
                    f"{ANOTHER_NAME}, or first withdraw {tappers}",
                )


def taps_of(view: RegistryView, graph: FlowGraph) -> tuple[SegmentTap, ...]:
    """What this revision of a flow that has run before taps. Raises RegistryError if it can't go on with that."""
    taps = still_tapped(graph, fixed_taps(view, graph.spec.name) or ())
    for entry in view.placements.values():
        if entry.flow == graph.spec.name and segment_of(graph, entry.segment) is not None:
            for edge in entry.reads:
                if edge.tap not in taps:
                    raise RegistryError(
                        f"{', '.join(entry.operators)} read a segment of {edge.tap.server} so far, and would not now",
                        ANOTHER_NAME,
                    )
    for tap in taps:
        _check_served(view, graph, tap)
    return taps


def _check_served(view: RegistryView, graph: FlowGraph, tap: SegmentTap) -> None:
    """Whether the segment still runs, and gives all that this revision reads."""
    server = view.flows.get(tap.server)
    entries = [each for each in view.placements.values() if each.segment == tap.server_segment]
    if server is None or not entries or any(each.host is None for each in entries):
        raise RegistryError(
            f"{graph.spec.name} reads what {tap.server} wrote, which runs no more",
            f"first submit {tap.server} again, or {ANOTHER_NAME}",
        )
    try:
        tapped_edges(graph, parse_graph(server.text), tap)
    except CannotTapError as reason:
        raise RegistryError(f"{graph.spec.name} reads what {tap.server} writes, but {reason}", ANOTHER_NAME) from reason
