"""The experts of a forecast: simple rules, each right for some kind of stream. One row each, one column a series."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.forecast.correlation import Guides, Indices
from placement.forecast.history import Array, History

EXPERTS = (
    "last",
    "fast",
    "slow",
    "mean",
    "median",
    "long median",
    "trend",
    "season",
    "seasons",
    "upstream",
    "regression",
    "wide regression",
    "hasty regression",
)
NAIVE = ("last", "fast", "slow", "mean", "median")
"""What anybody would try first; a forecast is measured against the best of them."""
REGRESSIONS = EXPERTS[-3:]
FEATURES = 12
"""What regressions look at, a constant among it; the last value is the second."""
FEW = (0, 1, 2, 3, 6, 8, 10)
"""Those of the plain regression: the constant, three values, the means of ten and sixty steps, the mean season."""

_FAST, _SLOW, _TREND = 0.5, 0.1, 0.1
"""Weight of the newest value."""
_DAMPED = 0.9
"""A trend loses a tenth of itself each step: none goes on for ever."""
_SHORT, _LONG = 10, 60
_MEANS = (5, _SHORT, 20, _LONG, 300)
"""Steps whose means regressions look at."""
_LIKE_TODAY = 5
"""Steps that tell how today compares with a season ago."""
_TINY = 1e-12


class Followed:
    """What is followed step by step: two moving means, a trend, the usual size, and since when there is a series."""

    def __init__(self, count: int) -> None:
        self._state = np.zeros((4, count))
        self.age: Indices = np.zeros(count, dtype=np.int64)
        """Steps from its first known value on, known or not; 0: it has not begun."""
        self._steps = np.zeros(count)
        """Known ones."""

    @property
    def fast(self) -> Array:
        return np.asarray(self._state[0])

    @property
    def slow(self) -> Array:
        return np.asarray(self._state[1])

    @property
    def trend(self) -> Array:
        return np.asarray(self._state[2])

    @property
    def scale(self) -> Array:
        """The usual size of a series."""
        return np.asarray(np.maximum(self._state[3], _TINY))

    def follow(self, now: Array, known: NDArray[np.bool_]) -> None:
        """One step of those that are known."""
        fast, slow, trend, scale = self._state
        has_begun = self.age > 0
        begins, goes_on = known & ~has_begun, known & has_begun
        self._steps += known
        new_fast = np.where(goes_on, fast + _FAST * (now - fast), fast)
        self._state[2] = np.where(goes_on, trend + _TREND * (new_fast - fast - trend), trend)
        self._state[0] = new_fast
        self._state[1] = np.where(goes_on, slow + _SLOW * (now - slow), slow)
        weight = 1.0 / np.clip(self._steps, 1.0, 1_000.0)
        self._state[3] = np.where(known, scale + weight * (np.abs(now) - scale), scale)
        self._state[:2, begins] = now[begins]
        self.age += known | has_begun

    def grow(self, count: int) -> None:
        more = count - len(self._steps)
        self._state = np.pad(self._state, ((0, 0), (0, more)))
        self._steps = np.pad(self._steps, (0, more))
        self.age = np.pad(self.age, (0, more))

    def forget(self, series: Indices) -> None:
        self._state[:, series] = 0.0
        self._steps[series] = 0.0
        self.age[series] = 0


@dataclass(frozen=True, slots=True)
class Sight:
    """All that experts look at."""

    history: History
    followed: Followed
    season: Indices
    guides: Guides


def tell(sight: Sight, regressed: Array, horizon: int) -> tuple[Array, Array]:
    """What each expert says of the value `horizon` steps ahead, and whether it has a say (1) or not (0).

    `regressed`: what the regressions say, in logarithms.
    """
    history, followed = sight.history, sight.followed
    last = history.back(1)
    recent, longer = history.last(_SHORT), history.last(_LONG)
    once, often, in_season = _seasonal(sight, horizon, last)
    damped = _DAMPED * (1 - _DAMPED**horizon) / (1 - _DAMPED)
    told = np.vstack(
        [
            last,
            followed.fast,
            followed.slow,
            recent.mean(axis=0),
            np.median(recent, axis=0),
            np.median(longer, axis=0),
            np.maximum(followed.fast + followed.trend * damped, 0.0),
            once,
            often,
            _upstream(history, sight.guides, horizon, last),
            *(np.clip(stretch(each, followed.scale), 0.0, 2.0 * longer.max(axis=0)) for each in regressed),
        ]
    )
    speaks = np.ones_like(told)
    speaks[EXPERTS.index("season")] = speaks[EXPERTS.index("seasons")] = in_season
    speaks[EXPERTS.index("upstream")] = sight.guides.upstream >= 0
    return told, speaks


def features_of(sight: Sight, horizon: int) -> Array:
    """What regressions look at: recent values, recent means, and the season ahead. One row a series."""
    history, followed = sight.history, sight.followed
    means = [history.last(steps).mean(axis=0) for steps in _MEANS]
    once, often, _ = _seasonal(sight, horizon, means[_MEANS.index(_LONG)])
    seen = (*(history.back(steps) for steps in (1, 2, 3, 5)), *means, often, once)
    return np.stack([np.ones(history.count), *(squeeze(each, followed.scale) for each in seen)], axis=1)


def squeeze(values: Array, scale: Array) -> Array:
    """To logarithms: there a burst is a neighbour, not a giant."""
    return np.asarray(np.log1p(np.maximum(values, 0.0) / scale))


def stretch(values: Array, scale: Array) -> Array:
    """Back from logarithms."""
    return np.asarray(np.expm1(np.clip(values, 0.0, 20.0)) * scale)


def _seasonal(sight: Sight, horizon: int, otherwise: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """One season ago, raised or lowered by how today compares; the mean of up to three seasons; who has a season."""
    history, season = sight.history, sight.season
    reach = min(history.steps, history.memory)
    has = (season > horizon) & (season + _SHORT < reach)
    ago = np.where(has, season - horizon + 1, 1)
    value = history.each_back(ago)
    then = np.mean([history.each_back(np.where(has, season + k, 1)) for k in range(1, _LIKE_TODAY + 1)], axis=0)
    little = 0.05 * sight.followed.scale
    ratio = np.clip((history.last(_LIKE_TODAY).mean(axis=0) + little) / (then + little), 0.25, 4.0)
    total, times = value.copy(), np.ones(history.count)
    for many in (1, 2):
        further = ago + many * season
        fits = has & (further < reach)
        total += np.where(fits, history.each_back(np.where(fits, further, 1)), 0.0)
        times += fits
    return np.where(has, value * ratio, otherwise), np.where(has, total / times, otherwise), has


def _upstream(history: History, guides: Guides, horizon: int, last: Array) -> Array:
    """What the guide did `lag` steps before it shows here (Synergy eq 3.6, by difference: a ratio breaks at 0)."""
    has = guides.upstream >= 0
    guide = np.where(has, guides.upstream, 0)
    ahead = np.maximum(guides.lag - horizon, 0)
    change = history.of(guide, 1 + ahead) - history.of(guide, 1 + guides.lag)
    return np.where(has, np.maximum(last + guides.slope * change, 0.0), last)
