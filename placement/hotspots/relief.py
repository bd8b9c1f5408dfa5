"""Who should leave a hot spot (Synergy 3.4.1): the fewest flows whose leaving lets all that stay keep their bounds.

Who leaves takes its own backlog along, so that the queue which the others see is shorter by that. Ants find where to
(3.4.2): they price at the forecast rates, and hold every flow to its bound. If all leaders on a hot host sent them, all
would leave for the same cool host; so only those who should leave are told.
"""

from collections.abc import Collection

import numpy as np

from placement.fits.arrays import Flags
from placement.hotspots.foresight import Foresight, HotSpot
from placement.hotspots.outlook import Outlook

MOVERS_MAX = 3
"""One usually suffices (3.4.1)."""


def movers(outlook: Outlook, ahead: Foresight, spot: HotSpot, stay: Collection[str] = ()) -> list[str]:
    """Flows that should leave the host, the first one first. `stay`: flows that no leader may move by itself.

    Of those whose leaving alone suffices, the one that leaves the most slack to the tightest flow that stays; where
    none suffices, the one that brings the most load, and then again (the paper's rule). But not the last one beside
    others that leave: it has the host to itself then.
    """
    stops, place = outlook.stops, int(np.searchsorted(ahead.horizons_s, spot.in_s))
    host = outlook.hosts.index(spot.host)
    present = np.ones(len(stops), dtype=bool)
    load = stops.rate_per_ms * stops.service_ms * ahead.factors[stops.flow, place]
    found: list[str] = []
    while len(found) < MOVERS_MAX:
        here = np.unique(stops.flow[(stops.host == host) & present]).tolist()
        free = [flow for flow in here if outlook.flows[flow] not in stay]
        if not free or (found and len(here) == 1):
            break
        left = {flow: _tightest(outlook, ahead, host, present & ~_is(outlook, flow, host), place) for flow in free}
        enough = [flow for flow in free if left[flow] >= 0]
        if enough:
            found.append(outlook.flows[max(enough, key=lambda flow: (left[flow], -flow))])
            break
        heaviest = max(free, key=lambda flow: (float(load[_is(outlook, flow, host) & present].sum()), -flow))
        found.append(outlook.flows[heaviest])
        present &= ~_is(outlook, heaviest, host)
    return found


def _is(outlook: Outlook, flow: int, host: int) -> Flags:
    return np.asarray((outlook.stops.flow == flow) & (outlook.stops.host == host))


def _tightest(outlook: Outlook, ahead: Foresight, host: int, present: Flags, place: int) -> float:
    """The least slack among the flows that stay on the host; infinite if none does."""
    stay = np.unique(outlook.stops.flow[(outlook.stops.host == host) & present])
    if not len(stay):
        return float("inf")
    waits = outlook.waits_ms(ahead.factors, ahead.horizons_s, present)
    slack = outlook.bounds_ms[stay] - outlook.latencies_ms(waits)[stay, place]
    return float(slack.min())
