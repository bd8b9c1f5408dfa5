"""What models need to know of flows: their bounds, and which operators are upstream of which."""

from collections.abc import Iterable
from dataclasses import dataclass

from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError
from topics.messages import FlowRevision

UPSTREAM_MAX = 8
"""Guides that an operator may choose from: its nearest ones upstream."""


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """One flow. `upstream`: pairs of (operator, one upstream of it)."""

    bound_ms: float | None
    upstream: tuple[tuple[str, str], ...]


def facts_of(revisions: Iterable[FlowRevision]) -> dict[str, FlowFacts]:
    """Of the flows that are there. One that this version can't read has no facts, and is modelled without."""
    facts = {}
    for revision in revisions:
        if revision.state == "submitted":
            try:
                facts[revision.flow] = facts_of_graph(parse_graph(revision.text))
            except FlowError:
                continue
    return facts


def facts_of_graph(graph: FlowGraph) -> FlowFacts:
    """Bound and ancestors, the nearest first."""
    operators = {operator.name for operator in graph.operators}
    parents = {
        name: sorted({edge.upstream for edge in graph.edges_into(name)} & operators) for name in sorted(operators)
    }
    pairs = []
    for name, nearest in parents.items():
        found: list[str] = []
        layer = nearest
        while layer and len(found) < UPSTREAM_MAX:
            found += [each for each in layer if each not in found]
            layer = sorted({above for each in layer for above in parents[each]} - set(found))
        pairs += [(name, each) for each in found[:UPSTREAM_MAX]]
    return FlowFacts(graph.spec.qos.latency_ms, tuple(pairs))
