"""The live half of `models/hotspots`: real bursts on a real stack, with the forecasts that the service publishes.

Two lives with the same records, one after the other: one whose leaders hear that a bound is broken, one whose leaders
hear what is foreseen, too (`services/lab/hotspots`).
"""

from services.lab.experiments.experiment import Experiment, Trial
from services.lab.hotspots.bursts import drawn
from services.lab.hotspots.judged import BROKEN, HOLDS_S, TWICE_THE_PAUSE, samples_of
from services.lab.hotspots.life import FLOWS, LEARNING_S, SECONDS, Life, live
from services.lab.samples import Sample
from services.lab.series import own_series, read_folder
from services.lab.targets import AtLeast, AtMost, InOrder
from services.settings import load_settings


def _hot_spots_live(trial: Trial) -> list[Sample]:
    series = own_series() if trial.traces is None else read_folder(trial.traces)
    bursts = drawn(series, FLOWS, LEARNING_S + SECONDS, seed=trial.seed)
    lives: dict[str, Life] = {}
    service_ms: float | None = None
    for how in ("reacting", "foreseeing"):
        lives[how] = live(how, bursts, load_settings().settings, service=service_ms, say=trial.say)
        service_ms = lives[how].service_ms
    return samples_of(lives, trial.seed)


HOT_SPOTS_LIVE = Experiment(
    name="models/hotspots-live",
    question="The same live: are hot spots foreseen on a real stack, and what does it save to act before they come?",
    paper="misses far fewer deadlines with prediction and migration, under load (Synergy figure 3.21); no recall told",
    trial=_hot_spots_live,
    timed=True,
    seeds=3,
    takes_topology=False,
    takes_traces=True,
    targets=(
        AtLeast(f"recall, within {HOLDS_S} s", 0.9),
        AtLeast(f"precision, within {HOLDS_S} s", 0.8),
        InOrder((TWICE_THE_PAUSE, f"lead time, median, within {HOLDS_S} s"), rising=True),
        AtMost(f"{BROKEN}, foreseeing", 0.5, "reacting"),
    ),
    reading=(
        "A lead is from the second in which a reader had the warning to that in which records were sent which then took"
        " longer than the bound on average. Both lives hear at once of a bound that is broken. Hosts are played ten"
        " times slower than the machine is; how busy that was is in the rows: near 1, latency is mostly the wait for a"
        " processor"
    ),
    x_label="time (s)",
    y_label="flows beyond their bounds",
)
