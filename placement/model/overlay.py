"""An overlay network, as live: every host reaches every other directly, ants walk a sparse neighbourhood.

Through Kafka one hop joins any two hosts, so data between two chosen hosts pays the direct delay, not the sum of a
walk. Ants still need neighbours to walk along: all hosts of the same region, and across regions the pairs that no
third host is nearer to both of (relative neighbourhood graph), which keeps the graph sparse and connected (DESIGN
section 5, the overlay).
"""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placement.model.errors import require
from placement.model.host import Host, index_hosts

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class OverlayNetwork:
    """One-way delays between all pairs; each ordered pair (a, b) is one wire, number a * hosts + b."""

    hosts: tuple[Host, ...]
    delay_rows_ms: tuple[tuple[float, ...], ...]
    neighbours: tuple[tuple[int, ...], ...]
    bandwidth_bytes_per_ms: float = math.inf

    def __post_init__(self) -> None:
        count = len(self.hosts)
        require(
            len(self.delay_rows_ms) == count and all(len(row) == count for row in self.delay_rows_ms),
            f"delays must be a square of {count} x {count}, one row and one column a host",
        )
        require(len(self.neighbours) == count, f"neighbours must have {count} rows, one a host")
        require(
            all(delay >= 0 for row in self.delay_rows_ms for delay in row), "a delay is negative; give 0 ms or more"
        )
        require(self.bandwidth_bytes_per_ms > 0, f"bandwidth is {self.bandwidth_bytes_per_ms}; give more than 0")
        assert self.host_index is not None

    @classmethod
    def sparse(
        cls,
        hosts: tuple[Host, ...],
        delays_ms: Sequence[Sequence[float]] | Matrix,
        bandwidth_bytes_per_ms: float = math.inf,
    ) -> "OverlayNetwork":
        """Choose the neighbours from the delays and the hosts' regions."""
        delays = np.array(delays_ms, dtype=float)
        rows = tuple(tuple(float(delay) for delay in row) for row in delays)
        return cls(hosts, rows, sparse_neighbours(hosts, delays), bandwidth_bytes_per_ms)

    @cached_property
    def host_index(self) -> dict[str, int]:
        return index_hosts(self.hosts)

    @cached_property
    def capacities(self) -> Matrix:
        return np.array([host.capacity for host in self.hosts])

    @cached_property
    def neighbour_delays_ms(self) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(self.delay_rows_ms[host][other] for other in row) for host, row in enumerate(self.neighbours)
        )

    @cached_property
    def delays_ms(self) -> Matrix:
        """Direct delay between all pairs; 0 from a host to itself."""
        delays = np.array(self.delay_rows_ms)
        np.fill_diagonal(delays, 0.0)
        return delays

    @property
    def has_queues(self) -> bool:
        return math.isfinite(self.bandwidth_bytes_per_ms)

    @cached_property
    def wire_delays_ms(self) -> tuple[float, ...]:
        return tuple(float(delay) for delay in self.delays_ms.ravel())

    @cached_property
    def wire_bandwidths(self) -> tuple[float, ...]:
        return (self.bandwidth_bytes_per_ms,) * (len(self.hosts) ** 2)

    def wire_between(self, a: int, b: int) -> int:
        """The wire from a host to another."""
        return a * len(self.hosts) + b

    def route(self, a: int, b: int) -> tuple[int, ...]:
        """The one wire from a to b; none from a host to itself."""
        return () if a == b else (a * len(self.hosts) + b,)

    def without(self, hosts: Set[str] = frozenset(), links: Set[tuple[str, str]] = frozenset()) -> "OverlayNetwork":
        """The network after those died: indices stay, dead hosts have capacity 0 and are infinitely far."""
        delays = self.delays_ms.copy()
        for name in hosts:
            delays[self.host_index[name], :] = delays[:, self.host_index[name]] = math.inf
        for a, b in links:
            delays[self.host_index[a], self.host_index[b]] = delays[self.host_index[b], self.host_index[a]] = math.inf
        np.fill_diagonal(delays, 0.0)
        left = tuple(replace(host, capacity=0.0) if host.name in hosts else host for host in self.hosts)
        return OverlayNetwork.sparse(left, delays, self.bandwidth_bytes_per_ms)


def sparse_neighbours(hosts: tuple[Host, ...], delays_ms: Matrix) -> tuple[tuple[int, ...], ...]:
    """Same region, or no third host nearer to both. Delays are taken both ways round, so neighbourhood is mutual."""
    both = np.maximum(delays_ms, delays_ms.T)
    np.fill_diagonal(both, math.inf)
    regions = np.array([host.region for host in hosts])
    rows = []
    for host in range(len(hosts)):
        # The farther of the two ways to each third host, for every candidate; a smaller one lies between.
        between = np.minimum.reduce(np.maximum(both[host][:, None], both), axis=0)
        near = both[host] <= between
        near |= (regions == regions[host]) & (hosts[host].region != "")
        near &= np.isfinite(both[host])
        rows.append(tuple(int(other) for other in np.flatnonzero(near)))
    return tuple(rows)
