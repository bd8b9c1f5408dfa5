"""Whom a host's ants may walk to, by the overlay rule of DESIGN section 5, and the map that they dream with. Pure."""

from collections.abc import Callable, Collection, Mapping

import numpy as np

from placement.atlas import Atlas
from placement.model import Host, sparse_neighbours
from services.host.cell.delays import Delays


def atlas_of(capacities: Mapping[str, float], delays: Delays) -> Atlas:
    """What every host may know of all that live. `capacities`: of these."""
    names = tuple(sorted(capacities))
    speeds = np.array([capacities[name] for name in names])
    return Atlas(names, speeds, np.array([[delays.way_ms(a, b) for b in names] for a in names]))


def neighbours_of(
    host: str,
    regions: Mapping[str, str],
    delay_ms: Callable[[str, str], float],
    *,
    unreachable: Collection[str] = (),
) -> dict[str, float]:
    """The neighbours of a host and the delay to each. `regions`: of all live hosts, itself among them.

    Every host computes this by itself, from what all of them have published: two may disagree for a moment.
    """
    names = sorted(name for name in regions if name == host or name not in unreachable)
    hosts = tuple(Host(name, region=regions[name]) for name in names)
    delays = np.array([[delay_ms(a, b) for b in names] for a in names])
    place = names.index(host)
    return {names[other]: float(delays[place, other]) for other in sparse_neighbours(hosts, delays)[place]}
