"""Which of a flow's segments others serve, and what is left for the flow itself. Pure.

A tap covers the tapped segment and everything before it. It is not worth having if something before it has to run
anyway, and not if the rest of the flow reads the same source: of those who read a source one tells what is late.
"""

from collections.abc import Collection, Iterable, Sequence

from services.sharing.equality import INNER, CannotTapError, feeding, segment_of, tapped_edges, topic_of, writer
from topics.flow.graph import Edge, FlowGraph, Segment
from topics.messages import SegmentTap, TappedEdge


def left_to_run(graph: FlowGraph, tapped: Collection[str]) -> frozenset[str]:
    """The segments that must run when others serve the tapped ones: all that reach a sink past no tap."""
    found: set[str] = set()
    waiting = [each for each in graph.segments if any(edge.kind == "sink" for edge in each.outputs)]
    while waiting:
        segment = waiting.pop()
        if segment.id not in tapped and segment.id not in found:
            found.add(segment.id)
            waiting += [writer(graph, edge) for edge in segment.inputs if edge.kind in INNER]
    return frozenset(found)


def sound(graph: FlowGraph, candidates: Iterable[str]) -> frozenset[str]:
    """Those of the candidates that may be tapped together, without those that nobody would read."""
    tapped = frozenset(candidates)
    while True:
        running = [segment for segment in graph.segments if segment.id in left_to_run(graph, tapped)]
        kept = frozenset(each for each in tapped if _is_sound(graph, each, running))
        if kept == tapped:
            read = {writer(graph, edge).id for each in running for edge in each.inputs if edge.kind in INNER}
            return tapped & read
        tapped = kept


def still_tapped(graph: FlowGraph, taps: Iterable[SegmentTap]) -> tuple[SegmentTap, ...]:
    """Of what a flow tapped before, what it still does as it is now."""
    known = {tap.segment: tap for tap in taps if segment_of(graph, tap.segment) is not None}
    return tuple(known[each] for each in sorted(sound(graph, known)))


def choose(graph: FlowGraph, servers: Sequence[FlowGraph]) -> tuple[SegmentTap, ...]:
    """What other flows can serve; of several that can, the first does. `servers`: flows all of whose segments run."""
    found: dict[str, SegmentTap] = {}
    for segment in graph.segments:
        taken = {each.server_segment for each in found.values()}
        offers = (tap for server in servers for tap in _offers(graph, segment, server))
        tap = next((each for each in offers if each.server_segment not in taken), None)
        if tap is not None:
            found[segment.id] = tap
    return tuple(found[each] for each in sorted(sound(graph, found)))


def edges_read(graph: FlowGraph, segment_id: str, edges: Iterable[TappedEdge]) -> tuple[TappedEdge, ...]:
    """Of the edges that others serve, those that this segment reads."""
    segment = segment_of(graph, segment_id)
    assert segment is not None, segment_id
    own = {topic_of(graph, edge) for edge in segment.inputs if edge.kind in INNER}
    return tuple(each for each in edges if each.edge in own)


def _is_sound(graph: FlowGraph, segment_id: str, running: Sequence[Segment]) -> bool:
    segment = segment_of(graph, segment_id)
    assert segment is not None, segment_id
    before = feeding(graph, segment)
    sources = {edge.upstream for each in graph.segments if each.id in before for edge in _from_sources(each)}
    return not any(each.id in before or sources & {edge.upstream for edge in _from_sources(each)} for each in running)


def _from_sources(segment: Segment) -> list[Edge]:
    return [edge for edge in segment.inputs if edge.kind == "source"]


def _offers(graph: FlowGraph, segment: Segment, server: FlowGraph) -> Iterable[SegmentTap]:
    for each in server.segments:
        tap = SegmentTap(segment.id, server.spec.name, each.id)
        try:
            tapped_edges(graph, server, tap)
        except CannotTapError:
            continue
        yield tap
