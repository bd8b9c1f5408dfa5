"""All parts by name, in the order in which they run, each on a cluster of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from services.embedded.errors import StackError
from services.embedded.world_file import load_world
from services.lab.cluster.death import death
from services.lab.cluster.herd import herd
from services.lab.cluster.site import flat, standing
from services.lab.cluster.submit import submit
from services.lab.cluster.traffic import metered, traffic
from services.lab.dataplane.ground import BenchError, Say
from services.lab.placements.measures import WORLD_FILE
from services.lab.results import Row
from services.registry.errors import RegistryError
from services.settings import Settings


@dataclass(frozen=True, slots=True)
class Params:
    """How much is measured. `only`: names of parts, all if it is empty.

    `submit` and `death` run on `hosts` hosts in one region, `herd` and `traffic` in the world of a file.
    """

    only: tuple[str, ...] = ()
    world_file: Path = WORLD_FILE
    hosts: int = 6
    submits: int = 20
    deaths: int = 10
    keys: int = 5_000
    herd_flows: int = 100
    flows: int = 10
    rate_per_s: float = 10_000.0
    seconds: float = 120.0
    seed: int = 1

    def __post_init__(self) -> None:
        assert set(self.only) <= set(PARTS), self
        assert min(self.submits, self.deaths, self.keys, self.herd_flows, self.flows) > 0, self
        assert self.hosts > 1, "what a host ran has to go somewhere"
        assert min(self.rate_per_s, self.seconds) > 0, self

    @property
    def chosen(self) -> tuple[str, ...]:
        """The parts to run, in their order."""
        return tuple(name for name in PARTS if not self.only or name in self.only)


DEATH_RATE_PER_S = 50
"""For each partition of each flow: enough that a gap shows, little enough that the machine is not what is measured."""


def _submit(params: Params, settings: Settings, say: Say, warn: Say) -> list[Row]:
    with standing(flat(params.hosts), settings, say=say, warn=warn) as site:
        return submit(site, repetitions=params.submits)


def _death(params: Params, settings: Settings, say: Say, warn: Say) -> list[Row]:
    with standing(flat(params.hosts), settings, say=say, warn=warn) as site:
        return death(site, repetitions=params.deaths, keys=params.keys, rate_per_s=DEATH_RATE_PER_S)


def _herd(params: Params, settings: Settings, say: Say, warn: Say) -> list[Row]:
    with standing(load_world(params.world_file), settings, say=say, warn=warn) as site:
        return herd(site, flows=params.herd_flows, seed=params.seed)


def _traffic(params: Params, settings: Settings, say: Say, warn: Say) -> list[Row]:
    with standing(load_world(params.world_file), settings, say=say, warn=warn, alter=metered) as site:
        return traffic(site, flows=params.flows, rate_per_s=params.rate_per_s, seconds=params.seconds, seed=params.seed)


PARTS: dict[str, Callable[[Params, Settings, Say, Say], list[Row]]] = {
    "submit": _submit,
    "death": _death,
    "herd": _herd,
    "traffic": _traffic,
}


def measure(params: Params, settings: Settings, *, say: Say, warn: Say) -> list[Row]:
    """One part after the other. A part that fails is left out, and said so."""
    found: list[Row] = []
    for name in params.chosen:
        try:
            found += PARTS[name](params, settings, say, warn)
        except (BenchError, RegistryError, StackError) as fault:
            warn(f"{name} is left out: {fault}")
    return found
