"""A problem: the network, the flows to place, and what else already loads hosts and wires.

`background` is the load of everything that is not to be placed now: flows that stay where they are, cross-traffic.
To place one newcomer among running flows, give their loads as background (`Ledger.loads` in
placement/evaluator_incremental.py keeps them).
"""

import math
from dataclasses import dataclass
from functools import cached_property

from placement.model.errors import require
from placement.model.flow import Flow
from placement.model.overlay import OverlayNetwork
from placement.model.routed import RoutedNetwork
from placement.queueing import IDLE, UTILISATION_CAP, Load

Network = RoutedNetwork | OverlayNetwork


@dataclass(frozen=True)
class Problem:
    """Flows are kept sorted by name; background tuples are empty (nothing there) or one entry a host or wire."""

    network: Network
    flows: tuple[Flow, ...]
    background: tuple[Load, ...] = ()
    wire_background: tuple[Load, ...] = ()
    utilisation_cap: float = UTILISATION_CAP

    def __post_init__(self) -> None:
        object.__setattr__(self, "flows", tuple(sorted(self.flows, key=lambda flow: flow.name)))
        hosts = self.network.host_index
        require(len(self.flow_of) == len(self.flows), "two flows have the same name; flow names must be unique")
        for flow in self.flows:
            ends = [(source.name, source.host) for source in flow.sources]
            ends += [(sink.name, sink.host) for sink in flow.sinks]
            for name, host in ends:
                require(host in hosts, f"flow {flow.name}: {name} is at {host!r}, which is no host here")
            assert flow.graph is not None
        require(
            len(self.background) in (0, len(hosts)),
            f"background has {len(self.background)} loads for {len(hosts)} hosts",
        )
        wires = len(self.network.wire_delays_ms)
        require(
            len(self.wire_background) in (0, wires),
            f"wire_background has {len(self.wire_background)} loads for {wires} wires",
        )
        for what, loads in (("background", self.background), ("wire_background", self.wire_background)):
            for place, load in enumerate(loads):
                sound = all(math.isfinite(each) and each >= 0 for each in load)
                require(sound, f"{what} {place} is {load}; each of its sums must be 0 or more, and finite")
        require(0 < self.utilisation_cap <= 1, f"utilisation_cap is {self.utilisation_cap}; it must be in (0, 1]")

    @cached_property
    def flow_of(self) -> dict[str, Flow]:
        return {flow.name: flow for flow in self.flows}

    @cached_property
    def host_loads(self) -> tuple[Load, ...]:
        """The background load of each host."""
        return self.background or (IDLE,) * len(self.network.hosts)

    @cached_property
    def wire_loads(self) -> tuple[Load, ...]:
        """The background load of each wire."""
        return self.wire_background or (IDLE,) * len(self.network.wire_delays_ms)
