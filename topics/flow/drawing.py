"""A flow as lines of text, from its sources at the top to its sinks at the bottom.

Every edge runs down a lane. A part takes its incoming lanes together and opens one for each reader:

    ● orders
    ├─╮
    ○ │ paid          `│` stays on the host, `┆` goes through a topic
    ┆ ○ unpaid
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from topics.flow.describe import describe_operator, describe_sink, describe_source, op_of, partition_count
from topics.flow.graph import Edge, FlowGraph

_MARKS = {"source": "●", "operator": "○", "sink": "■"}
_LANES = {"source": "│", "fused": "│", "sink": "│", "rekey": "┆", "handover": "┆"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the lanes, and beside a mark the part that it stands for. `segment` counts from 1."""

    lanes: str
    name: str = ""
    what: Literal["source", "operator", "sink", "edge", ""] = ""
    op: str = ""
    text: str = ""
    segment: int | None = None


def draw(graph: FlowGraph) -> list[Row]:
    """The rows of the drawing. Colours and widths are the caller's."""
    lanes: list[Edge | None] = []
    rows: list[Row] = []
    for part in _parts(graph):
        rows += _arrive(lanes, part.name)
        position = next((i for i, edge in enumerate(lanes) if edge and edge.target == part.name), None)
        position = _free(lanes) if position is None else position
        rows.append(
            Row(_lane_text(lanes, position, _MARKS[part.what]), part.name, part.what, part.op, part.text, part.segment)
        )
        lanes[position] = None
        rows += _leave(lanes, position, graph.edges_from(part.name))
    return rows


def _parts(graph: FlowGraph) -> Iterator[Row]:
    """A source comes just before its first reader and a sink right after what it reads, so that lanes stay short."""
    segments = {name: i for i, segment in enumerate(graph.segments, start=1) for name in segment.operators}
    sources = {source.name: source for source in graph.spec.sources}
    sinks = {sink.name: sink for sink in graph.spec.sinks}
    drawn: set[str] = set()
    for operator in graph.operators:
        for edge in graph.edges_into(operator.name):
            if edge.upstream in sources and edge.upstream not in drawn:
                drawn.add(edge.upstream)
                yield Row("", edge.upstream, "source", "source", describe_source(sources[edge.upstream]))
        text = describe_operator(operator.spec)
        yield Row("", operator.name, "operator", op_of(operator.spec), text, segments[operator.name])
        for edge in graph.edges_from(operator.name):
            if edge.target in sinks:
                yield Row("", edge.target, "sink", "sink", describe_sink(sinks[edge.target]))


def _arrive(lanes: list[Edge | None], name: str) -> list[Row]:
    """Several lanes into one part meet in the leftmost of them."""
    rekeyed = [edge for edge in lanes if edge and edge.target == name and edge.rekey]
    rows = [Row(_lane_text(lanes), what="edge", op="re-key", text=_edge_text(edge)) for edge in rekeyed]
    meeting = [i for i, edge in enumerate(lanes) if edge and edge.target == name]
    if len(meeting) > 1:
        rows.append(Row(_crossing(lanes, meeting, ends="┴╯")))
        for position in meeting[1:]:
            lanes[position] = None
    while lanes and lanes[-1] is None:
        lanes.pop()
    return rows


def _leave(lanes: list[Edge | None], position: int, edges: tuple[Edge, ...]) -> list[Row]:
    """The first reader goes on in the part's own lane, the others open new ones to the right of it."""
    if not edges:
        return []
    lanes[position] = edges[0]
    opened = [position]
    for edge in edges[1:]:
        free = next((i for i in range(position + 1, len(lanes)) if lanes[i] is None), len(lanes))
        if free == len(lanes):
            lanes.append(None)
        lanes[free] = edge
        opened.append(free)
    return [Row(_crossing(lanes, sorted(opened), ends="┬╮"))] if len(opened) > 1 else []


def _free(lanes: list[Edge | None]) -> int:
    if None not in lanes:
        lanes.append(None)
    return lanes.index(None)


def _lane_text(lanes: list[Edge | None], position: int | None = None, mark: str = "") -> str:
    cells = [_LANES[edge.kind] if edge else " " for edge in lanes]
    if position is not None:
        cells[position] = mark
    return " ".join(cells)


def _crossing(lanes: list[Edge | None], joined: list[int], *, ends: str) -> str:
    """A line from the first of the lanes `joined` to the last, over those between that do not belong to it."""
    text = ""
    for i, edge in enumerate(lanes):
        inside = joined[0] < i < joined[-1]
        if i == joined[0]:
            cell = "├"
        elif i == joined[-1]:
            cell = ends[1]
        elif i in joined:
            cell = ends[0]
        elif inside:
            cell = "┼" if edge else "─"
        else:
            cell = _LANES[edge.kind] if edge else " "
        text += cell + ("─" if joined[0] <= i < joined[-1] else " ")
    return text.rstrip()


def _edge_text(edge: Edge) -> str:
    assert edge.rekey is not None
    by = f"by {', '.join(edge.rekey.by)} " if edge.rekey.by else ""
    return f"{edge.stream} {by}into {partition_count(edge.rekey.partitions)}"
