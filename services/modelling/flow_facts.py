"""What models need to know of flows: their bounds, which operators are upstream of which, and where results leave."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError
from topics.messages import FlowRevision

UPSTREAM_MAX = 8
"""Guides that an operator may choose from: its nearest ones upstream."""
TEXTS_MAX = 10_000
"""Files whose facts are kept."""


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """One flow. `upstream`: pairs of (operator, one upstream of it); `last`: operators whose results go to a sink."""

    bound_ms: float | None
    upstream: tuple[tuple[str, str], ...]
    last: frozenset[str]


def facts_of(revisions: Iterable[FlowRevision]) -> dict[str, FlowFacts]:
    """Of the flows that are there. One that this version can't read has no facts, and is modelled without."""
    there = [revision for revision in revisions if revision.state == "submitted"]
    return {each.flow: facts for each in there if (facts := _facts_of_text(each.text)) is not None}


@lru_cache(maxsize=TEXTS_MAX)
def _facts_of_text(text: str) -> FlowFacts | None:
    """Each file is read once: that takes ten milliseconds, and any change of one flow tells of all."""
    try:
        return facts_of_graph(parse_graph(text))
    except FlowError:
        return None


def facts_of_graph(graph: FlowGraph) -> FlowFacts:
    """Bound, ancestors, the nearest first, and who is last."""
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
    last = frozenset(edge.upstream for edge in graph.edges if edge.kind == "sink")
    return FlowFacts(graph.spec.qos.latency_ms, tuple(pairs), last)
