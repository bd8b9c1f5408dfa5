"""Hot spots that are near: what a host sees of its own queue, many times a second (in Synergy 3.3 each node predicts).

Models are of whole seconds, and come when these are over. A queue that fills is known to its host at once. A bound is
broken if who came in a second waited too long on average: of most of them the host knows how long they will, and for
the few tenths of a second that are missing, what came lately goes on, as far as chance lets it. They find their bound
broken only when it has passed, so that even so short a look leads.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from placement.fits.arrays import Array
from placement.hotspots.filling import filled_ms, normal
from placement.hotspots.foresight import HotSpot, foresee
from placement.hotspots.outlook import Outlook, Stops
from placement.hotspots.relief import movers
from placement.model.errors import require
from placement.queueing.arrays import RHO, variances

_AHEAD_S = np.array([1.0])
"""Who should leave is found for this long: ants take it."""


@dataclass(frozen=True, slots=True)
class NearParams:
    """How a host looks at its queue."""

    look_s: float = 0.1
    lately_s: float = 0.5
    """What came in this time goes on."""
    ahead: int = 3
    """So many looks."""
    level: float = 0.7
    """The chance from which on it warns."""
    stands_s: float = 3.0
    """A warning is taken back when nothing was near for so long."""

    def __post_init__(self) -> None:
        require(
            0 < self.look_s <= self.lately_s, f"look_s is {self.look_s}; give more than 0, and at most {self.lately_s}"
        )
        require(1 <= self.ahead <= self.looks, f"ahead is {self.ahead}; give 1 to {self.looks} looks")
        require(0 < self.level < 1, f"level is {self.level}; give a chance between 0 and 1")
        require(self.stands_s >= self.look_s, f"stands_s is {self.stands_s}; give {self.look_s} or more")

    @property
    def looks(self) -> int:
        """In a second."""
        return round(1 / self.look_s)


def near_spots(
    outlook: Outlook, host: int, waits_ms: Sequence[float], factors: Array, params: NearParams
) -> list[HotSpot]:
    """What one host sees coming, if flows go on at these multiples of the outlook's rates.

    `waits_ms`: what those had to wait who came at each look of the last second; the newest is what waits now. A flow
    that takes longer than its bound without any wait is not in danger from this queue.
    """
    alone = _alone(outlook, host)
    mean_ms, off_ms = _waits_ahead(alone, waits_ms, factors, params)
    stops, room_ms = alone.stops, outlook.bounds_ms - outlook.base_ms
    weight = np.bincount(stops.flow, stops.weight, len(outlook.flows))
    here = np.flatnonzero((weight > 0) & (room_ms > 0))
    slack_ms = room_ms[here, None] - weight[here, None] * mean_ms
    chance = normal(-slack_ms / np.maximum(weight[here, None] * off_ms, 1e-9))
    spots = []
    for row in np.flatnonzero((chance >= params.level).any(axis=1)).tolist():
        look = int((chance[row] >= params.level).argmax())
        flow = int(here[row])
        in_s = (look + 1) * params.look_s + float(outlook.bounds_ms[flow]) / 1e3
        sure, left_ms = float(chance[row, look]), float(slack_ms[row, look])
        spots.append(HotSpot(outlook.flows[flow], outlook.hosts[host], in_s, sure, left_ms))
    return spots


def near_leavers(
    outlook: Outlook, host: int, factors: Array, spot: HotSpot, stay: Collection[str] = ()
) -> tuple[str, ...]:
    """Who should leave because of it. It takes a thousand times as long as to see it: ask when it is to be told."""
    alone = _alone(outlook, host)
    ahead = foresee(alone, factors[:, None, None], _AHEAD_S)
    return tuple(movers(alone, ahead, replace(spot, in_s=float(_AHEAD_S[0])), stay))


def _waits_ahead(
    outlook: Outlook, waits_ms: Sequence[float], factors: Array, params: NearParams
) -> tuple[Array, Array]:
    """At an outlook's one host: mean waits of the seconds that end at each of the next looks, and their deviations."""
    look_ms, looks = params.look_s * 1e3, params.looks
    _, sums = outlook.sums(factors[:, None])
    load = sums[RHO, 0]
    drift, variance = load - 1.0, variances(sums[:, 0], load)
    steps = np.arange(1, params.ahead + 1)
    now_ms = np.full(1, waits_ms[-1])
    coming = np.array([filled_ms(now_ms, drift, variance, step * look_ms)[0] for step in steps.tolist()])
    known = np.array(waits_ms)[-looks:]
    # A queue that is younger than a second was empty before.
    past = np.array([known[len(known) - min(len(known), looks - step) :].sum() for step in steps.tolist()])
    mean_ms = (past + np.cumsum(coming)) / looks
    # Sums of a random walk, and of a slope that is known from what came lately.
    walk = variance * look_ms * steps * (steps + 1) * (2 * steps + 1) / 6.0
    slope = variance / (params.lately_s * 1e3) * np.square(look_ms * steps * (steps + 1) / 2.0)
    return mean_ms, np.sqrt(walk + slope) / looks


def _alone(outlook: Outlook, host: int) -> Outlook:
    """No other host is known to it; what its flows take there is in what they take beside waiting."""
    stops, here = outlook.stops, outlook.stops.host == host
    names = Stops.__dataclass_fields__
    return replace(outlook, stops=Stops(*(getattr(stops, name)[here] for name in names)))
