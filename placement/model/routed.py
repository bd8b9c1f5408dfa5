"""A routed network, as in the paper: links between neighbours, and messages that cross every link on the shortest way.

A link is two wires, one each way; a wire is a server with a bandwidth and a queue. Wire 2i carries link i from a to
b, wire 2i+1 back. Routes follow propagation delay, not load. A host that can't be reached is infinitely far.
"""

import math
from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placement.model.errors import require
from placement.model.host import Host, index_hosts

Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Link:
    """Hosts `a` and `b` are neighbours; the same delay and bandwidth hold each way."""

    a: str
    b: str
    delay_ms: float
    bandwidth_bytes_per_ms: float = math.inf

    def __post_init__(self) -> None:
        pair = f"link {self.a} - {self.b}"
        require(self.a != self.b, f"{pair}: a link joins two hosts")
        require(0 < self.delay_ms < math.inf, f"{pair}: delay_ms is {self.delay_ms}; give more than 0")
        require(self.bandwidth_bytes_per_ms > 0, f"{pair}: bandwidth_bytes_per_ms must be above 0")


@dataclass(frozen=True)
class RoutedNetwork:
    """Hosts and links; everything derived is computed once, on first use."""

    hosts: tuple[Host, ...]
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        known = self.host_index
        seen: set[frozenset[str]] = set()
        for link in self.links:
            for end in (link.a, link.b):
                require(end in known, f"link {link.a} - {link.b}: no host {end!r}; add it or drop the link")
            pair = frozenset((link.a, link.b))
            require(pair not in seen, f"link {link.a} - {link.b} is given twice; give it once")
            seen.add(pair)

    @cached_property
    def host_index(self) -> dict[str, int]:
        return index_hosts(self.hosts)

    @cached_property
    def capacities(self) -> Matrix:
        return np.array([host.capacity for host in self.hosts])

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """For each host, the hosts one link away, in order."""
        return tuple(tuple(sorted(row)) for row in self._wire_between)

    @cached_property
    def neighbour_delays_ms(self) -> tuple[tuple[float, ...], ...]:
        """The link delay to each of `neighbours`."""
        return tuple(
            tuple(self.wire_delays_ms[self._wire_between[host][other]] for other in row)
            for host, row in enumerate(self.neighbours)
        )

    @cached_property
    def delays_ms(self) -> Matrix:
        """Propagation delay of the shortest way between all pairs."""
        return self._shortest[0]

    @cached_property
    def predecessors(self) -> NDArray[np.int32]:
        """[a, b]: the host before b on the way from a; negative where there is none."""
        return self._shortest[1]

    @cached_property
    def wire_delays_ms(self) -> tuple[float, ...]:
        return tuple(link.delay_ms for link in self.links for _ in range(2))

    @cached_property
    def wire_bandwidths(self) -> tuple[float, ...]:
        return tuple(link.bandwidth_bytes_per_ms for link in self.links for _ in range(2))

    @cached_property
    def has_queues(self) -> bool:
        """Whether any wire is slow enough to need a price of its own."""
        return any(math.isfinite(link.bandwidth_bytes_per_ms) for link in self.links)

    @cached_property
    def wire_ends(self) -> tuple[tuple[int, int], ...]:
        """(from host, to host) of each wire."""
        index = self.host_index
        pairs = [(index[link.a], index[link.b]) for link in self.links]
        return tuple(end for a, b in pairs for end in ((a, b), (b, a)))

    @cached_property
    def route_steps(self) -> tuple[tuple[Indices, Indices, Indices], ...]:
        """(origins, targets, hosts before the target), by number of hops: sums along all routes go step by step."""
        count = len(self.hosts)
        origins, targets = np.nonzero(self.predecessors >= 0)
        before = self.predecessors[origins, targets]
        hops = np.zeros((count, count), dtype=np.intp)
        at = before.copy()
        left = np.arange(len(origins))
        while len(left):
            hops[origins[left], targets[left]] += 1
            left = left[at[left] != origins[left]]
            at[left] = self.predecessors[origins[left], at[left]]
        of_pair = hops[origins, targets]
        steps = []
        for hop in range(1, int(of_pair.max(initial=0)) + 1):
            chosen = of_pair == hop
            steps.append((origins[chosen], targets[chosen], before[chosen].astype(np.intp)))
        return tuple(steps)

    def wire_between(self, a: int, b: int) -> int:
        """The wire from a host to its neighbour."""
        return self._wire_between[a][b]

    def route(self, a: int, b: int) -> tuple[int, ...]:
        """The wires from a to b; empty if they are the same host. Asked only where a way exists."""
        known = self._routes.get((a, b))
        if known is None:
            assert a == b or self.predecessors[a, b] >= 0, (a, b)
            way: list[int] = []
            at = b
            while at != a:
                before = int(self.predecessors[a, at])
                way.append(self._wire_between[before][at])
                at = before
            known = self._routes[a, b] = tuple(reversed(way))
        return known

    def without(self, hosts: Set[str] = frozenset(), links: Set[tuple[str, str]] = frozenset()) -> "RoutedNetwork":
        """The network after those hosts and links died: indices stay, dead hosts have capacity 0 and no links."""
        gone = {frozenset(pair) for pair in links}
        return RoutedNetwork(
            tuple(replace(host, capacity=0.0) if host.name in hosts else host for host in self.hosts),
            tuple(
                link
                for link in self.links
                if link.a not in hosts and link.b not in hosts and frozenset((link.a, link.b)) not in gone
            ),
        )

    @cached_property
    def _routes(self) -> dict[tuple[int, int], tuple[int, ...]]:
        return {}

    @cached_property
    def _wire_between(self) -> tuple[dict[int, int], ...]:
        rows: tuple[dict[int, int], ...] = tuple({} for _ in self.hosts)
        for wire, (a, b) in enumerate(self.wire_ends):
            rows[a][b] = wire
        return rows

    @cached_property
    def _shortest(self) -> tuple[Matrix, NDArray[np.int32]]:
        # Here, because only routed networks need it: a live host starts sooner without it.
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        count = len(self.hosts)
        tails = [a for a, _ in self.wire_ends]
        heads = [b for _, b in self.wire_ends]
        graph = csr_array((list(self.wire_delays_ms), (tails, heads)), shape=(count, count))
        distances, before = dijkstra(graph, directed=True, return_predecessors=True)
        return distances, before
