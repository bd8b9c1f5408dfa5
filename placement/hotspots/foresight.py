"""Slack ahead (Synergy 3.3.1): bound minus predicted latency, and how likely it is to be used up."""

import math
from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array
from placement.hotspots.outlook import Outlook
from placement.model.errors import require

_SPREADS = np.linspace(-2.5, 2.5, 11)
"""How many standard deviations above or below their forecasts rates are tried."""
_DEVIATION = math.sqrt(math.pi / 2)
"""A normal error's standard deviation over its mean size."""

_erf = np.vectorize(math.erf, otypes=[float])
"""Not scipy's: hosts start without it."""


@dataclass(frozen=True, slots=True)
class HotSpotParams:
    """When a warning is given."""

    sure: float = 0.5
    """The chance, at some horizon, that the bound will be broken."""

    def __post_init__(self) -> None:
        require(0 < self.sure < 1, f"sure is {self.sure}; give a chance between 0 and 1")


@dataclass(frozen=True, slots=True)
class Foresight:
    """[flow, horizon]; `factors` are the forecast multiples of the present rates that it was made from."""

    horizons_s: Array
    factors: Array
    slack_ms: Array
    chance: Array
    """That the bound is broken then."""
    waits_ms: Array
    """[host, horizon]."""


@dataclass(frozen=True, slots=True)
class HotSpot:
    """This flow will break its bound because of this host; `slack_ms` is what is left then, below 0 if nothing."""

    flow: str
    host: str
    in_s: float
    sure: float
    slack_ms: float


def foresee(outlook: Outlook, factors: Array, errors: Array, horizons_s: Array) -> Foresight:
    """`factors`, `errors`: forecast rates over present ones, and their mean absolute errors; [flow, horizon].

    All rates are taken to miss in the same direction: bursts that come together are what breaks bounds.
    """
    horizons_s = np.asarray(horizons_s, dtype=float)
    waits = outlook.waits_ms(factors, horizons_s)
    slack = outlook.bounds_ms[:, None] - outlook.latencies_ms(waits)
    deviation = np.nan_to_num(errors, nan=0.0) * _DEVIATION
    tried = np.array(
        [
            outlook.bounds_ms[:, None]
            - outlook.latencies_ms(outlook.waits_ms(np.maximum(factors + each * deviation, 0.0), horizons_s))
            for each in _SPREADS
        ]
    )
    return Foresight(horizons_s, factors, slack, _chances(tried), waits)


def hot_spots(outlook: Outlook, ahead: Foresight, params: HotSpotParams) -> list[HotSpot]:
    """The first moment at which each flow's bound is likely to break; the soonest, then the surest, first."""
    found = []
    for flow in np.flatnonzero((ahead.chance >= params.sure).any(axis=1)).tolist():
        place = int((ahead.chance[flow] >= params.sure).argmax())
        mine = np.flatnonzero(outlook.stops.flow == flow)
        if not len(mine):
            continue
        paid = outlook.stops.weight[mine] * ahead.waits_ms[outlook.stops.host[mine], place]
        host = outlook.hosts[outlook.stops.host[mine[paid.argmax()]]]
        chance, slack_ms = float(ahead.chance[flow, place]), float(ahead.slack_ms[flow, place])
        found.append(HotSpot(outlook.flows[flow], host, float(ahead.horizons_s[place]), chance, slack_ms))
    return sorted(found, key=lambda spot: (spot.in_s, -spot.sure, spot.flow))


def _chances(slacks: Array) -> Array:
    """Slack falls as rates rise: the chance that rates lie beyond the spread at which it is used up."""
    broken = slacks < 0
    first = broken.argmax(axis=0)
    above = np.maximum(first, 1)
    low, high = np.take_along_axis(slacks, above[None] - 1, 0)[0], np.take_along_axis(slacks, above[None], 0)[0]
    share = np.clip(low / np.maximum(low - high, 1e-12), 0.0, 1.0)
    spread = _SPREADS[above - 1] + share * (_SPREADS[above] - _SPREADS[above - 1])
    chance = 0.5 - 0.5 * _erf(spread / math.sqrt(2.0))
    return np.where(broken[0], 1.0, np.where(broken.any(axis=0), chance, 0.0))
