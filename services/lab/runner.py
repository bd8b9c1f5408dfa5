"""Run an experiment over seeds, on several processors, and gather its samples in order of seed."""

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from services.lab.experiments import EXPERIMENTS, Trial
from services.lab.samples import Sample


def run_trial(name: str, seed: int, topology: Path | None) -> list[Sample]:
    """One seed of one experiment; by name, because this runs in another process."""
    return EXPERIMENTS[name].trial(Trial(seed, topology))


def run(
    name: str,
    seeds: Iterable[int],
    *,
    jobs: int = 1,
    topology: Path | None = None,
    progress: Callable[[int], None] = lambda seed: None,
) -> list[Sample]:
    """All seeds of an experiment; `progress` hears of each seed as it ends."""
    found: dict[int, list[Sample]] = {}
    if jobs == 1:
        for seed in seeds:
            found[seed] = run_trial(name, seed, topology)
            progress(seed)
    else:
        with ProcessPoolExecutor(max_workers=jobs) as pool:
            waiting = {pool.submit(run_trial, name, seed, topology): seed for seed in seeds}
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                progress(waiting[done])
    return [sample for seed in sorted(found) for sample in found[seed]]
