"""Forecasts of many series at once: simple experts, weighed by how wrong each has been.

Synergy 3.3.3 predicts a rate from the one before it and from an upstream operator's. No single rule suits all
streams: a steady one is best told by a mean, a walk by its last value, a daily rhythm by yesterday. So each expert
forecasts every horizon and is scored when the time has come; `Scores` says what their voices make together. The error
of that is scored the same way: it is what a forecast says of its own trustworthiness.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.forecast.correlation import Guides, Indices, find_guides
from placement.forecast.experts import (
    EXPERTS,
    FEATURES,
    FEW,
    REGRESSIONS,
    Followed,
    Seasonal,
    Sight,
    features_of,
    squeeze,
    tell,
)
from placement.forecast.history import Array, History
from placement.forecast.params import ForecastParams
from placement.forecast.regression import Regressions
from placement.forecast.scores import Scores
from placement.forecast.season import seasons
from placement.forecast.shifts import Shifts

_NEAR = 0.05
"""Misses below this are all the same to a regression."""
_LOOKS_AT = (FEW, range(FEATURES), range(FEATURES))
"""Features of each regression."""
_REGRESSED = slice(len(EXPERTS) - len(REGRESSIONS), len(EXPERTS))
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
        self._shifts = Shifts(count)
        self._scores = [Scores(count, horizon, params) for horizon in params.horizons]
        self._regressions = [
            [
                # Until it has learnt better, a regression tells the last value.
                Regressions(count, np.eye(len(looks_at))[1], forget=1.0 - 1.0 / steps, ridge=params.ridge)
                for steps, looks_at in zip(params.regression_steps, _LOOKS_AT, strict=True)
            ]
            for _ in params.horizons
        ]
        self._pending: list[deque[tuple[Array, Array]]] = [deque(maxlen=each) for each in params.horizons]
        """For each horizon the forecasts whose time has not come: all voices, and the features they had."""

    @property
    def count(self) -> int:
        return self.history.count

    def step(self, values: Array) -> None:
        """The next value of every series; negative ones count as 0."""
        values = np.maximum(values, 0.0)
        known = np.isfinite(values)
        self._score(values, known)
        self.history.append(values)
        now = self.history.back(1)
        self.followed.follow(now, known)
        self._shifts.look(now, known, self.followed.age, self.followed.scale)
        self._look_around()
        sight = Sight.of(self.history, self.followed, self.season, self.guides)
        for place, horizon in enumerate(self.params.horizons):
            seasonal = Seasonal.of(sight, horizon)
            features = features_of(sight, seasonal)
            told, speaks = tell(sight, seasonal, self._regress(place, features), horizon)
            self._pending[place].append((self._agree(place, told, speaks), features))

    def forecast(self) -> Forecast:
        """From the last step on."""
        assert self.history.steps, "a forecaster needs a step before it can look ahead"
        values = np.array([pending[-1][0][-1] for pending in self._pending]).T
        errors = np.array([scores.error for scores in self._scores]).T
        return Forecast(values, errors, np.array([scores.seen for scores in self._scores]).T)

    def voices(self) -> list[Array]:
        """For each horizon what every expert says, and in the last row what is told: to compare them with."""
        return [pending[-1][0][[*range(len(EXPERTS)), -1]] for pending in self._pending]

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
        for each in self._parts():
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
        for each in self._parts():
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
            self._scores[place].judge(told, now, judged, self.followed.scale)
            target = squeeze(now, self.followed.scale)
            off = np.abs(squeeze(told[_REGRESSED], self.followed.scale) - target)
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

    def _parts(self) -> list[Regressions | Scores | Shifts]:
        return [*(each for regressions in self._regressions for each in regressions), *self._scores, self._shifts]

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

    def _agree(self, place: int, told: Array, speaks: NDArray[np.bool_]) -> Array:
        """All voices; the last row is what is told."""
        scores, scale = self._scores[place], self.followed.scale
        voices = np.vstack([told, scores.mix(told, speaks, scale)])
        # Of a level that nobody has known, the last value is all there is, until forecasts from there have come due.
        is_strange = self._shifts.since <= self.params.horizons[place] + self.params.settle_steps
        return np.vstack([voices, np.where(is_strange, told[0], scores.choose(voices, speaks, scale))])
