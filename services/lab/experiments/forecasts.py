"""Forecasts of real series against what anybody would try first (Synergy 3.3.3, and DESIGN section 6).

WAPE is the sum of absolute errors over the sum of values. The first steps of a series are not judged: there is nothing
to learn from yet. Of a long series the newest part is taken. A series that a naive rule tells exactly, such as a
constant, has no ratio to that; such series are counted apart, with the largest error that forecasts of them had.

The modelling service remembers less than these forecasts may, and looks further ahead. Its parameters have rows of
their own, over the newest steps only: it takes a third of the time of the others.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from placement.forecast import EXPERTS, NAIVE, Forecaster, ForecastParams
from placement.forecast.rolling import next_rates, rolling_rates
from services.lab.data import data_file
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.samples import Sample, Statistic
from services.lab.series import Series, event_times_s, own_series, read_folder
from services.lab.targets import AtMost
from services.modelling.params import FitParams

POINTS_MAX = 20_000
SERVICE_POINTS_MAX = 5_000
WARM_UP = 100
TUPLES = 100
"""The rate at a tuple is that of the last so many tuples."""
TUPLE_KINDS = ("code", "conv")
"""Traces of single requests."""


@dataclass(frozen=True, slots=True)
class Score:
    """WAPE of what is told and of every expert, for one series and horizon; NaN for one of zeros only."""

    ours: float
    experts: dict[str, float]

    @property
    def best_naive(self) -> float:
        return min(self.experts[name] for name in NAIVE)

    @property
    def is_even(self) -> bool:
        """Whether a naive rule tells it exactly."""
        return not self.best_naive > 0


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
    with np.errstate(invalid="ignore", divide="ignore"):
        wape = wrong / total[:, None, :]
    return [
        [
            Score(float(each[-1, column]), dict(zip(EXPERTS, map(float, each[:-1, column]), strict=True)))
            for each in wape
        ]
        for column in range(len(series))
    ]


def _forecasts(trial: Trial) -> list[Sample]:
    series = own_series() if trial.traces is None else read_folder(trial.traces)
    samples = _whole(series, ForecastParams(), POINTS_MAX) + as_served(series)
    return samples + ([] if trial.traces else _per_tuple())


def as_served(series: Mapping[str, Series]) -> list[Sample]:
    """The same with what the modelling service runs with: the median series and the worst, for each horizon."""
    found = _whole(series, FitParams().forecast, SERVICE_POINTS_MAX)
    told = [sample for sample in found if any(word in sample.measure for word in (" median ", " worst ", "exactly"))]
    return [replace(sample, measure=f"{sample.measure}, as the service runs") for sample in told]


def _whole(series: Mapping[str, Series], params: ForecastParams, points_max: int) -> list[Sample]:
    found = score([values[-points_max:] for values in series.values()], params)
    samples = []
    for place, horizon in enumerate(params.horizons):
        ahead = f"{horizon} step{'s' if horizon > 1 else ''} ahead"
        at = {name: each[place] for name, each in zip(series, found, strict=True)}
        even = [each.ours for each in at.values() if each.is_even]
        if even:
            worst = float(np.nan_to_num(even).max())
            samples += [
                Sample(f"series told exactly {ahead}, by a naive rule", len(even), "series"),
                Sample(f"WAPE {ahead}, worst of those", worst, "share"),
            ]
        samples += _beside_naive(ahead, {name: each for name, each in at.items() if not each.is_even})
    return samples


def _beside_naive(ahead: str, at: Mapping[str, Score]) -> list[Sample]:
    """Ratios to naive rules, all of which miss."""
    if not at:
        return []
    ours = median(each.ours for each in at.values())
    last = median(each.experts["last"] for each in at.values())
    samples = [
        Sample(f"WAPE {ahead}, median series", ours, "share"),
        Sample(f"WAPE {ahead}, median series, last value", last, "share"),
        Sample(f"WAPE {ahead}, median over median", ours / last, "ratio", "last value"),
    ]
    for name, each in at.items():
        over_last, over = each.ours / each.experts["last"], each.ours / each.best_naive
        samples += [
            Sample(f"WAPE {ahead}, median of ratios", over_last, "ratio", "last value", Statistic.MEDIAN),
            Sample(f"WAPE {ahead}, worst series, over it", over, "ratio", "best naive", Statistic.MAX),
            Sample(f"WAPE {ahead}, {name}", each.ours, "share"),
            Sample(f"WAPE {ahead}, {name}, over it", over, "ratio", "best naive"),
        ]
    return samples


def _per_tuple() -> list[Sample]:
    """The rate at every single tuple, one tuple ahead, as the paper measures."""
    samples = []
    for kind in TUPLE_KINDS:
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


def _targets(ahead: str, over_last: float) -> list[AtMost]:
    return [
        AtMost(f"WAPE {ahead}, median over median", over_last),
        AtMost(f"WAPE {ahead}, median of ratios", over_last),
        AtMost(f"WAPE {ahead}, worst series, over it", 1.05),
        AtMost(f"WAPE {ahead}, worst series, over it, as the service runs", 1.05),
    ]


FORECASTS = Experiment(
    name="models/forecast",
    question="How far off are forecasts of real rates, one and ten steps ahead, beside simple rules?",
    paper="rates predicted with 3.7 % error, tuple by tuple (Synergy 3.5)",
    trial=_forecasts,
    seeds=1,
    targets=(
        *_targets("1 step ahead", 0.90),
        *_targets("10 steps ahead", 0.75),
        *(
            AtMost(f"WAPE per tuple, azure {kind}{over}", bound)
            for kind in TUPLE_KINDS
            for over, bound in (("", 0.035), (", over it", 1.0))
        ),
    ),
    reading=(
        f"Rows without a further word are of forecasts that remember {ForecastParams().memory:,} steps. The modelling"
        f" service remembers {FitParams().forecast.memory};"
        " rows that end in 'as the service runs' are of its parameters, over the newest 5,000 steps of each series."
        " The median trace is read in two ways, the median error over the last value's and the median of such ratios;"
        " both have to reach the target"
    ),
    takes_topology=False,
    takes_traces=True,
)
