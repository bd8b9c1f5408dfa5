"""Run an experiment over seeds, on several processors, and gather its samples in order of seed."""

import gc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import as_completed
from contextlib import contextmanager

from placement.strategies import NoFeasibleHost
from placement.strategies.protocol import StoppedWithoutProof
from services.lab.experiments import EXPERIMENTS, Trial
from services.lab.matrices import TopologyError
from services.lab.pools import processors
from services.lab.samples import Sample

_COLLECT_EVERY = 50_000
"""Objects that come to life between two searches for cycles; Python's own is 700."""


def run_trial(name: str, trial: Trial) -> list[Sample]:
    """One seed of one experiment; by name, because this runs in another process."""
    experiment = EXPERIMENTS[name]
    try:
        if experiment.timed:
            return experiment.trial(trial)
        with _rarely_collected():
            return experiment.trial(trial)
    except NoFeasibleHost as error:
        if trial.topology is None:
            raise  # our own networks have room
        if isinstance(error, StoppedWithoutProof):
            raise TopologyError(f"{trial.topology.name}: {error}; give one with fewer hosts") from error
        what = str(error).partition("; ")[0]
        raise TopologyError(
            f"{trial.topology.name}: this network is too small for the workload of {name} ({what}); "
            "give one with more hosts, or choose an experiment with less work, ants/real say"
        ) from error


@contextmanager
def _rarely_collected() -> Iterator[None]:
    """Let Python look for cycles of garbage less often: ants hold none, and a whole simulated body dies as one."""
    usual = gc.get_threshold()
    gc.set_threshold(_COLLECT_EVERY, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


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
        with processors(jobs) as pool:
            waiting = {pool.submit(run_trial, name, trial): trial.seed for trial in trials}
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                progress(waiting[done])
    return [sample for seed in sorted(found) for sample in found[seed]]
