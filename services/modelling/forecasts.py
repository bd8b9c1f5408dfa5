"""Rates ahead: one forecaster for all operators, which come and go, and the courses that they may take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import divide
from placement.forecast import Forecaster, ForecastParams
from placement.hotspots import CourseParams, Courses
from services.modelling.columns import Columns, numbers, optional
from services.modelling.flow_facts import FlowFacts
from services.modelling.flow_outlook import Ahead
from services.modelling.lateness import LATE_S
from services.modelling.ring import Array, Indices
from topics.messages import ForecastModel

Name = tuple[str, str]
RECENT_S = 10


@dataclass(frozen=True, slots=True)
class Rates:
    """Of all series by their places; NaN where there is none."""

    closed: Sequence[Array]
    """Of each second that was closed with the last one, oldest first; NaN also where it is not known."""
    last: Array
    """The last that was known."""
    ahead: Array
    """[series, horizon]."""
    owner: Indices
    """The how many-th series it is that has this place."""


class Forecasts:
    """`step` takes the closed seconds of all operators; `columns` tells what comes. Series are (flow, operator)."""

    def __init__(self, params: ForecastParams, courses: CourseParams) -> None:
        self._params = params
        self._forecaster = Forecaster(0, params)
        self._courses = Courses(0, courses)
        self._places: dict[Name, int] = {}
        self._free: list[int] = []
        self._closed: list[Array] = []
        """What was known of each second of the last step."""
        self._owner: Indices = np.zeros(0, dtype=np.int64)
        self._flows: Mapping[str, FlowFacts] = {}

    def know(self, flows: Mapping[str, FlowFacts]) -> None:
        """Flows have come, changed or gone."""
        self._flows = flows
        self._link()

    def step(self, names: Sequence[Name], rates: Array, late_s: Indices, fresh: int) -> None:
        """Goes on by the last `fresh` seconds of `rates` (names, seconds), oldest first; NaN: not known.

        A series whose hosts are usually late follows so many seconds behind the others (`late_s`), but each of its
        seconds counts. What has become known of earlier seconds is set right.
        """
        places = np.array(self._find(names), dtype=np.int64)
        begin = rates.shape[1] - fresh - late_s
        for steps in range(1, LATE_S + 1):
            self._correct(places, steps, _each_at(rates, begin - steps))
        self._closed = []
        for second in range(fresh):
            values = np.full(self._forecaster.count, np.nan)
            values[places] = _each_at(rates, begin + second)
            self._forecaster.step(values)
            self._courses.step(values)
            self._closed.append(values)

    def keep(self, names: Sequence[Name]) -> None:
        """Forgets all others."""
        gone = sorted(self._places.keys() - set(names))
        if gone:
            places = [self._places.pop(name) for name in gone]
            self._forecaster.forget(np.array(places))
            self._courses.forget(np.array(places))
            self._owner[places] += 1
            self._free += places
            self._link()

    def rates(self) -> Rates:
        """What came, and what is forecast."""
        if not self._forecaster.history.steps:
            nothing = np.zeros(0)
            return Rates([], nothing, np.zeros((0, len(self._params.horizons))), self._owner)
        used = np.zeros(self._forecaster.count, dtype=bool)
        used[list(self._places.values())] = True
        last = np.where(used, self._forecaster.history.back(1), np.nan)
        ahead = np.where(used[:, None], self._forecaster.forecast().values, np.nan)
        return Rates([np.where(used, each, np.nan) for each in self._closed], last, ahead, self._owner.copy())

    def ahead(self) -> Ahead:
        """What may come, of all series."""
        recent = self._forecaster.history.last(RECENT_S).mean(axis=0)
        return Ahead(self._places, recent, self._courses)

    def columns(self) -> list[Columns]:
        """The forecasts of all operators."""
        if not self._places or not self._forecaster.history.steps:
            return []
        names = sorted(self._places)
        places = np.array([self._places[name] for name in names])
        ahead = self._forecaster.forecast()
        now = self._forecaster.history.back(1)[places]
        errors = [optional(ahead.errors[places, horizon]) for horizon in range(len(self._params.horizons))]
        values = [numbers(ahead.values[places, horizon]) for horizon in range(len(self._params.horizons))]
        guides = self._forecaster.guides
        named = {place: name for name, place in self._places.items()}
        return [
            Columns(
                ForecastModel,
                [f"forecast/{flow}/{operator}" for flow, operator in names],
                ahead.trust[places, 0],
                divide(ahead.errors[places, 0], ahead.values[places, 0]),
                [
                    [flow for flow, _ in names],
                    [operator for _, operator in names],
                    numbers(now),
                    [self._params.horizons] * len(names),
                    list(zip(*values, strict=True)),
                    list(zip(*errors, strict=True)),
                    [named[place][1] if place in named else None for place in guides.upstream[places].tolist()],
                    np.where(guides.upstream[places] >= 0, guides.lag[places], 0).tolist(),
                    self._forecaster.season[places].tolist(),
                ],
                self._params.memory,
            )
        ]

    def _correct(self, places: Indices, steps: int, values: Array) -> None:
        known = np.isfinite(values)
        self._forecaster.history.correct(places[known], steps, values[known])
        self._courses.correct(places[known], steps, values[known])

    def _find(self, names: Sequence[Name]) -> list[int]:
        fresh = [name for name in names if name not in self._places]
        if fresh:
            more = len(fresh) - len(self._free)
            if more > 0:
                count = self._forecaster.count
                room = max(more, count)
                self._forecaster.grow(count + room)
                self._courses.grow(count + room)
                self._owner = np.pad(self._owner, (0, room))
                self._free += range(count + room - 1, count - 1, -1)
            for name in fresh:
                self._places[name] = self._free.pop()
            self._link()
        return [self._places[name] for name in names]

    def _link(self) -> None:
        """Any operator upstream may be a guide."""
        pairs = [
            (self._places[flow, operator], self._places[flow, above])
            for flow, facts in sorted(self._flows.items())
            for operator, above in facts.upstream
            if (flow, operator) in self._places and (flow, above) in self._places
        ]
        self._forecaster.link(np.array(pairs, dtype=np.int64).reshape(-1, 2))


def _each_at(values: Array, columns: Indices) -> Array:
    """Of each row the value in its own column; NaN before the first."""
    found = values[np.arange(len(values)), np.maximum(columns, 0)]
    return np.where(columns >= 0, found, np.nan)
