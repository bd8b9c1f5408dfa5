"""Traffic: what control messages and data cost the network, in byte-hops."""

from collections import Counter
from dataclasses import dataclass, field

from placement.model import Flow, Network


@dataclass(slots=True)
class Traffic:
    """Control messages so far: how many hops, and bytes times hops, by kind of message."""

    hops: Counter[str] = field(default_factory=Counter)
    byte_hops: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str, size_bytes: float, hops: int) -> None:
        """One message crossed that many links."""
        self.hops[kind] += hops
        self.byte_hops[kind] += int(size_bytes * hops)

    @property
    def total_byte_hops(self) -> int:
        return sum(self.byte_hops.values())

    @property
    def total_hops(self) -> int:
        return sum(self.hops.values())


def data_byte_hops_per_ms(network: Network, flow: Flow, hosts: dict[int, str]) -> float:
    """What a placed flow's data cost the network each millisecond."""
    index = network.host_index
    total = 0.0
    for edge in flow.graph.edges:
        origin = index[edge.tail_host if edge.from_source else hosts[edge.tail_task]]
        target = index[edge.head_host if edge.to_sink else hosts[edge.head_task]]
        if origin != target:
            total += edge.rate_per_ms * edge.message_bytes * len(network.route(origin, target))
    return total
