"""Synergy's chapter 3, alleviation: figures 3.21 to 3.25, ours beside the paper's.

The world is that of `models/hotspots`: real bursts, real queues, ants. Load is the number of applications; the paper
gives each of 34 nodes one to ten of them, we place two to ten in all on a small network that they fill likewise.
"""

from random import Random

from placement.fits.arrays import Array
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.hot_spot_worlds import SECONDS, Seen, live, stage_of
from services.lab.samples import Sample

LOADS = (2, 6, 10)
WORLDS = {"never": "without", "foreseeing": "with hot-spot elimination"}
LEVELS = range(3, 8)
HIGHEST = 1.0
OVERLAP = 0.1
"""Share of a level that it has in common with the next one (3.4.3)."""


def _worlds(trial: Trial, flows: int) -> dict[str, Seen]:
    stage = stage_of(trial, flows)
    return {label: live(stage, how) for how, label in WORLDS.items()}


def _missed(seen: Seen) -> float:
    return float((seen.by_second() > 1.0).mean())


def _fig_21(trial: Trial) -> list[Sample]:
    samples = []
    for flows in LOADS:
        for label, seen in _worlds(trial, flows).items():
            missed = 100 * _missed(seen)
            samples.append(Sample("", missed, "%", seed=trial.seed, series=label, x=float(flows)))
            samples.append(Sample(f"miss rate, {flows} applications, {label}", missed, "%", seed=trial.seed))
    return samples


def _fig_22(trial: Trial) -> list[Sample]:
    samples = []
    for flows in LOADS:
        for label, seen in _worlds(trial, flows).items():
            stretch = seen.by_second()
            delay = float(stretch[stretch <= 1.0].mean())
            samples.append(Sample("", delay, "of the bound", seed=trial.seed, series=label, x=float(flows)))
            measure = f"delay of what keeps its bound, {flows} applications, {label}"
            samples.append(Sample(measure, delay, "of the bound", seed=trial.seed))
    return samples


def _fig_23(trial: Trial) -> list[Sample]:
    """The application that misses most without moves."""
    worlds = _worlds(trial, LOADS[-1])
    worst = int((worlds["without"].by_second() > 1.0).sum(axis=0).argmax())
    samples = []
    for label, seen in worlds.items():
        line = seen.by_second()[:, worst]
        samples.append(
            Sample(
                f"seconds beyond the bound, worst application, {label}", float((line > 1).sum()), "s", seed=trial.seed
            )
        )
        samples += [
            Sample("", float(min(value, 5.0)), "of the bound", seed=trial.seed, series=label, x=float(second))
            for second, value in enumerate(line)
        ]
    return samples


def _fig_24(trial: Trial) -> list[Sample]:
    samples = []
    for flows in LOADS:
        seen = live(stage_of(trial, flows), "foreseeing")
        samples.append(Sample("", float(seen.moves), "moves", seed=trial.seed, series="moves", x=float(flows)))
        samples.append(Sample("moves for one application", seen.moves / flows, "moves", seed=trial.seed))
    return [*samples, Sample("moves for one application, the paper", 1 / 3, "moves", seed=trial.seed)]


def updates(loads: Array, levels: int) -> int:
    """How often a host tells its load (3.4.3): when it has left its level, beyond where that overlaps the next one."""
    width = HIGHEST / (levels - 1)
    told, level = 0, -1.0
    for load in loads.tolist():
        low, high = (level - OVERLAP) * width, (level + 1 + OVERLAP) * width
        if level < 0 or not low <= load < high:
            now = float(min(int(load / width), levels - 1))
            told += now != level
            level = now
    return told


def _fig_25(trial: Trial) -> list[Sample]:
    """Loads of six hosts, each fed by one replayed trace."""
    rates = stage_of(trial, 6).rates[:, -SECONDS:]
    rng = Random(f"{trial.seed}/levels")
    samples = []
    for levels in LEVELS:
        told = sum(updates(0.4 * rates[host] * rng.uniform(0.95, 1.05), levels) for host in range(len(rates)))
        samples.append(Sample("", float(told), "messages", seed=trial.seed, series="updates", x=float(levels)))
        samples.append(Sample(f"load updates, {levels} levels", float(told), "messages", seed=trial.seed))
    return [
        *samples,
        Sample("load updates, 3 levels, the paper", 249.0, "messages", seed=trial.seed),
        Sample("load updates, 7 levels, the paper", 277.0, "messages", seed=trial.seed),
    ]


ALLEVIATION = (
    Experiment(
        name="synergy/ch3-fig-21",
        question="How many deadlines are missed as load grows, with and without moving away from hot spots?",
        paper="rises drastically with load when hot spots are not handled; elimination controls it (curves)",
        trial=_fig_21,
        seeds=3,
        takes_traces=True,
        x_label="applications",
        y_label="miss rate (%)",
    ),
    Experiment(
        name="synergy/ch3-fig-22",
        question="How long do results take that meet their deadline, with and without moving away from hot spots?",
        paper="a lower mean delay with elimination, although more is delivered (curves)",
        trial=_fig_22,
        seeds=3,
        takes_traces=True,
        x_label="applications",
        y_label="delay (of the bound)",
    ),
    Experiment(
        name="synergy/ch3-fig-23",
        question="What does a move do for one application in a hot spot?",
        paper="a hot spot at tuple 500, eliminated at about tuple 1,200",
        trial=_fig_23,
        seeds=1,
        takes_traces=True,
        x_label="time (s)",
        y_label="delay (of the bound)",
    ),
    Experiment(
        name="synergy/ch3-fig-24",
        question="How many moves does it take?",
        paper="linear in the number of applications: one for every three; 1,144 ms for a move",
        trial=_fig_24,
        seeds=3,
        takes_traces=True,
        x_label="applications",
        y_label="moves",
    ),
    Experiment(
        name="synergy/ch3-fig-25",
        question="How many load updates does it take, for how many levels of load?",
        paper="249 for 3 levels to 277 for 7",
        trial=_fig_25,
        seeds=3,
        takes_traces=True,
        x_label="levels",
        y_label="messages",
    ),
)
