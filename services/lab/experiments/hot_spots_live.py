"""The live half of `models/hotspots`: real bursts on a real stack, with the forecasts that the service publishes.

Two lives with the same records and the same start, one after the other: one whose leaders hear that a bound is broken,
one whose leaders hear what is foreseen, too (`services/lab/hotspots`). Which one is first changes from seed to seed.
"""

from services.lab.experiments.experiment import Experiment, Trial
from services.lab.hotspots.bursts import drawn
from services.lab.hotspots.judged import BROKEN, HOLDS_S, TWICE_THE_PAUSE, samples_of
from services.lab.hotspots.life import FLOWS, LEARNING_S, SECONDS, live
from services.lab.samples import Sample
from services.lab.series import own_series, read_folder
from services.lab.targets import AtLeast, AtMost, InOrder
from services.settings import load_settings


def _hot_spots_live(trial: Trial) -> list[Sample]:
    series = own_series() if trial.traces is None else read_folder(trial.traces)
    bursts = drawn(series, FLOWS, LEARNING_S + SECONDS, seed=trial.seed)
    settings = load_settings().settings
    order = ("reacting", "foreseeing") if trial.seed % 2 else ("foreseeing", "reacting")
    lives = {how: live(how, bursts, settings, say=trial.say) for how in order}
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
        "A lead is from when a reader had the warning to when the time of those records had passed whose second took"
        " longer than the bound on average. Both lives hear within a second of a bound that is broken. Work is"
        " played by waiting, the rest is real; rows tell how busy the machine was: near 1, models come late"
        " ([decision 0334](decisions/0334-hot-spots-live.md))"
    ),
    x_label="time (s)",
    y_label="flows beyond their bounds",
)
