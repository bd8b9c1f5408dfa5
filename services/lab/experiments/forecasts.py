"""Forecasts of real series against what anybody would try first (Synergy 3.3.3, and DESIGN section 6).

WAPE is the sum of absolute errors over the sum of values. The first steps of a series are not judged: there is nothing
to learn from yet. Of a long series the newest part is taken.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from placement.forecast import EXPERTS, NAIVE, Forecaster, ForecastParams
from placement.forecast.rolling import next_rates, rolling_rates
from services.lab.data import data_file
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.samples import Sample, Statistic
from services.lab.series import Series, event_times_s, own_series, read_folder

POINTS_MAX = 20_000
WARM_UP = 100
TUPLES = 100
"""The rate at a tuple is that of the last so many tuples."""


@dataclass(frozen=True, slots=True)
class Score:
    """WAPE of the mixture and of every expert, for one series and horizon."""

    ours: float
    experts: dict[str, float]

    @property
    def best_naive(self) -> float:
        return min(self.experts[name] for name in NAIVE)


def score(series: Sequence[Series], params: ForecastParams) -> list[list[Score]]:
    """For each series one score a horizon. All run side by side, as they do live; a shorter one ends earlier."""
    steps = max(map(len, series))
    padded = np.full((steps, len(series)), np.nan)
    for column, values in enumerate(series):
        padded[: len(values), column] = values
    forecaster = Forecaster(len(series), params)
    waiting: list[deque[NDArray[np.float64]]] = [deque(maxlen=each) for each in params.horizons]
    wrong = np.zeros((len(params.horizons), len(EXPERTS) + 1, len(series)))
    total = np.zeros((len(params.horizons), len(series)))
    for step, values in enumerate(padded):
        for place, horizon in enumerate(params.horizons):
            if step >= WARM_UP and len(waiting[place]) == horizon:
                wrong[place] += np.nan_to_num(np.abs(waiting[place][0] - values))
                total[place] += np.nan_to_num(values)
        forecaster.step(values)
        for place, voices in enumerate(forecaster.voices()):
            waiting[place].append(voices)
    wape = wrong / np.maximum(total, 1e-12)[:, None, :]
    return [
        [
            Score(float(each[-1, column]), dict(zip(EXPERTS, map(float, each[:-1, column]), strict=True)))
            for each in wape
        ]
        for column in range(len(series))
    ]


def _forecasts(trial: Trial) -> list[Sample]:
    series = own_series() if trial.traces is None else read_folder(trial.traces)
    params = ForecastParams()
    found = score([values[-POINTS_MAX:] for values in series.values()], params)
    scores = dict(zip(series, found, strict=True))
    samples = []
    for place, horizon in enumerate(params.horizons):
        ahead = f"{horizon} step{'s' if horizon > 1 else ''} ahead"
        at = {name: each[place] for name, each in scores.items()}
        ours = median(each.ours for each in at.values())
        last = median(each.experts["last"] for each in at.values())
        samples += [
            Sample(f"WAPE {ahead}, median series", ours, "share"),
            Sample(f"WAPE {ahead}, median series, last value", last, "share"),
            Sample(f"WAPE {ahead}, median over median", ours / last, "ratio", "last value"),
        ]
        for name, each in at.items():
            over = each.ours / each.best_naive if each.best_naive else 1.0
            samples.append(
                Sample(
                    f"WAPE {ahead}, median of ratios",
                    each.ours / max(each.experts["last"], 1e-12),
                    "ratio",
                    "last value",
                    Statistic.MEDIAN,
                )
            )
            samples.append(Sample(f"WAPE {ahead}, worst series, over it", over, "ratio", "best naive", Statistic.MAX))
            samples.append(Sample(f"WAPE {ahead}, {name}", each.ours, "share"))
            samples.append(Sample(f"WAPE {ahead}, {name}, over it", over, "ratio", "best naive"))
    return samples + ([] if trial.traces else _per_tuple())


def _per_tuple() -> list[Sample]:
    """The rate at every single tuple, one tuple ahead, as the paper measures."""
    samples = []
    for kind in ("code", "conv"):
        times_s = event_times_s(data_file("traces", f"AzureLLMInferenceTrace_{kind}.csv.gz"), column=0)
        rates = rolling_rates(times_s, TUPLES)
        now = rates[WARM_UP + 1 :]
        ours = np.abs(next_rates(times_s, TUPLES)[WARM_UP:-1] - now).sum() / now.sum()
        last = np.abs(rates[WARM_UP:-1] - now).sum() / now.sum()
        samples += [
            Sample(f"WAPE per tuple, azure {kind}", ours, "share"),
            Sample(f"WAPE per tuple, azure {kind}, over it", ours / last, "ratio", "last value"),
        ]
    return samples


FORECASTS = Experiment(
    name="models/forecast",
    question="How far off are forecasts of real rates, one and ten steps ahead, beside simple rules?",
    paper="rates predicted with 3.7 % error, tuple by tuple (Synergy 3.5)",
    trial=_forecasts,
    seeds=1,
    takes_topology=False,
    takes_traces=True,
)
