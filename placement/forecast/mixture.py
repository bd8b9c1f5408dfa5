"""Forecasts of many series at once: a mixture of simple experts, weighed by how wrong each has been lately.

Synergy 3.3.3 predicts a rate from the one before it and from an upstream operator's. No single rule suits all
streams: a steady one is best told by a mean, a walk by its last value, a daily rhythm by yesterday. So each expert
forecasts every horizon, is scored when the time has come, and speaks with weight error^-sharpness in a weighted
median (one wild voice moves a mean, not a median). The error of the mixture itself is scored the same way: it is what
a forecast says of its own trustworthiness.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.forecast.correlation import Guides, Indices, find_guides
from placement.forecast.experts import EXPERTS, FEATURES, FEW, REGRESSIONS, Followed, Sight, features_of, squeeze, tell
from placement.forecast.history import Array, History
from placement.forecast.params import ForecastParams
from placement.forecast.regression import Regressions
from placement.forecast.season import seasons

_NEAR = 0.05
"""Misses below this are all the same to a regression."""
_LOOKS_AT = (FEW, range(FEATURES), range(FEATURES))
"""Features of each regression."""
_NO_PAIRS: Indices = np.zeros((0, 2), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Forecast:
    """For each series and horizon: the value, and the mean absolute error of such forecasts lately (NaN: none yet).

    `trust`: how many forecasts the error is from, old ones counting less.
    """

    values: Array
    errors: Array
    trust: Array


class Forecaster:
    """`step` takes the next value of every series (NaN: unknown); `forecast` looks ahead from there."""

    def __init__(self, count: int, params: ForecastParams) -> None:
        self.params = params
        self.history = History(count, params.memory)
        self.followed = Followed(count)
        self.guides = Guides.none(count)
        self.season: Indices = np.zeros(count, dtype=np.int64)
        self._pairs = _NO_PAIRS
        horizons = len(params.horizons)
        self._errors = np.zeros((horizons, len(EXPERTS) + 1, count))
        """Discounted sums of absolute errors; the last row is the mixture's."""
        self._seen = np.zeros((horizons, count))
        """Discounted counts."""
        self._regressions = [
            [
                # Until it has learnt better, a regression tells the last value.
                Regressions(count, np.eye(len(looks_at))[1], forget=1.0 - 1.0 / steps, ridge=params.ridge)
                for steps, looks_at in zip(params.regression_steps, _LOOKS_AT, strict=True)
            ]
            for _ in params.horizons
        ]
        self._pending: list[deque[tuple[Array, Array]]] = [deque(maxlen=each) for each in params.horizons]
        """For each horizon the forecasts whose time has not come: experts and mixture, and the features they had."""

    @property
    def count(self) -> int:
        return self.history.count

    def step(self, values: Array) -> None:
        """The next value of every series; negative ones count as 0."""
        values = np.maximum(values, 0.0)
        known = np.isfinite(values)
        self._score(values, known)
        self.history.append(values)
        self.followed.follow(self.history.back(1), known)
        self._look_around()
        sight = Sight(self.history, self.followed, self.season, self.guides)
        for place, horizon in enumerate(self.params.horizons):
            features = features_of(sight, horizon)
            told, speaks = tell(sight, self._regress(place, features), horizon)
            mixed = self._mix(place, told, speaks)
            self._pending[place].append((np.vstack([told, mixed]), features))

    def forecast(self) -> Forecast:
        """From the last step on."""
        assert self.history.steps, "a forecaster needs a step before it can look ahead"
        values = np.array([voices[-1] for voices in self.voices()]).T
        with np.errstate(invalid="ignore"):
            errors = (self._errors[:, -1] / self._seen).T
        return Forecast(values, errors, self._seen.T.copy())

    def voices(self) -> list[Array]:
        """For each horizon what every expert says, and in the last row the mixture: to compare them with."""
        return [pending[-1][0] for pending in self._pending]

    def link(self, pairs: Indices) -> None:
        """Which series are upstream of which: rows of (downstream, upstream)."""
        self._pairs = pairs
        self.guides = find_guides(self.history.last(self.params.memory), pairs)

    def grow(self, count: int) -> None:
        """Room for more series."""
        more = count - self.count
        assert more >= 0, (count, self.count)
        self.history.grow(count)
        self.followed.grow(count)
        self.season = np.pad(self.season, (0, more))
        self._errors = np.pad(self._errors, ((0, 0), (0, 0), (0, more)))
        self._seen = np.pad(self._seen, ((0, 0), (0, more)))
        for each in self._every_regression():
            each.grow(count)
        self._pending = [
            deque(
                ((np.pad(told, ((0, 0), (0, more))), np.pad(features, ((0, more), (0, 0)))) for told, features in each),
                maxlen=each.maxlen,
            )
            for each in self._pending
        ]
        self.link(self._pairs)

    def forget(self, series: Indices) -> None:
        """These series end; others may take their places."""
        self.history.forget(series)
        self.followed.forget(series)
        self.season[series] = 0
        self._errors[:, :, series] = 0.0
        self._seen[:, series] = 0.0
        for each in self._every_regression():
            each.forget(series)
        gone = np.isin(self._pairs, series).any(axis=1)
        self.link(self._pairs[~gone])

    def _score(self, values: Array, known: NDArray[np.bool_]) -> None:
        """What was forecast for now, horizon by horizon. What was told before a series began was not told of it."""
        for place, horizon in enumerate(self.params.horizons):
            pending = self._pending[place]
            if len(pending) < horizon:
                continue
            told, features = pending[0]
            judged = known & (self.followed.age >= horizon)
            now = np.where(judged, values, 0.0)
            wrong = np.where(judged, np.abs(told - now), 0.0)
            keep = np.where(judged, self.params.forget(horizon), 1.0)
            self._errors[place] = self._errors[place] * keep + wrong
            self._seen[place] = self._seen[place] * keep + judged
            target = squeeze(now, self.followed.scale)
            off = np.abs(squeeze(told[-1 - len(REGRESSIONS) : -1], self.followed.scale) - target)
            for each, looks_at, missed in zip(self._regressions[place], _LOOKS_AT, off, strict=True):
                # Weighed by how far off they are, squares become absolute values: the regression tells a median.
                each.learn(features[:, looks_at], target, judged / np.maximum(missed, _NEAR))

    def _regress(self, place: int, features: Array) -> Array:
        """What the regressions say, after some of them have found their coefficients anew."""
        every = self.params.solve_every
        due = np.arange(self.history.steps % every, self.count, every)
        for each in self._regressions[place]:
            each.solve(due)
        return np.array(
            [
                each.predict(features[:, looks_at])
                for each, looks_at in zip(self._regressions[place], _LOOKS_AT, strict=True)
            ]
        )

    def _every_regression(self) -> list[Regressions]:
        return [each for regressions in self._regressions for each in regressions]

    def _look_around(self) -> None:
        """Seasons and guides, for a few series at a time, so that no step takes long."""
        every = self.params.season_every
        due = np.arange(self.history.steps % every, self.count, every)
        past = self.history.last(self.params.memory)
        if len(due):
            self.season[due] = seasons(
                past[:, due], shortest=self.params.season_min, correlation=self.params.season_correlation
            )
        if len(self._pairs) and self.history.steps % every == 0:
            self.guides = find_guides(past, self._pairs)

    def _mix(self, place: int, told: Array, speaks: Array) -> Array:
        """Weighted median of the experts that have a say."""
        wrong = self._errors[place, :-1] / np.maximum(self._seen[place], 1e-12)
        wrong = np.maximum(wrong, 1e-3 * self.followed.scale)
        weights = speaks * (wrong / wrong.min(axis=0)) ** -self.params.sharpness
        return np.where(self._seen[place] > 0, weighted_median(told, weights), told[0])


def weighted_median(values: Array, weights: Array) -> Array:
    """Column by column; between two neighbours in proportion to where half of the weight lies."""
    order = values.argsort(axis=0)
    values, weights = np.take_along_axis(values, order, axis=0), np.take_along_axis(weights, order, axis=0)
    middle = (weights.cumsum(axis=0) - weights / 2) / weights.sum(axis=0)
    above = np.clip((middle < 0.5).sum(axis=0), 1, len(values) - 1)
    columns = np.arange(values.shape[1])
    low, high = middle[above - 1, columns], middle[above, columns]
    share = np.clip((0.5 - low) / np.maximum(high - low, 1e-12), 0.0, 1.0)
    return np.asarray(values[above - 1, columns] * (1 - share) + values[above, columns] * share)
