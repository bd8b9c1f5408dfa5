"""What other flows run for a flow that is led here: found before it runs for the first time, the same ever after."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

from services.registry.sharing_counts import fixed_taps, may_serve
from services.registry.view import RegistryView
from services.sharing.equality import tapped_edges
from services.sharing.taps import choose, still_tapped
from topics.flow.graph import FlowGraph
from topics.messages import FlowRevision, SegmentTap

GraphOf = Callable[[FlowRevision], Awaitable[FlowGraph | None]]
AreWhole = Callable[[Collection[str]], Awaitable[bool]]
"""Whether these topics still have all that was ever written to them."""


class Taps:
    """Of the flows of one host's leaders. `alone`: flows that found no place beside what they would tap."""

    def __init__(self, *, graph_of: GraphOf, are_whole: AreWhole) -> None:
        self.alone: set[str] = set()
        self._graph_of = graph_of
        self._are_whole = are_whole

    async def of(self, graph: FlowGraph, view: RegistryView) -> tuple[SegmentTap, ...]:
        """What a flow taps, or is to tap."""
        fixed = fixed_taps(view, graph.spec.name)
        if fixed is not None:
            return still_tapped(graph, fixed)
        return await self._found(graph, view) if graph.spec.name not in self.alone else ()

    def may_stay(self, taps: tuple[SegmentTap, ...], graph: FlowGraph, view: RegistryView) -> bool:
        """Whether a flow goes on with these. Until it runs, a flow that was to serve it may end."""
        fixed = fixed_taps(view, graph.spec.name)
        if fixed is not None:
            return taps == still_tapped(graph, fixed)
        return not taps or (graph.spec.name not in self.alone and all(may_serve(view, tap.server) for tap in taps))

    async def _found(self, graph: FlowGraph, view: RegistryView) -> tuple[SegmentTap, ...]:
        """Of several equal segments those of the flow that was submitted first."""
        revisions = sorted(view.flows.values(), key=lambda each: (each.changed_ms, each.flow))
        able = [each for each in revisions if each.flow != graph.spec.name and may_serve(view, each.flow)]
        servers = [found for each in able if (found := await self._graph_of(each)) is not None]
        while True:
            taps = await asyncio.to_thread(choose, graph, servers)
            by_name = {server.spec.name: server for server in servers}
            cut = {tap.server for tap in taps if not await self._is_whole(graph, by_name[tap.server], tap)}
            if not cut:
                return taps
            servers = [server for server in servers if server.spec.name not in cut]

    async def _is_whole(self, graph: FlowGraph, server: FlowGraph, tap: SegmentTap) -> bool:
        return await self._are_whole(sorted({edge.topic for edge in tapped_edges(graph, server, tap)}))
