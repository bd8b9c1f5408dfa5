"""What is known of flows and hosts at one moment, as arrays, and the latencies that follow from rates to come."""

from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array, Flags, Indices
from placement.hotspots.filling import filled_ms
from placement.queueing.arrays import BURST, RATE, RATE_SQUARES, RHO, SQUARE, SUMS, variances

NO_BOUND_MS = 1e12
"""Of a flow without a bound, which is there only for the load that it brings."""


@dataclass(frozen=True, slots=True)
class Stops:
    """Where flows wait: one row for each flow and host (Ants 3.6: what the queueing model needs of a stream)."""

    flow: Indices
    host: Indices
    rate_per_ms: Array
    service_ms: Array
    """Of one message there, at that host's capacity."""
    cs2: Array
    ca2: Array
    weight: Array
    """How often the mean message of the flow waits there."""
    backlog_ms: Array
    """Work of the flow that waits there now, beyond what its usual queue holds: who leaves takes it along."""

    def __len__(self) -> int:
        return len(self.flow)


@dataclass(frozen=True, slots=True)
class Outlook:
    """Flows, hosts, and who stops where; `base_ms`: what a flow's messages take beside waiting in queues."""

    flows: tuple[str, ...]
    bounds_ms: Array
    base_ms: Array
    hosts: tuple[str, ...]
    stops: Stops
    background: Array
    """[sum, host]: load of what belongs to no flow (`placement.queueing.arrays`)."""
    backlog_ms: Array
    """The same of which it is not known whose it is: it stays, whoever leaves."""

    def waits_ms(self, factors: Array, horizons_s: Array, present: Flags | None = None) -> Array:
        """Mean waits in the second that ends at each horizon, when flows come at multiples of their present rates.

        `factors` [flow, horizon] or [flow, horizon, course] gives [host, horizon] or [host, horizon, course]: each
        holds from the horizon before to its own, a second or more. A queue fills and drains from what has piled up now
        (`filling`); to go on from means costs up to a fifth of a wait near capacity. Where no flow stops nobody waits.
        """
        hosts, sums = self.sums(factors, present)
        more = (1,) * (factors.ndim - 1)
        load = sums[RHO]
        variance = variances(sums, load)
        drift = load - 1.0
        piled, before_s = np.broadcast_to(self._piled_ms(present)[hosts].reshape(-1, *more[1:]), load[:, 0].shape), 0.0
        waits = np.zeros((len(self.hosts), *factors.shape[1:]))
        for place, horizon_s in enumerate(horizons_s.tolist()):
            lasts_ms, fills = (horizon_s - before_s) * 1e3, (drift[:, place], variance[:, place])
            waits[hosts, place] = filled_ms(piled, *fills, lasts_ms - 500.0)
            piled, before_s = filled_ms(piled, *fills, lasts_ms), horizon_s
        return np.asarray(waits)

    def _piled_ms(self, present: Flags | None) -> Array:
        """Work that waits at each host now."""
        stops = self.stops
        theirs = stops.backlog_ms if present is None else stops.backlog_ms * present
        return np.asarray(self.backlog_ms + np.bincount(stops.host, theirs, len(self.hosts)))

    def sums(self, factors: Array, present: Flags | None = None) -> tuple[Indices, Array]:
        """The hosts at which flows stop, and what comes to each at these multiples: [sum, host, ...]."""
        stops = self.stops
        hosts, of_stop = np.unique(stops.host, return_inverse=True)
        more = (1,) * (factors.ndim - 1)
        times = factors[stops.flow] * (1.0 if present is None else present.reshape(-1, *more))
        rate = stops.rate_per_ms.reshape(-1, *more) * times
        rho = rate * stops.service_ms.reshape(-1, *more)
        sums = np.empty((SUMS, len(hosts), *factors.shape[1:]))
        sums[:] = self.background[:, hosts].reshape(SUMS, -1, *more)
        for place, values in (
            (RATE, rate),
            (RHO, rho),
            (SQUARE, rho * (stops.service_ms * (1.0 + stops.cs2)).reshape(-1, *more)),
            (BURST, rate * stops.ca2.reshape(-1, *more)),
            (RATE_SQUARES, rate * rate),
        ):
            np.add.at(sums[place], of_stop, values)
        return hosts, sums

    def latencies_ms(self, waits: Array) -> Array:
        """[flow, horizon, ...] from waits [host, horizon, ...]."""
        more = (1,) * (waits.ndim - 1)
        found = np.empty((len(self.flows), *waits.shape[1:]))
        found[:] = self.base_ms.reshape(-1, *more)
        np.add.at(found, self.stops.flow, self.stops.weight.reshape(-1, *more) * waits[self.stops.host])
        return found

    def company(self) -> dict[str, frozenset[tuple[str, str]]]:
        """Of each flow: its hosts, and who is there. When that changes, what was foreseen of it is no longer so."""
        there: dict[int, set[int]] = {}
        for flow, host in zip(self.stops.flow.tolist(), self.stops.host.tolist(), strict=True):
            there.setdefault(host, set()).add(flow)
        found: dict[str, set[tuple[str, str]]] = {name: set() for name in self.flows}
        for host, flows in there.items():
            pairs = {(self.hosts[host], self.flows[flow]) for flow in flows}
            for flow in flows:
                found[self.flows[flow]] |= pairs
        return {name: frozenset(pairs) for name, pairs in found.items()}
