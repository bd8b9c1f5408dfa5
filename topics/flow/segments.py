"""Segments: the largest sets of operators that can run fused, without a Kafka hop inside.

Operators on the two ends of an edge without re-key belong together. One exception: if two operators are also linked by
a way through another segment, fusing them would make that segment both upstream and downstream of theirs, so that
neither could be drained before the other; there the edge becomes a hand-over through a topic with the same partitions.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from topics.flow.graph import Edge, Segment, Stream


def fuse(names: Sequence[str], edges: Sequence[Edge]) -> tuple[dict[str, str], tuple[Edge, ...]]:
    """Which operators go together (by the first of them in topological order), and the edges with hand-overs.

    `names` are the operators in topological order; edges of kind `fused` are those that could be.
    """
    group = {name: name for name in names}
    for edge in edges:
        if edge.kind == "fused" and group[edge.upstream] != group[edge.target]:
            merged = _merged(group, group[edge.upstream], group[edge.target], names)
            if _is_ordered(merged, edges):
                group = merged
    cut = tuple(
        replace(edge, kind="handover") if edge.kind == "fused" and group[edge.upstream] != group[edge.target] else edge
        for edge in edges
    )
    return group, cut


def segments_of(
    flow: str,
    group: Mapping[str, str],
    edges: Sequence[Edge],
    streams: Mapping[str, Stream],
    identities: Mapping[str, str],
) -> tuple[Segment, ...]:
    """One segment for each group, in topological order of their first operators."""
    segments = []
    for first in dict.fromkeys(group.values()):
        operators = tuple(name for name in group if group[name] == first)
        inputs = tuple(edge for edge in edges if edge.target in operators and edge.kind != "fused")
        outputs = tuple(edge for edge in edges if edge.upstream in operators and edge.kind != "fused")
        counts = [
            edge.rekey.partitions if edge.rekey else streams[edge.stream].partitioning.partitions for edge in inputs
        ]
        partitions = max((count for count in counts if count is not None), default=None) if None not in counts else None
        segment_id = _segment_id(flow, operators, inputs, partitions, identities)
        segments.append(Segment(segment_id, operators, inputs, outputs, partitions))
    return tuple(segments)


def _merged(group: Mapping[str, str], one: str, other: str, names: Sequence[str]) -> dict[str, str]:
    first = min(one, other, key=names.index)
    return {name: first if owner in (one, other) else owner for name, owner in group.items()}


def _is_ordered(group: Mapping[str, str], edges: Sequence[Edge]) -> bool:
    """Whether the groups have no re-key inside and no circle among them."""
    readers: dict[str, set[str]] = {owner: set() for owner in group.values()}
    for edge in edges:
        if edge.kind in ("source", "sink"):
            continue
        upstream, target = group[edge.upstream], group[edge.target]
        if upstream != target:
            readers[upstream].add(target)
        elif edge.kind == "rekey":
            return False
    waiting = {owner: sum(owner in targets for targets in readers.values()) for owner in readers}
    ready = [owner for owner, count in waiting.items() if count == 0]
    seen = 0
    while ready:
        seen += 1
        for target in readers[ready.pop()]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return seen == len(readers)


def _segment_id(
    flow: str, operators: Sequence[str], inputs: Sequence[Edge], partitions: int | None, identities: Mapping[str, str]
) -> str:
    """Changes whenever state kept under it could no longer be used: other computations, names, keys or partitions."""
    content = {
        "operators": sorted([name, identities[name]] for name in operators),
        "inputs": sorted(
            [edge.stream, edge.target, edge.port, list(edge.rekey.by) if edge.rekey else []] for edge in inputs
        ),
        "partitions": partitions,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"{flow}.{hashlib.sha256(text.encode()).hexdigest()[:12]}"
