"""Random lives of small systems, one a seed, on several processors: what `stigmergy simulate life` runs, and keeps."""

from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass

from placement.simulator.body import Observer
from placement.simulator.invariants import BrokenInvariantError
from placement.simulator.scenario import Outcome, live
from placement.simulator.scenarios import scenario_of
from services.lab.chance import seeded
from services.lab.pools import processors
from services.lab.results import Row
from services.lab.samples import Sample, Statistic, rows
from services.lab.targets import AtLeast, AtMost, Target

TARGETS: tuple[Target, ...] = (AtMost("violations", 0), AtLeast("lives", 500))


@dataclass(frozen=True, slots=True)
class Life:
    """How the life of one seed went: an outcome, or what was broken."""

    seed: int
    outcome: Outcome | None
    broken: str = ""


def live_once(seed: int, scenario: str, observer: Observer | None = None) -> Life:
    """The life of one seed, checked as it goes on."""
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


def life_rows(found: Iterable[Life], scenario: str) -> list[Row]:
    """Sums over all lives, with the least and the most of one. A life ends at its first violation, and counts then
    as one life with one violation, and with nothing else: what happened in it before is not known any more."""
    samples = [sample for life in sorted(found, key=lambda life: life.seed) for sample in _samples(life, scenario)]
    return rows(samples)


def _samples(life: Life, scenario: str) -> Sequence[Sample]:
    told = [("violations", life.outcome is None, "violations"), ("lives", 1, "lives")]
    if life.outcome is not None:
        drawn, outcome = scenario_of(scenario, life.seed), life.outcome
        told += [
            ("faults of hosts and links", drawn.faults, "faults"),
            ("flows that run in the end", outcome.placed, "flows"),
            ("flows that found no place", outcome.unplaced, "flows"),
            ("moves and refused plans", outcome.moves, "plans"),
            ("control messages lost", outcome.lost_messages, "messages"),
            ("hops of control messages", outcome.control_hops, "hops"),
            ("events", outcome.events, "events"),
        ]
    return [
        Sample(measure, float(value), unit, statistic=Statistic.SUM, seed=life.seed) for measure, value, unit in told
    ]
