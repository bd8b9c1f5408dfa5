"""The simple rule of `stigmergy run`: which host gets which partition of which segment. Pure.

A segment that reads a source with `at` goes to that host, if it is there. Every other partition goes to the host that
has got the fewest so far.
"""

from collections.abc import Mapping, Sequence

from services.registry.view import Slot
from topics.flow.graph import FlowGraph, Segment


def spread(graph: FlowGraph, partitions: Mapping[str, int], hosts: Sequence[str]) -> dict[Slot, str]:
    """A host for each slot. `partitions` counts the partitions of each segment; there is at least one host."""
    assert hosts, "no host to spread over"
    got = dict.fromkeys(sorted(hosts), 0)
    placed: dict[Slot, str] = {}
    for segment in graph.segments:
        home = _home(graph, segment, hosts)
        for partition in range(partitions[segment.id]):
            host = home if home is not None else min(got, key=lambda name: got[name])
            placed[segment.id, partition] = host
            got[host] += 1
    return placed


def _home(graph: FlowGraph, segment: Segment, hosts: Sequence[str]) -> str | None:
    """Where the segment's first source wants to be read."""
    read = {edge.upstream for edge in segment.inputs if edge.kind == "source"}
    return next((source.at for source in graph.spec.sources if source.name in read and source.at in hosts), None)
