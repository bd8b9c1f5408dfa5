"""Courses: how rates went on in the past from moments like the present one. Pure numpy, all series at once.

A forecast of the middle says little about bursts; what came after similar moments says how likely they are, however
their errors are distributed. Moments are alike in how the means of the last seconds relate, and in how unsteady the
series is, not in size: so all series learn from one another. Of the nearest moments a small regression says how what
followed depends on where exactly one stands, and the nearest courses are set right by it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placement.fits.arrays import Array, Flags
from placement.forecast.history import History
from placement.model.errors import require

_SPANS = (2, 3, 5, 10, 20, 60)
"""Seconds whose means are compared."""
_PAIRS = ((0, 2), (1, 3), (2, 4), (3, 5))
"""Which of them: a jump, a rise, a trend, and the level over a minute's."""
_LEVEL = 1
"""The mean that courses are told in multiples of: that of three seconds."""
_LONG = _SPANS[-1]
_FEATURES = len(_PAIRS) + 1
_FLOOR = 0.05
"""Of the mean of the last minute, added everywhere: below it, a series is as good as silent."""
_TINY = 1e-9
_STEEPEST = 3.0
"""A course is set right by at most e to the power of this."""

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CourseParams:
    """One step is one second."""

    steps: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10)
    """For which steps ahead courses are told, as the mean from one to the next: what ants, a plan and a move take."""
    courses: int = 40
    alike: int = 150
    """Moments that the regression looks at: thirty for each of its coefficients."""
    memory: int = 600
    """How far back moments are looked for."""
    others: int = 4_000
    """How many moments of all series together, beside all of the series itself."""
    warm_up: int = 20
    """Steps after which a series' moments count."""

    def __post_init__(self) -> None:
        require(
            bool(self.steps) and list(self.steps) == sorted(set(self.steps)) and self.steps[0] >= 1,
            f"steps are {self.steps}; give 1 or more, ascending",
        )
        require(1 <= self.courses <= self.alike, f"courses are {self.courses}; give 1 to {self.alike}, those alike")
        require(
            self.memory >= self.steps[-1] + _LONG,
            f"memory is {self.memory} steps; give at least {self.steps[-1] + _LONG}",
        )
        require(self.others >= 0, f"others are {self.others}; give 0 or more")
        require(self.warm_up >= 1, f"warm_up is {self.warm_up}; give 1 or more")


class Courses:
    """`step` takes the next values of all series; `ahead` tells the courses of some of them."""

    def __init__(self, count: int, params: CourseParams) -> None:
        self.params = params
        self._history = History(count, params.memory)
        self._features = np.zeros((params.memory, count, _FEATURES), dtype=np.float32)
        self._levels = np.zeros((params.memory, count, 2), dtype=np.float32)
        """What courses from a moment are told in multiples of, and the floor in it."""
        self._begun = np.full(count, -1)

    @property
    def count(self) -> int:
        return self._history.count

    def step(self, values: Array) -> None:
        """The next value of every series; NaN where there is none, negative ones count as 0."""
        values = np.maximum(values, 0.0)
        self._begun = np.where((self._begun < 0) & np.isfinite(values), self._history.steps, self._begun)
        self._history.append(values)
        place = (self._history.steps - 1) % self.params.memory
        past = self._history.last(_LONG)
        floor = _FLOOR * past.mean(axis=0) + _TINY
        means = np.array([past[-span:].mean(axis=0) for span in _SPANS]) + floor
        changes = np.diff(np.log(past + floor), axis=0)
        unsteady = np.log(np.sqrt(np.square(changes).mean(axis=0)) + 0.01) if len(changes) else np.zeros(self.count)
        compared = [np.log(means[short] / means[long]) for short, long in _PAIRS]
        self._features[place] = np.array([*compared, unsteady]).T
        self._levels[place] = np.array([means[_LEVEL], floor]).T

    def correct(self, series: Indices, steps: int, values: Array) -> None:
        """What these series were so many steps ago has become known: it counts where it is looked back to."""
        self._history.correct(series, steps, values)

    def ahead(self, series: Indices) -> Array:
        """[series, step, course]: rates. A series with too short a past goes on as it did lately, or a part of that."""
        steps, params = self._history.steps, self.params
        assert steps, "courses need a step before they can be told"
        onward = self._onward(series)
        near = self._nearest(series)
        if near is None:
            return onward
        when, whose, apart, known = near
        followed = self._followed(when, whose)
        told = _set_right(np.where(known, followed, 0.0), np.where(known, apart, 0.0))[:, : params.courses]
        level, floor = self._levels[(steps - 1) % params.memory, series].astype(float).T[:, :, None, None]
        rates = np.maximum(np.exp(told).transpose(0, 2, 1) * level - floor, 0.0)
        return np.asarray(np.where(known, rates, onward))

    def grow(self, count: int) -> None:
        """Room for more series."""
        more = count - self.count
        self._history.grow(count)
        self._features = np.pad(self._features, ((0, 0), (0, more), (0, 0)))
        self._levels = np.pad(self._levels, ((0, 0), (0, more), (0, 0)))
        self._begun = np.pad(self._begun, (0, more), constant_values=-1)

    def forget(self, series: Indices) -> None:
        """These series end; others may take their places."""
        self._history.forget(series)
        self._begun[series] = -1

    def _onward(self, series: Indices) -> Array:
        """From the level on with the slope of the last ten seconds, by shares from none of it to all."""
        past = self._history.last(_SPANS[3])[:, series]
        recent = past[-_SPANS[2] :]
        slope = (recent.mean(axis=0) - past.mean(axis=0)) / max(1.0, (len(past) - len(recent)) / 2)
        level = past[-_SPANS[_LEVEL] :].mean(axis=0)
        shares = np.linspace(0.0, 1.0, self.params.courses)
        rises = slope[:, None, None] * np.array(self.params.steps, dtype=float)[:, None] * shares
        return np.asarray(np.maximum(level[:, None, None] + rises, 0.0))

    def _nearest(self, series: Indices) -> tuple[Indices, Indices, Array, Flags] | None:
        """The moments most like each series' present: when, whose, how far apart in what, and whether there are enough.

        Candidates are all moments of the series itself, and some of all others.
        """
        steps, params = self._history.steps, self.params
        moments = np.arange(max(0, steps - params.memory), steps - params.steps[-1])
        total = len(moments) * self.count
        if not len(series) or total < params.alike:
            return None
        chosen = np.arange(0, total, max(1, -(-total // max(params.others, 1))))[: params.others]
        shared_when, shared_whose = moments[chosen // self.count], chosen % self.count
        now = self._features[(steps - 1) % params.memory, series].astype(float)
        shared, is_shared = self._moments(shared_when, shared_whose)
        size = np.maximum(shared[is_shared].std(axis=0), 1e-6) if is_shared.any() else np.ones(_FEATURES)
        own, is_own = self._moments(moments[None, :], series[:, None])
        near_own = np.square((own - now[:, None]) / size).sum(axis=2)
        # Squares of differences as a product of matrices: there may be many series, and thousands of moments.
        a, b = now / size, shared / size
        near_shared = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1) - 2.0 * a @ b.T
        others = is_shared & (shared_whose != series[:, None])
        distance = np.hstack([np.where(is_own, near_own, np.inf), np.where(others, near_shared, np.inf)])
        if distance.shape[1] < params.alike:
            return None
        near = np.argpartition(distance, params.alike - 1, axis=1)[:, : params.alike]
        near = _take(near, _take(distance, near).argsort(axis=1, kind="stable"))
        known = np.isfinite(_take(distance, near)).all(axis=1).reshape(-1, 1, 1)
        when = np.concatenate([moments, shared_when])[near]
        whose = np.concatenate([np.full(len(moments), -1), shared_whose])[near]
        whose = np.where(whose < 0, series[:, None], whose)
        return when, whose, (self._moments(when, whose)[0] - now[:, None]) / size, known

    def _moments(self, when: Indices, whose: Indices) -> tuple[Array, Flags]:
        """Features of moments, and which tell something: those of series that had been there for a while."""
        begun = self._begun[whose]
        tells = (begun >= 0) & (when - begun >= self.params.warm_up)
        return self._features[when % self.params.memory, whose].astype(float), tells

    def _followed(self, when: Indices, whose: Indices) -> Array:
        """[series, moment, step]: logarithms of what followed, over the level of the moment."""
        steps = np.arange(1, self.params.steps[-1] + 1)
        back = self._history.steps - (when[:, :, None] + steps)
        values = self._history.of(np.broadcast_to(whose[:, :, None], back.shape), back)
        starts = np.array([0, *self.params.steps[:-1]])
        means = np.add.reduceat(values, starts, axis=2) / np.diff([*starts, self.params.steps[-1]])
        level, floor = (self._levels[when % self.params.memory, whose, part].astype(float) for part in (0, 1))
        with np.errstate(divide="ignore", invalid="ignore"):  # of a moment before the series began, which nobody uses
            return np.asarray(np.log((means + floor[:, :, None]) / level[:, :, None]))


def _take(values: NDArray[Any], places: Indices) -> NDArray[Any]:
    """Row by row the values at these places."""
    return np.take_along_axis(values, places, axis=1)


def _set_right(followed: Array, apart: Array) -> Array:
    """What would have followed had the moments been exactly like the present: a linear regression, ridge of one."""
    mean_apart, mean_followed = apart.mean(axis=1, keepdims=True), followed.mean(axis=1, keepdims=True)
    x = apart - mean_apart
    square = x.transpose(0, 2, 1) @ x + np.eye(apart.shape[2])
    slope = np.linalg.solve(square, x.transpose(0, 2, 1) @ (followed - mean_followed))
    return np.asarray(followed - np.clip(apart @ slope, -_STEEPEST, _STEEPEST))
