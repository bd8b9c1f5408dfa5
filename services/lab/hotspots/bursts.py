"""Bursts: how fast records come to each flow, second by second, and when each of them does. Pure, by seed.

Traces are replayed as in the simulated half (`replay`). A flow never comes faster than a host that has
nothing else to do carries: no place would help against that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

from placement.fits.arrays import Array
from services.lab.hotspots.flows import SERVICE_MS
from services.lab.replay import replayed
from services.lab.series import Series

MEAN_LOADS = (0.2, 0.4)
"""Shares of a host that a flow takes on average: each flow's is drawn from here."""
MOST_LOAD = 0.8
"""Of a host, by one flow."""


@dataclass(frozen=True, slots=True)
class Bursts:
    """`loads` [flow, second]: shares of a host that the records of each second take."""

    seed: int
    loads: Array

    @property
    def flows(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f"burst-{number}" for number in range(len(self.loads)))

    @property
    def per_s(self) -> Array:
        """[flow, second]: records."""
        return self.loads * 1e3 / SERVICE_MS

    def due_s(self) -> list[Array]:
        """Of each flow the moments at which records come, ascending.

        The same seed gives the same moments: all runs of a trial see the same records.
        """
        rng, found = np.random.default_rng(self.seed), []
        for per_s in self.per_s:
            counts = rng.poisson(per_s)
            found.append(np.sort(np.repeat(np.arange(len(per_s)), counts) + rng.random(int(counts.sum()))))
        return found


def drawn(series: Mapping[str, Series], flows: int, seconds: int, *, seed: int) -> Bursts:
    """Each flow follows a trace drawn by chance, from a moment drawn by chance."""
    rng = Random(f"{seed}/bursts")
    names, loads = sorted(series), []
    for _ in range(flows):
        name, load = rng.choice(names), rng.uniform(*MEAN_LOADS)
        loads.append(np.minimum(load * replayed(name, series[name], rng, seconds=seconds), MOST_LOAD))
    return Bursts(seed, np.array(loads))
