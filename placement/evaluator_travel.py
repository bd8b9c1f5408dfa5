"""What it costs a message to travel from host to host: propagation, transmission, and the queue before each wire.

A wire is a server whose work is bytes and whose capacity is its bandwidth (Ants 3.6, end). Where no bandwidth is
finite the price is the propagation delay alone and no wire load is looked at.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placement.model.overlay import OverlayNetwork
from placement.model.problem import Network
from placement.model.routed import RoutedNetwork
from placement.queueing import UTILISATION_CAP, Load, Stream, link_wait_ms

Matrix = NDArray[np.float64]


def travel_ms(
    network: Network,
    wire_loads: Sequence[Load],
    stream: Stream,
    origin: int,
    target: int,
    *,
    cap: float = UTILISATION_CAP,
) -> float:
    """From one host to another, on wires whose loads already include this stream."""
    delay = float(network.delays_ms[origin, target])
    if origin == target or not network.has_queues or math.isinf(delay):
        return delay
    bandwidths = network.wire_bandwidths
    for wire in network.route(origin, target):
        delay += link_wait_ms(wire_loads[wire], cap) + stream.work / bandwidths[wire]
    return delay


def travel_matrix_ms(
    network: Network, wire_loads: Sequence[Load], stream: Stream, *, cap: float = UTILISATION_CAP
) -> Matrix:
    """Between all pairs of hosts, for one more such stream on wires with those loads."""
    if not network.has_queues:
        return network.delays_ms
    extra = _wire_extra_ms(network, wire_loads, stream, cap)
    count = len(network.hosts)
    if isinstance(network, OverlayNetwork):
        total: Matrix = network.delays_ms + extra.reshape(count, count)
        np.fill_diagonal(total, 0.0)
        return total
    return network.delays_ms + _sum_along_routes(network, extra)


def _wire_extra_ms(network: Network, wire_loads: Sequence[Load], stream: Stream, cap: float) -> Matrix:
    bandwidths = np.array(network.wire_bandwidths)
    loads = np.array(wire_loads, dtype=float).reshape(-1, 6)
    service = stream.work / bandwidths
    rho = loads[:, 1] + stream.rate_per_ms * service
    square = loads[:, 2] + stream.rate_per_ms * service * service
    full = ~(rho < cap)
    waits: Matrix = square / (2.0 * (1.0 - np.where(full, 0.0, rho))) + service
    waits[full] = math.inf
    return waits


def _sum_along_routes(network: RoutedNetwork, extra: Matrix) -> Matrix:
    """Add up a cost per wire along every shortest way: hosts in order of distance, each after the one before it."""
    count = len(network.hosts)
    cost = np.zeros((count, count))
    wire_cost = np.zeros((count, count))
    ends = np.array(network.wire_ends, dtype=np.intp).reshape(-1, 2)
    wire_cost[ends[:, 0], ends[:, 1]] = extra
    for origins, targets, before in network.route_steps:
        cost[origins, targets] = cost[origins, before] + wire_cost[before, targets]
    return cost
