"""A flow of which other flows run a part: what is left of it to place. Pure.

What a tapped task gives comes from where it runs, as from a source that stands there (decision 123). The tasks that
only feed tapped ones are gone with them.
"""

from collections.abc import Mapping
from dataclasses import replace

from placement.model import Edge, Flow, Source


def served_flow(flow: Flow, served_at: Mapping[str, str]) -> Flow:
    """`served_at`: of each tapped task, by its name, the host where an equal one of another flow runs."""
    if not served_at:
        return flow
    graph = flow.graph
    tapped = frozenset(graph.task_index[name] for name in served_at)
    needed, live = graph.needed(tapped), graph.live_edges(tapped)
    rates: dict[str, float] = {}
    for edge in live:
        tail = flow.edges[edge.index].tail
        rates[tail] = max(rates.get(tail, 0.0), edge.rate_per_ms)
    sources = [source for source in flow.sources if source.name in rates]
    for name, host in sorted(served_at.items()):
        if name in rates:
            size = flow.tasks[graph.task_index[name]].output_bytes
            sources.append(Source(name, host, rates[name], message_bytes=size))
    edges = []
    for edge in live:
        one = flow.edges[edge.index]
        edges.append(Edge(one.tail, one.head, edge.rate_per_ms / rates[one.tail]) if one.tail in served_at else one)
    tasks = tuple(task for number, task in enumerate(flow.tasks) if number in needed)
    return replace(flow, sources=tuple(sources), tasks=tasks, edges=tuple(edges))
