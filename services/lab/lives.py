"""Random lives of small systems, one a seed, on several processors: what `stigmergy simulate life` runs."""

from collections.abc import Generator, Iterable
from concurrent.futures import as_completed
from dataclasses import dataclass

from placement.simulator.body import Observer
from placement.simulator.invariants import BrokenInvariantError
from placement.simulator.scenario import Outcome, live
from placement.simulator.scenarios import scenario_of
from services.lab.chance import seeded
from services.lab.pools import processors


@dataclass(frozen=True, slots=True)
class Life:
    """How the life of one seed went: an outcome, or what was broken."""

    seed: int
    outcome: Outcome | None
    broken: str = ""


def live_once(seed: int, scenario: str, observer: Observer | None = None) -> Life:
    """The life of one seed, checked after every event."""
    try:
        return Life(seed, live(scenario_of(scenario, seed), seeded(seed), observer=observer))
    except BrokenInvariantError as error:
        return Life(seed, None, str(error))


def lives(
    seeds: Iterable[int], *, scenario: str = "usual", jobs: int = 1, observer: Observer | None = None
) -> Generator[Life, None, None]:
    """The lives of many seeds as they end. An observer sees them one after the other, so it needs one processor."""
    if jobs == 1 or observer is not None:
        yield from (live_once(seed, scenario, observer) for seed in seeds)
        return
    with processors(jobs) as pool:
        for done in as_completed([pool.submit(live_once, seed, scenario) for seed in seeds]):
            yield done.result()
