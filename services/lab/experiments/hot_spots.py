"""Hot spots foreseen and avoided, against reacting to them: real bursts replayed in the simulator (Synergy 3.3 to 3.5).

Three worlds see the same rates (`hot_spot_worlds`): one that never moves, which says what warnings were right; one
whose leaders hear of a bound when it is broken; one whose leaders hear before.

Warnings are counted as `placement.hotspots.verdicts` does: those of hosts and of models together, and each kind alone.
They are also counted apart for flows that meet no trace in real time on any of their hosts: requests in real time come
at twice to ten times their rate from one second to the next, which nothing before tells.

The live half is `hot_spots_live`.
"""

import numpy as np

from placement.fits.arrays import Flags
from placement.hotspots import Alarm, AlarmParams, VerdictParams, Verdicts
from placement.moves import PauseModel
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.hot_spot_worlds import COURSES, DELAY_S, FLOWS, STEPS, Seen, live, stage_of
from services.lab.samples import Sample, Statistic
from services.lab.targets import AtLeast, AtMost, InOrder

HOLDS_S = COURSES.steps[-1]
"""How long a warning may hold."""
GAP_S = 3
"""Breaks not further apart than this are one."""
TWICE_THE_PAUSE = "twice the pause predicted for a move"
WITHIN = f"within {HOLDS_S} s"


def _hot_spots(trial: Trial) -> list[Sample]:
    stage = stage_of(trial, FLOWS)
    worlds = {how: live(stage, how) for how in ("never", "reacting", "foreseeing")}
    still = worlds["never"]
    sudden, every = still.shares, np.ones(FLOWS, dtype=bool)
    assert sudden is not None
    near, far = _near(still), _far(still)
    warnings = [
        sample
        for kind, warned, which in (
            ("", near | far, every),
            (", hosts alone", near, every),
            (", models alone", far, every),
            (", no host in real time", near | far, ~sudden),
            (", hosts in real time", near | far, sudden),
        )
        for sample in warning_samples(kind, warned[:, which], np.array(still.broken)[:, which], trial.seed)
    ]
    return [*warnings, pause_sample(trial.seed), *_violation_samples(worlds, trial.seed)]


def _near(seen: Seen) -> Flags:
    """[step, flow]: what hosts warn of, when it is heard: a step after they saw it."""
    found = np.array(seen.near)
    return np.concatenate([np.zeros_like(found[:1]), found[:-1]])


def _far(seen: Seen) -> Flags:
    """[step, flow]: what models warn of, as far as their own verdicts let them, from the end of each second on."""
    chance = np.array(seen.chance)[:, :, COURSES.steps.index(HOLDS_S)]
    broken = np.asarray(np.array(seen.broken).reshape(len(chance), STEPS, -1).any(axis=1))
    alarm, verdicts = Alarm(AlarmParams()), Verdicts(1, chance.shape[1], VerdictParams(holds_s=HOLDS_S, gap_s=GAP_S))
    warned = []
    for second, (chances, breaks) in enumerate(zip(chance, broken, strict=True)):
        foreseen = chances >= alarm.level
        warned.append(foreseen & alarm.speaks)
        verdicts.step(second, foreseen[None], breaks)
        alarm.learn(verdicts)
    by_step = np.repeat(np.array(warned), STEPS, axis=0)
    return np.concatenate([np.zeros((STEPS - 1, chance.shape[1]), dtype=bool), by_step])[: len(by_step)]


def warning_samples(kind: str, warned: Flags, broken: Flags, seed: int) -> list[Sample]:
    """Recall, precision and lead of warnings in a world where nobody acts on them."""
    verdicts = Verdicts(1, warned.shape[1], VerdictParams(holds_s=HOLDS_S * STEPS, gap_s=GAP_S * STEPS))
    for step, (warns, breaks) in enumerate(zip(warned, broken, strict=True)):
        verdicts.step(step, warns[None], breaks)
    hits, missed, false = (float(each[0]) for each in (verdicts.hits, verdicts.misses, verdicts.false))
    leads = [
        Sample(f"lead time, median, {WITHIN}{kind}", lead / STEPS, "s", None, Statistic.MEDIAN, seed)
        for lead in verdicts.leads_s[0]
    ]
    return [
        Sample(f"recall, {WITHIN}{kind}", hits, "share", None, Statistic.QUOTIENT, seed, of=hits + missed),
        Sample(f"precision, {WITHIN}{kind}", hits, "share", None, Statistic.QUOTIENT, seed, of=hits + false),
        *leads,
        Sample(f"hot spots{kind}", hits + missed, "episodes", None, Statistic.SUM, seed),
    ]


def pause_sample(seed: int) -> Sample:
    """What the lead of a warning is held against: a pause is predicted when none has been measured yet."""
    pause_ms = PauseModel().predict(None, None, None, unread_changes=0)
    return Sample(TWICE_THE_PAUSE, 2 * pause_ms / 1e3, "s", seed=seed)


def _violation_samples(worlds: dict[str, Seen], seed: int) -> list[Sample]:
    samples = []
    broken = {how: float((seen.by_second() > 1.0).sum()) for how, seen in worlds.items()}
    for how, seen in worlds.items():
        total = float(seen.by_second().size)
        label = f"flow-seconds beyond the bound, {how}{' moving' if how == 'never' else ''}"
        samples.append(Sample(label, broken[how], "share", None, Statistic.QUOTIENT, seed, of=total))
        if how != "never":
            samples.append(Sample(f"moves, {how}", float(seen.moves), "moves", seed=seed))
    samples.append(
        Sample(
            "flow-seconds beyond the bound, foreseeing",
            broken["foreseeing"],
            "ratio",
            "reacting",
            Statistic.QUOTIENT,
            seed,
            of=broken["reacting"],
        )
    )
    return samples


HOT_SPOTS = Experiment(
    name="models/hotspots",
    question="Are hot spots foreseen when real bursts come, and what does it save to act before the bound is broken?",
    paper="misses far fewer deadlines with prediction and migration, under load (Synergy figure 3.21); no recall told",
    trial=_hot_spots,
    seeds=5,
    takes_traces=True,
    targets=(
        AtLeast(f"recall, {WITHIN}", 0.9),
        AtLeast(f"precision, {WITHIN}", 0.8),
        InOrder((TWICE_THE_PAUSE, f"lead time, median, {WITHIN}"), rising=True),
        AtMost("flow-seconds beyond the bound, foreseeing", 0.5, "reacting"),
    ),
    reading=(
        f"What models see is {DELAY_S} s old, as it is live; hosts see their own queues at once, and are heard a tenth"
        " of a second later. A lead is from when a warning is heard to when the time of those has passed whose second"
        " took longer than the bound on average: then it is broken, and leaders that react hear of it at once"
        " ([decision 0338](decisions/0338-hosts-look-at-their-own-queues.md))"
    ),
)
