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
from services.lab.samples import Sample, Statistic

_COLLECT_EVERY = 50_000
"""Objects that come to life between two searches for cycles; Python's own is 700."""


LEFT_OUT = "seeds left out, no room"
STOPPED = "seeds left out, a search stopped before it found anything"


def run_trial(name: str, trial: Trial) -> list[Sample] | NoFeasibleHost:
    """One seed of one experiment, or why it can't be had; by name, because this runs in another process."""
    experiment = EXPERIMENTS[name]
    try:
        if experiment.timed:
            return experiment.trial(trial)
        with _rarely_collected():
            return experiment.trial(trial)
    except NoFeasibleHost as error:
        return error


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
    """All trials of an experiment; `progress` hears of each seed as it ends.

    A seed without room for the workload is counted in the first row, and refused only if there is no other.
    """
    waiting = {trial.seed: trial for trial in trials}
    found: dict[int, list[Sample] | NoFeasibleHost] = {}
    if jobs == 1:
        for trial in waiting.values():
            found[trial.seed] = run_trial(name, trial)
            progress(trial.seed)
    else:
        with processors(jobs) as pool:
            running = {pool.submit(run_trial, name, trial): seed for seed, trial in waiting.items()}
            for done in as_completed(running):
                found[running[done]] = done.result()
                progress(running[done])
    failed = {seed: each for seed, each in sorted(found.items()) if isinstance(each, NoFeasibleHost)}
    if failed and len(failed) == len(found):
        seed, error = next(iter(failed.items()))
        raise _refusal(name, waiting[seed], error) from error
    samples = [
        Sample(STOPPED if isinstance(error, StoppedWithoutProof) else LEFT_OUT, 1.0, "seeds", None, Statistic.SUM, seed)
        for seed, error in failed.items()
    ]
    for _, each in sorted(found.items()):
        samples += [] if isinstance(each, NoFeasibleHost) else each
    return samples


def _refusal(name: str, trial: Trial, error: NoFeasibleHost) -> Exception:
    """What to tell a user whose network no seed fits on."""
    if trial.topology is None:
        return error  # our own networks have room
    if isinstance(error, StoppedWithoutProof):
        return TopologyError(f"{trial.topology.name}: {error}; give one with fewer hosts")
    what = str(error).partition("; ")[0]
    return TopologyError(
        f"{trial.topology.name}: this network is too small for the workload of {name} ({what}); "
        "give one with more hosts, or choose an experiment with less work, ants/real say"
    )
