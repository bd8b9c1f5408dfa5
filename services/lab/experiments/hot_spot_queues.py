"""Queues of hosts, message by message, for experiments with hot spots; and what an alarm is told of them.

Nothing of the queueing model is used to tell what is true. How arrivals and services vary alarms are told as hosts here
really have it; live hosts measure that.
"""

import numpy as np
from numpy.typing import NDArray

from placement.evaluator_edges import edge_costs_ms
from placement.evaluator_paths import end_to_end
from placement.fits.arrays import Array
from placement.hotspots import Outlook, Stops
from placement.model import Flow, Network
from placement.queueing import Load, Stream
from placement.queueing.arrays import background_sums
from placement.queueing.real_queue import draw, lindley
from placement.simulator.body import Body

POISSON_CA2 = 1.0
"""How the times between arrivals vary at the hosts: messages of a step come at any moment of it."""
BACKGROUND_CS2 = 1.0
"""What belongs to no flow is one stream of many small and few long services."""


class RealHosts:
    """Queues of all hosts. The work that is left at the end of a step is met by the next.

    `background` is as `played` gives it.
    """

    def __init__(self, network: Network, background: list[Load], seed: int) -> None:
        self._network = network
        self._background = background
        self._rng = np.random.default_rng(seed)
        self.left_ms = np.zeros(len(network.hosts))

    def step(self, outlook: Outlook, factors: Array, *, lasts_ms: float) -> Array:
        """The mean wait at each host in so long; flows come at these multiples of the outlook's rates.

        Where no flow stops nobody waits; what is left there is worked off beside the background. Where nobody came, who
        had come would have waited for what is left.
        """
        stops = outlook.stops
        waits = np.zeros(len(self.left_ms))
        used = np.unique(stops.host)
        free = np.array([1.0 - load.rho for load in self._background])
        worked_off = np.maximum(0.0, self.left_ms - lasts_ms * free)
        self.left_ms = np.where(np.isin(np.arange(len(waits)), used), self.left_ms, worked_off)
        for host in used.tolist():
            here = np.flatnonzero(stops.host == host)
            times, services = self.arrivals(outlook, host, here, factors, lasts_ms=lasts_ms)
            if not len(times):
                self.left_ms[host] = waits[host] = max(0.0, self.left_ms[host] - lasts_ms)
                continue
            order = times.argsort(kind="stable")
            # What is left of the step before comes first, as one message.
            arrivals = np.concatenate([[0.0], times[order]])
            works = np.concatenate([[self.left_ms[host]], services[order]])
            found = lindley(arrivals, works)
            waits[host] = found[1:].mean()
            self.left_ms[host] = max(0.0, found[-1] + works[-1] - (lasts_ms - arrivals[-1]))
        return waits

    def arrivals(
        self, outlook: Outlook, host: int, here: NDArray[np.int64], factors: Array, *, lasts_ms: float
    ) -> tuple[Array, Array]:
        """When messages come to a host in one step, in no order, and how long each takes; `here`: its stops."""
        stops, load = outlook.stops, self._background[host]
        streams = [(stops.rate_per_ms[k] * factors[stops.flow[k]], stops.service_ms[k], stops.cs2[k]) for k in here]
        if load.rate_per_ms > 0:
            streams.append((load.rate_per_ms, load.rho / load.rate_per_ms, BACKGROUND_CS2))
        times, services = [], []
        for rate, service, cs2 in streams:
            count = self._rng.poisson(rate * lasts_ms)
            times.append(self._rng.uniform(0.0, lasts_ms, count))
            services.append(draw(service, cs2, count, self._rng))
        return (np.concatenate(times), np.concatenate(services)) if times else (np.zeros(0), np.zeros(0))


def played(load: Load) -> Load:
    """The same load from one stream, which varies as `RealHosts` plays it."""
    if load.rate_per_ms <= 0:
        return load
    stream = Stream(load.rate_per_ms, load.rho / load.rate_per_ms, BACKGROUND_CS2, POISSON_CA2, load.weight)
    return stream.load(1.0)


def outlook_of(body: Body, flows: list[Flow], background: list[Load], left_ms: Array) -> Outlook:
    """Where the flows run now, at their mean rates; arrivals and services vary as `RealHosts` plays them."""
    hosts, index = body.network.hosts, body.network.host_index
    rows: list[tuple[float, ...]] = []
    base = np.zeros(len(flows))
    for number, flow in enumerate(flows):
        running = body.leaders[flow.name].running
        masks: dict[int, int] = {}
        for task, name in running.items():
            masks[index[name]] = masks.get(index[name], 0) | 1 << task
        for host, mask in sorted(masks.items()):
            for edge, stream in flow.graph.streams(mask):
                share = flow.graph.edges[edge].path_share
                service_ms = stream.work / hosts[host].capacity
                rows.append((number, host, stream.rate_per_ms, service_ms, stream.cs2, POISSON_CA2, share))
        base[number] = _base_ms(body, flow, [running.get(task) for task in range(flow.graph.task_count)])
    flow, host, rate, service, cs2, ca2, weight = np.array(rows).T
    stops = Stops(flow.astype(np.int64), host.astype(np.int64), rate, service, cs2, ca2, weight, np.zeros(len(rate)))
    bounds = np.array([each.latency_bound_ms for each in flows])
    names = tuple(each.name for each in flows)
    return Outlook(
        names, bounds, base, tuple(each.name for each in hosts), stops, background_sums(background), left_ms.copy()
    )


def _base_ms(body: Body, flow: Flow, where: list[str | None]) -> float:
    """What a flow's messages take beside waiting in queues of hosts.

    Not its latency less these waits: at the rates that leaders believe a host may be too full, and then both are
    infinite.
    """
    own = [None if host is None else body.network.host_index[host] for host in where]
    truth = body.truth
    costs = edge_costs_ms(
        body.network, flow, own, {}, wait_at=lambda _: 0.0, wire_loads=truth.wire_loads, cap=truth.cap
    )
    return end_to_end(flow.graph, costs).mean_ms
