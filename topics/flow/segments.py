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
    groups = _Groups(names, edges)
    for edge in edges:
        if edge.kind == "fused":
            groups.try_merge(groups.of[edge.upstream], groups.of[edge.target])
    cut = tuple(
        replace(edge, kind="handover") if edge.kind == "fused" and not groups.together(edge) else edge for edge in edges
    )
    return groups.of, cut


class _Groups:
    """Operators in groups, and what keeps two groups from becoming one."""

    def __init__(self, names: Sequence[str], edges: Sequence[Edge]) -> None:
        self.of = {name: name for name in names}
        self._position = {name: position for position, name in enumerate(names)}
        inner = [edge for edge in edges if edge.kind not in ("source", "sink")]
        self._readers: dict[str, set[str]] = {name: set() for name in names}
        for edge in inner:
            self._readers[edge.upstream].add(edge.target)
        self._rekeyed = {(edge.upstream, edge.target) for edge in inner if edge.kind == "rekey"}

    def together(self, edge: Edge) -> bool:
        return self.of[edge.upstream] == self.of[edge.target]

    def try_merge(self, upstream: str, target: str) -> None:
        if upstream != target and (upstream, target) not in self._rekeyed and not self._way_round(upstream, target):
            first, second = sorted((upstream, target), key=self._position.__getitem__)
            self.of = {name: first if owner == second else owner for name, owner in self.of.items()}
            self._readers[first] |= self._readers.pop(second)
            for owner, readers in self._readers.items():
                if second in readers:
                    readers.remove(second)
                    readers.add(first)
                readers.discard(owner)
            self._rekeyed = {(first if a == second else a, first if b == second else b) for a, b in self._rekeyed}

    def _way_round(self, upstream: str, target: str) -> bool:
        """Whether records also get from the one to the other through a third group."""
        seen = {target}
        ahead = [owner for owner in self._readers[upstream] if owner != target]
        while ahead:
            owner = ahead.pop()
            if target in self._readers[owner]:
                return True
            if owner not in seen:
                seen.add(owner)
                ahead += self._readers[owner]
        return False


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
