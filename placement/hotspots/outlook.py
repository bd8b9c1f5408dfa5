"""What is known of flows and hosts at one moment, as arrays, and the latencies that follow from rates to come."""

import math
from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array, Flags, Indices
from placement.queueing.arrays import BURST, RATE, RATE_SQUARES, RHO, SQUARE, SUMS, waits_ms
from placement.queueing.wait import UTILISATION_CAP


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
    """Work that waits at each host now, beyond what its usual queue holds."""

    def waits_ms(self, factors: Array, horizons_s: Array, present: Flags | None = None) -> Array:
        """Waits [host, horizon] when flows come at these multiples of their present rates, [flow, horizon].

        A queue neither empties nor fills at once. Above capacity, work piles up as long as that lasts; below it, what
        has piled up drains. And a queue that was empty is after a time t no longer than chance makes it in that time,
        sqrt(2 lambda E[S^2] t / pi), whatever it would become in the long run.
        """
        stops = self.stops
        times = factors[stops.flow] * (1.0 if present is None else present[:, None])
        rate = stops.rate_per_ms[:, None] * times
        rho = rate * stops.service_ms[:, None]
        sums = np.repeat(self.background[:, :, None], factors.shape[1], axis=2)
        for place, values in (
            (RATE, rate),
            (RHO, rho),
            (SQUARE, rho * (stops.service_ms * (1.0 + stops.cs2))[:, None]),
            (BURST, rate * stops.ca2[:, None]),
            (RATE_SQUARES, rate * rate),
        ):
            np.add.at(sums[place], stops.host, values)
        assert len(sums) == SUMS
        load = sums[RHO].copy()
        with np.errstate(invalid="ignore"):
            lasting = waits_ms(sums, UTILISATION_CAP)
        soon = np.sqrt(2.0 / math.pi * sums[SQUARE] * horizons_s * 1e3)
        piled, before_s = self.backlog_ms, 0.0
        waits = np.empty_like(load)
        for place, horizon_s in enumerate(horizons_s.tolist()):
            piled = np.maximum(0.0, piled + (load[:, place] - 1.0) * 1e3 * (horizon_s - before_s))
            waits[:, place] = piled + np.minimum(lasting[:, place], soon[:, place])
            before_s = horizon_s
        return np.asarray(waits)

    def latencies_ms(self, waits: Array) -> Array:
        """[flow, horizon] from waits [host, horizon]."""
        found = np.repeat(self.base_ms[:, None], waits.shape[1], axis=1)
        np.add.at(found, self.stops.flow, self.stops.weight[:, None] * waits[self.stops.host])
        return found
