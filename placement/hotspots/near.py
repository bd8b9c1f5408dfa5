"""Hot spots that are near: what a host sees of its own queue, many times a second (in Synergy 3.3 each node predicts).

Models are of whole seconds, and come when these are over. A queue that fills is known to its host at once: with what
came lately it tells how long those will wait who come in half a second. They find their bound broken only when it has
passed, so that even so short a look leads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from placement.fits.arrays import Array
from placement.hotspots.foresight import Foresight, HotSpot, foresee, hot_spots
from placement.hotspots.outlook import Outlook, Stops
from placement.hotspots.relief import movers
from placement.model.errors import require

_AHEAD_S = np.array([1.0])
"""The mean of the second to come is that of its middle."""
_CERTAIN = 0.5
"""There is one course only, so that a chance is 0 or 1."""


@dataclass(frozen=True, slots=True)
class NearParams:
    """How a host looks at its queue."""

    look_s: float = 0.1
    lately_s: float = 0.5
    """What came in this time goes on."""
    stands_s: float = 3.0
    """A warning is taken back when nothing was near for so long."""

    def __post_init__(self) -> None:
        require(
            0 < self.look_s <= self.lately_s, f"look_s is {self.look_s}; give more than 0, and at most {self.lately_s}"
        )
        require(self.stands_s >= self.look_s, f"stands_s is {self.stands_s}; give {self.look_s} or more")


@dataclass(frozen=True, slots=True)
class NearSpot:
    """A hot spot, and the flows that should leave because of it."""

    spot: HotSpot
    leaving: tuple[str, ...]


def near_spots(outlook: Outlook, factors: Array, hosts: Sequence[int]) -> list[NearSpot]:
    """What these hosts see coming, each for itself, if flows go on at these multiples of the outlook's rates."""
    found: list[NearSpot] = []
    # With the waits of all its hosts a flow takes no less than with those of one: who keeps its bound so does anyway.
    hot = np.flatnonzero(near(outlook, factors).chance[:, 0] >= _CERTAIN)
    touched = set(outlook.stops.host[np.isin(outlook.stops.flow, hot)].tolist())
    for host in sorted(touched.intersection(hosts)):
        own = _alone(outlook, host)
        ahead = near(own, factors)
        spots = [spot for spot in hot_spots(own, ahead, _CERTAIN) if spot.host == outlook.hosts[host]]
        if spots:
            leaving = tuple(movers(own, ahead, spots[0]))
            found += [NearSpot(spot, leaving) for spot in spots]
    return found


def near(outlook: Outlook, factors: Array) -> Foresight:
    """The second to come."""
    return foresee(outlook, factors[:, None, None], _AHEAD_S)


def _alone(outlook: Outlook, host: int) -> Outlook:
    """No other host is known to it; what its flows take there is in what they take beside waiting."""
    stops, here = outlook.stops, outlook.stops.host == host
    names = Stops.__dataclass_fields__
    return replace(outlook, stops=Stops(*(getattr(stops, name)[here] for name in names)))
