"""Atlas: what every host may know of all others where one hop reaches anyone: who there is, how fast, how far.

Never how busy: that changes with every placement, and ants go and look. A live system has these numbers in its registry
and from its brokers' round trips; a routed network has no atlas, and cells there know only their surroundings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Atlas:
    """Hosts in order, with their capacities and the delay of data between all pairs (row = from, column = to)."""

    hosts: tuple[str, ...]
    capacities: Matrix
    delays_ms: Matrix

    @cached_property
    def index(self) -> dict[str, int]:
        """Place of each host."""
        return {host: place for place, host in enumerate(self.hosts)}

    @cached_property
    def relayed_ms(self) -> Matrix:
        """Delay by way of any other hosts that are nearer: tasks may sit there and pass messages on."""
        shortest = self.delays_ms.copy()
        np.fill_diagonal(shortest, 0.0)
        for via in range(len(self.hosts)):  # Floyd and Warshall
            np.minimum(shortest, shortest[:, via, None] + shortest[via], out=shortest)
        return shortest

    def knows(self, *hosts: str) -> bool:
        """Whether all of them are on it."""
        return all(host in self.index for host in hosts)

    def shortest_ms(self, origin: str, target: str) -> float:
        """Delay by way of whichever hosts make it shortest."""
        return float(self.relayed_ms[self.index[origin], self.index[target]])


AtlasNow = Callable[[], Atlas]
"""The atlas as it is now: hosts come and go, delays drift."""
