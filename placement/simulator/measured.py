"""What simulated hosts measure of the true network: the delay over each of their links, and of data to any host."""

from collections.abc import Sequence

from placement.evaluator_travel import travel_ms
from placement.model import Network
from placement.queueing import Load, link_wait_ms, wire_stream

_COMMON = wire_stream(0.0, 4_000.0)
"""What hosts measure links with: a message of common size, which waits before a wire and is transmitted."""


def delay_ms(network: Network, wire_loads: Sequence[Load], origin: str, target: str) -> float:
    """Delay of data between two hosts."""
    a, b = network.host_index[origin], network.host_index[target]
    if not network.has_queues:
        return float(network.delays_ms[a, b])
    return travel_ms(network, wire_loads, _COMMON, a, b)


def links_ms(network: Network, wire_loads: Sequence[Load], place: int) -> dict[str, float]:
    """The delay over each link of a host."""
    found = {}
    for other, link_ms in zip(network.neighbours[place], network.neighbour_delays_ms[place], strict=True):
        extra_ms = 0.0
        if network.has_queues:
            wire = network.wire_between(place, other)
            extra_ms = link_wait_ms(wire_loads[wire]) + _COMMON.work / network.wire_bandwidths[wire]
        found[network.hosts[other].name] = link_ms + extra_ms
    return found
