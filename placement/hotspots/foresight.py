"""Slack ahead (Synergy 3.3.1): bound minus predicted latency, and how likely it is to be used up.

Every course that rates may take is played through the queues; the chance is the share of courses that break the bound.
"""

from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array
from placement.hotspots.outlook import Outlook

RECKONED_WITH = 0.8
"""Who leaves, and where to, is found for rates that so large a share of the courses stays below."""


@dataclass(frozen=True, slots=True)
class Foresight:
    """[flow, horizon]; `factors`: multiples of present rates that 80 % of the courses stay below."""

    horizons_s: Array
    factors: Array
    slack_ms: Array
    """In the middle of all courses."""
    chance: Array
    """That the bound is broken by then."""
    waits_ms: Array
    """[host, horizon], on average over all courses."""


@dataclass(frozen=True, slots=True)
class HotSpot:
    """This flow will break its bound because of this host; `slack_ms` is what is left then, below 0 if nothing."""

    flow: str
    host: str
    in_s: float
    sure: float
    slack_ms: float


def foresee(outlook: Outlook, courses: Array, horizons_s: Array) -> Foresight:
    """`courses`: rates over present ones, [flow, horizon, course]; the same course of all flows goes together."""
    horizons_s = np.asarray(horizons_s, dtype=float)
    waits = outlook.waits_ms(courses, horizons_s)
    slack = outlook.bounds_ms[:, None, None] - outlook.latencies_ms(waits)
    chance = np.logical_or.accumulate(slack < 0, axis=1).mean(axis=2)
    factors = np.quantile(courses, RECKONED_WITH, axis=2)
    return Foresight(horizons_s, factors, np.median(slack, axis=2), chance, waits.mean(axis=2))


def hot_spots(outlook: Outlook, ahead: Foresight, level: float) -> list[HotSpot]:
    """Flows whose chance to break their bound reaches a level, and by when; the soonest, then the surest, first."""
    found = []
    for flow in np.flatnonzero((ahead.chance >= level).any(axis=1)).tolist():
        place = int((ahead.chance[flow] >= level).argmax())
        mine = np.flatnonzero(outlook.stops.flow == flow)
        if not len(mine):
            continue
        paid = outlook.stops.weight[mine] * ahead.waits_ms[outlook.stops.host[mine], place]
        host = outlook.hosts[outlook.stops.host[mine[paid.argmax()]]]
        chance, slack_ms = float(ahead.chance[flow, place]), float(ahead.slack_ms[flow, place])
        found.append(HotSpot(outlook.flows[flow], host, float(ahead.horizons_s[place]), chance, slack_ms))
    return sorted(found, key=lambda spot: (spot.in_s, -spot.sure, spot.flow))
