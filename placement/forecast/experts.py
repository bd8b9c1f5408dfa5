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
    "season ago",
    "season",
    "seasons",
    "upstream",
    "regression",
    "wide regression",
    "hasty regression",
)
NAIVE = ("last", "fast", "slow", "mean", "median", "season ago")
"""What anybody would try first; a forecast is measured against the best of them."""
_SEASONAL = [EXPERTS.index(name) for name in ("season ago", "season", "seasons")]
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
_LIKE_TODAY = _MEANS[0]
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
    """All that experts look at, whatever the horizon."""

    history: History
    followed: Followed
    season: Indices
    guides: Guides
    means: tuple[Array, ...]
    """Of the last 5, 10, 20, 60 and 300 steps."""
    median: Array
    long_median: Array
    highest: Array
    """Of the last 60 steps."""
    squeezed: Array
    """Recent values and means as regressions see them; one row a series."""

    @classmethod
    def of(cls, history: History, followed: Followed, season: Indices, guides: Guides) -> "Sight":
        means = tuple(history.last(steps).mean(axis=0) for steps in _MEANS)
        longer = history.last(_LONG)
        recent = (*(history.back(steps) for steps in (1, 2, 3, 5)), *means)
        return cls(
            history,
            followed,
            season,
            guides,
            means,
            np.median(history.last(_SHORT), axis=0),
            np.median(longer, axis=0),
            longer.max(axis=0),
            squeeze(np.stack(recent, axis=1), followed.scale[:, None]),
        )


@dataclass(frozen=True, slots=True)
class Seasonal:
    """What the season tells: one season ago, the same raised or lowered by how today compares, and the mean of up to
    three seasons; of those who have a season."""

    ago: Array
    likened: Array
    mean: Array
    has: NDArray[np.bool_]

    @classmethod
    def of(cls, sight: Sight, horizon: int) -> "Seasonal":
        history, season = sight.history, sight.season
        reach = min(history.steps, history.memory)
        # Beyond one season, what it was two or more seasons before the horizon.
        whole = season * -(-horizon // np.maximum(season, 1))
        has = (season > 0) & (whole + _SHORT < reach)
        steps = np.where(has, whole - horizon + 1, 1)
        ago = history.each_back(steps)
        then = np.mean([history.each_back(np.where(has, whole + k, 1)) for k in range(1, _LIKE_TODAY + 1)], axis=0)
        little = 0.05 * sight.followed.scale
        ratio = np.clip((sight.means[_MEANS.index(_LIKE_TODAY)] + little) / (then + little), 0.25, 4.0)
        total, times = ago.copy(), np.ones(history.count)
        for many in (1, 2):
            further = steps + many * season
            fits = has & (further < reach)
            total += np.where(fits, history.each_back(np.where(fits, further, 1)), 0.0)
            times += fits
        return cls(ago, ago * ratio, total / times, has)


def tell(sight: Sight, seasonal: Seasonal, regressed: Array, horizon: int) -> tuple[Array, NDArray[np.bool_]]:
    """What each expert says of the value `horizon` steps ahead, and whether it has a say.

    `regressed`: what the regressions say, in logarithms.
    """
    history, followed = sight.history, sight.followed
    last = history.back(1)
    damped = _DAMPED * (1 - _DAMPED**horizon) / (1 - _DAMPED)
    told = np.vstack(
        [
            last,
            followed.fast,
            followed.slow,
            sight.means[_MEANS.index(_SHORT)],
            sight.median,
            sight.long_median,
            np.maximum(followed.fast + followed.trend * damped, 0.0),
            *(np.where(seasonal.has, each, last) for each in (seasonal.ago, seasonal.likened, seasonal.mean)),
            _upstream(history, sight.guides, horizon, last),
            *np.clip(stretch(regressed, followed.scale), 0.0, 2.0 * sight.highest),
        ]
    )
    speaks = np.ones(told.shape, dtype=bool)
    speaks[_SEASONAL] = seasonal.has
    speaks[EXPERTS.index("upstream")] = sight.guides.upstream >= 0
    return told, speaks


def features_of(sight: Sight, seasonal: Seasonal) -> Array:
    """What regressions look at: recent values, recent means, and the season ahead. One row a series."""
    otherwise = sight.means[_MEANS.index(_LONG)]
    ahead = np.stack([np.where(seasonal.has, each, otherwise) for each in (seasonal.mean, seasonal.likened)], axis=1)
    ones = np.ones((len(otherwise), 1))
    return np.hstack([ones, sight.squeezed, squeeze(ahead, sight.followed.scale[:, None])])


def squeeze(values: Array, scale: Array) -> Array:
    """To logarithms: there a burst is a neighbour, not a giant."""
    return np.asarray(np.log1p(np.maximum(values, 0.0) / scale))


def stretch(values: Array, scale: Array) -> Array:
    """Back from logarithms."""
    return np.asarray(np.expm1(np.clip(values, 0.0, 20.0)) * scale)


def _upstream(history: History, guides: Guides, horizon: int, last: Array) -> Array:
    """What the guide did `lag` steps before it shows here (Synergy eq 3.6, by difference: a ratio breaks at 0)."""
    has = guides.upstream >= 0
    guide = np.where(has, guides.upstream, 0)
    ahead = np.maximum(guides.lag - horizon, 0)
    change = history.of(guide, 1 + ahead) - history.of(guide, 1 + guides.lag)
    return np.where(has, np.maximum(last + guides.slope * change, 0.0), last)
