"""How far off each voice has been, for one horizon, and what is told in the end.

Two mixtures of all experts: one weighs them by their errors lately, the other by their errors over the whole past. A
choice then follows whichever of the naive rules and the two mixtures has missed least over the whole past. It is a
weighted median once more, so sharp that only near equals share in it. This keeps what is told close to the best naive
rule, whatever kind of series it is (decision 0290): the mixtures alone are far off where errors are rare, since all
experts look alike by the time of the next one.

The whole past forgets in proportion to its age: a series' first steps, when nobody knew anything, do not count for
ever, and no length of memory has to suit all series.
"""

import numpy as np
from numpy.typing import NDArray

from placement.forecast.correlation import Indices
from placement.forecast.experts import EXPERTS, NAIVE
from placement.forecast.history import Array
from placement.forecast.median import weighted_median
from placement.forecast.params import ForecastParams

VOICES = len(EXPERTS) + 3
"""The experts, two mixtures of them, and what is told in the end."""
_NAIVE = [EXPERTS.index(name) for name in NAIVE]
_CANDIDATES = [*_NAIVE, len(EXPERTS), len(EXPERTS) + 1]
_DOUBT = 3.0
"""Until naive rules have differed, errors of all candidates but the last value are taken for so much larger: nothing
tells a jump from a spike the first time, and to be wrong about a jump costs more."""
assert NAIVE[0] == "last"
_NOTHING = 1e-9
"""Errors below this share of the usual size are none."""
_APART = 1e-6
"""Naive rules whose errors differ by less than this share of the usual size say the same."""


class Scores:
    """`judge` takes what was told and what came; `mix` and `choose` weigh what is told next."""

    def __init__(self, count: int, horizon: int, params: ForecastParams) -> None:
        self._params = params
        self._horizon = horizon
        self._lately = np.zeros((VOICES, count))
        """Sums of absolute errors, discounted by the step."""
        self.seen = np.zeros(count)
        """Discounted count of them."""
        self._overall = np.zeros((VOICES - 1, count))
        """The same, discounted by the age of the series; of all but what is told."""
        self._judged = np.zeros(count)
        """How often."""
        self._apart = np.zeros(count)
        """How often naive rules have differed."""

    @property
    def error(self) -> Array:
        """Mean absolute error, lately, of what is told; NaN: not known yet."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self._lately[-1] / self.seen)

    def judge(self, told: Array, now: Array, judged: NDArray[np.bool_], scale: Array) -> None:
        """What every voice had told of now, for those series which can be judged."""
        wrong = np.where(judged, np.abs(told - now), 0.0)
        keep = np.where(judged, self._params.forget(self._horizon), 1.0)
        self._lately = self._lately * keep + wrong
        self.seen = self.seen * keep + judged
        self._judged += judged
        forgotten = 1.0 / np.clip(self._judged, 1.0, self._params.record_steps)
        self._overall = self._overall * np.where(judged, 1.0 - forgotten, 1.0) + wrong[:-1]
        naive = wrong[_NAIVE]
        self._apart += naive.max(axis=0) - naive.min(axis=0) > _APART * scale

    def mix(self, told: Array, speaks: NDArray[np.bool_], scale: Array) -> Array:
        """The experts' weighted median, with weights by their errors lately and by those over all: two rows."""
        wrong = np.stack([self._lately[: len(EXPERTS)], self._overall[: len(EXPERTS)]])
        wrong = np.where(speaks, np.maximum(wrong, _NOTHING * scale), np.inf)
        return weighted_median(told, _weights(wrong, self._params.sharpness))

    def choose(self, voices: Array, speaks: NDArray[np.bool_], scale: Array) -> Array:
        """What is told. `voices` are all but that, `speaks` is of experts."""
        wrong = np.maximum(self._overall[_CANDIDATES], _NOTHING * scale)
        wrong[1:] *= 1.0 + _DOUBT / (1.0 + self._apart)
        wrong[: len(_NAIVE)][~speaks[_NAIVE]] = np.inf
        return weighted_median(voices[_CANDIDATES], _weights(wrong, self._params.choice_sharpness))

    def grow(self, count: int) -> None:
        """Room for more series."""
        more = count - len(self.seen)
        self._lately, self._overall = (np.pad(each, ((0, 0), (0, more))) for each in (self._lately, self._overall))
        self.seen, self._judged, self._apart = (np.pad(each, (0, more)) for each in self._counts)

    def forget(self, series: Indices) -> None:
        """These series begin anew."""
        self._lately[:, series] = self._overall[:, series] = 0.0
        for each in self._counts:
            each[series] = 0.0

    @property
    def _counts(self) -> tuple[Array, Array, Array]:
        return self.seen, self._judged, self._apart


def _weights(wrong: Array, sharpness: float) -> Array:
    """The best weighs 1; one that is infinitely wrong has no say."""
    return np.asarray(np.exp(-sharpness * np.log(wrong / wrong.min(axis=-2, keepdims=True))))
