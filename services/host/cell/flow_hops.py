"""What a flow's hops through Kafka cost wherever its tasks are. Pure.

The brain prices distances: a hop between two tasks on one host costs it nothing. Through Kafka it costs the work of
broker and clients, and exactly once also the wait for a commit. That is the same for every placement, so no choice
depends on it; but what a user is told, and what a bound leaves for the rest, does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from placement.model.graph import FlowGraph


@dataclass(frozen=True, slots=True)
class FlowHops:
    """`total_ms`: of a path through the flow, on average. `last_ms`: of the hop behind the last task, from its commit
    (or its end, where nobody waits for that) to a sink's reader, if all paths had one."""

    total_ms: float
    last_ms: float

    @classmethod
    def of(cls, graph: FlowGraph, *, hop_ms: float, commit_ms: float) -> "FlowHops":
        """`commit_ms`: how long what a task writes waits until it may be read."""
        each_ms = [(edge.path_share, hop_ms + (0.0 if edge.from_source else commit_ms)) for edge in graph.edges]
        return cls(sum(share * edge_ms for share, edge_ms in each_ms), hop_ms)

    def beyond_ms(self, graph: FlowGraph, where: Mapping[int, str], delay_ms: Callable[[str, str], float]) -> float:
        """From the last tasks, which run there, to the sinks: what no task can measure. A task sees its commit."""
        return sum(
            edge.path_share * (self.last_ms + delay_ms(where[edge.tail_task], edge.head_host))
            for edge in graph.edges
            if edge.to_sink and edge.tail_task in where
        )
