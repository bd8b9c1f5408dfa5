"""Run an experiment over seeds, on several processors, and gather its samples in order of seed."""

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed

from services.lab.experiments import EXPERIMENTS, Trial
from services.lab.samples import Sample


def run_trial(name: str, trial: Trial) -> list[Sample]:
    """One seed of one experiment; by name, because this runs in another process."""
    return EXPERIMENTS[name].trial(trial)


def run(
    name: str,
    trials: Iterable[Trial],
    *,
    jobs: int = 1,
    progress: Callable[[int], None] = lambda seed: None,
) -> list[Sample]:
    """All trials of an experiment; `progress` hears of each seed as it ends."""
    found: dict[int, list[Sample]] = {}
    if jobs == 1:
        for trial in trials:
            found[trial.seed] = run_trial(name, trial)
            progress(trial.seed)
    else:
        with ProcessPoolExecutor(max_workers=jobs) as pool:
            waiting = {pool.submit(run_trial, name, trial): trial.seed for trial in trials}
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                progress(waiting[done])
    return [sample for seed in sorted(found) for sample in found[seed]]
