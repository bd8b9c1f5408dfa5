"""Samples: what one seed of an experiment measured, and how samples of many seeds become rows.

Spread is a 95 % confidence interval over seeds for a mean, from the per-seed means; the smallest and largest
otherwise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean, median, stdev

import numpy as np
from scipy.special import stdtrit

from services.lab.results import Row


class Statistic(Enum):
    """How samples of one measure are summed up."""

    MEAN = "mean"
    MEDIAN = "median"
    P95 = "95th percentile"
    MAX = "largest"
    SUM = "sum"
    QUOTIENT = "quotient of sums"


@dataclass(frozen=True, slots=True)
class Sample:
    """One number. `series` and `x` place it in the experiment's plot."""

    measure: str
    value: float
    unit: str
    baseline: str | None = None
    statistic: Statistic = Statistic.MEAN
    seed: int = 0
    series: str = ""
    x: float | None = None
    of: float = 1.0
    """What a QUOTIENT is taken of: sum of values over sum of these."""


def ratio_samples(measure: str, value: float, *, seed: int, baseline: str) -> list[Sample]:
    """A ratio as mean and as 95th percentile."""
    return [
        Sample(f"{measure}, mean", value, "ratio", baseline, Statistic.MEAN, seed),
        Sample(f"{measure}, 95th percentile", value, "ratio", baseline, Statistic.P95, seed),
    ]


def rows(samples: Sequence[Sample]) -> list[Row]:
    """One row a measure, in the order in which measures first appear."""
    groups: dict[tuple[str, str | None], list[Sample]] = {}
    for sample in samples:
        if sample.measure:
            groups.setdefault((sample.measure, sample.baseline), []).append(sample)
    return [_row(group) for group in groups.values()]


def confidence(group: Sequence[Sample]) -> tuple[float, float]:
    """95 % confidence interval of the mean over seeds."""
    by_seed: dict[int, list[float]] = {}
    for sample in group:
        by_seed.setdefault(sample.seed, []).append(sample.value)
    means = [fmean(values) for values in by_seed.values()]
    if len(means) < 2 or not all(map(math.isfinite, means)):
        return (min(means), max(means))
    half = float(stdtrit(len(means) - 1, 0.975)) * stdev(means) / math.sqrt(len(means))  # Student's t: seeds are few
    return (fmean(means) - half, fmean(means) + half)


def _row(group: list[Sample]) -> Row:
    values = [sample.value for sample in group]
    statistic = group[0].statistic
    sums: dict[Statistic, Callable[[list[float]], float]] = {
        Statistic.MEAN: fmean,
        Statistic.MEDIAN: median,
        Statistic.P95: lambda found: float(np.percentile(found, 95)),
        Statistic.MAX: max,
        Statistic.SUM: math.fsum,
        Statistic.QUOTIENT: lambda found: math.fsum(found) / (math.fsum(sample.of for sample in group) or math.nan),
    }
    spread = confidence(group) if statistic is Statistic.MEAN else (min(values), max(values))
    if statistic is Statistic.QUOTIENT:
        single = [sample.value / sample.of for sample in group if sample.of]
        spread = (min(single, default=math.nan), max(single, default=math.nan))
    return Row(
        measure=group[0].measure,
        value=sums[statistic](values),
        unit=group[0].unit,
        baseline=group[0].baseline,
        spread=spread,
        repetitions=len(values),
    )
