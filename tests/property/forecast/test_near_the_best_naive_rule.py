"""Whatever kind of series it is, what is told is hardly further off than the best naive rule (decision 0290)."""

from collections import deque
from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.forecast import EXPERTS, NAIVE, Forecaster, ForecastParams
from placement.forecast.history import Array

STEPS, WARM_UP = 600, 100
EACH = 2
PARAMS = ForecastParams(memory=512)
NAIVE_ROWS = [EXPERTS.index(name) for name in NAIVE]

Rng = np.random.Generator
_T = np.arange(float(STEPS))


def noisy(values: Array, share: float, rng: Rng) -> Array:
    return np.asarray(values * (1 + share * rng.standard_normal(STEPS)))


def auto(keeps: float, rng: Rng) -> Array:
    found = np.zeros(STEPS)
    for step in range(1, STEPS):
        found[step] = keeps * found[step - 1] + rng.normal(0, 10)
    return 150 + found


def levels(every: int, rng: Rng) -> Array:
    return np.repeat(rng.uniform(50, 1_000, STEPS // every + 1), every)[:STEPS]


def spikes(share: float, rng: Rng) -> Array:
    return np.where(rng.random(STEPS) < share, rng.uniform(100, 1_000, STEPS), 0.0)


def bursts(rng: Rng) -> Array:
    found, left = rng.poisson(10, STEPS).astype(float), 0.0
    for step in range(STEPS):
        left = 0.8 * (left + (100 * rng.pareto(1.5) if rng.random() < 0.02 else 0.0))
        found[step] += left
    return found


def on_and_off(rng: Rng) -> Array:
    turns = np.cumsum(rng.geometric(0.03, STEPS))
    return np.where(np.searchsorted(turns, _T, side="right") % 2, rng.poisson(80, STEPS), 0.0)


def wave(period: float) -> Array:
    return 100 + 80 * np.sin(2 * np.pi * _T / period)


REGIMES: dict[str, Callable[[Rng], Array]] = {
    "zeros": lambda _: np.zeros(STEPS),
    "constant": lambda rng: np.full(STEPS, rng.uniform(0.001, 1e6)),
    "ramp on a large number": lambda _: 1e6 + _T,
    "ramp": lambda rng: 10 + rng.uniform(0.1, 5) * _T,
    "noisy ramp": lambda rng: 100 + 0.5 * _T + rng.normal(0, 10, STEPS),
    "falling": lambda _: np.geomspace(1e6, 100, STEPS),
    "growing": lambda rng: noisy(np.geomspace(10, 1e5, STEPS), 0.1, rng),
    "walk of whole numbers": lambda rng: 20 + np.cumsum(rng.integers(-2, 3, STEPS)),
    "walk": lambda rng: 100 * np.exp(np.cumsum(rng.normal(0, 0.05, STEPS))),
    "white noise": lambda rng: rng.uniform(50, 150, STEPS),
    "few records": lambda rng: rng.poisson(0.5, STEPS),
    "auto-regressive": lambda rng: auto(rng.uniform(-0.7, 0.99), rng),
    "wave": lambda _: wave(24),
    "noisy wave": lambda rng: wave(rng.uniform(20, 150)) + rng.normal(0, 10, STEPS),
    "season of chance": lambda rng: noisy(np.resize(rng.uniform(0, 200, 40), STEPS), 0.1, rng),
    "jumps": lambda rng: levels(100, rng),
    "noisy jumps": lambda rng: noisy(levels(100, rng), 0.05, rng),
    "spikes": lambda rng: spikes(0.02, rng),
    "spikes on a level": lambda rng: noisy(100 + spikes(0.02, rng), 0.05, rng),
    "bursts": bursts,
    "on and off": on_and_off,
    "noise, then a walk": lambda rng: np.where(_T < 300, rng.uniform(50, 150, STEPS), 100 + np.abs(auto(1.0, rng))),
}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=6)
def test_what_is_told_is_hardly_further_off_than_the_best_naive_rule(seed: int) -> None:
    """A mixture that is clever on some streams and far off on others would lose the trust of all.

    Beside the 5 %, what is rare has to be met before it is known. Until then, all forecasts that are under way are of
    the same mind: as many of that rule's largest errors as the horizon has steps, and two more.
    """
    rng = np.random.default_rng(seed)
    series = np.stack([np.maximum(make(rng), 0.0) for make in REGIMES.values() for _ in range(EACH)], axis=1)
    for place, wrong in enumerate(misses(series)):
        horizon = PARAMS.horizons[place]
        naive = wrong[:, NAIVE_ROWS].sum(axis=0)
        best = naive.argmin(axis=0)
        columns = np.arange(series.shape[1])
        largest = wrong[:, NAIVE_ROWS].max(axis=0)[best, columns]
        ours, allowed = wrong[:, -1].sum(axis=0), 1.05 * naive[best, columns] + (horizon + 2) * largest
        far = [
            f"{list(REGIMES)[each // EACH]}, {horizon} ahead: {ours[each]:g} above {allowed[each]:g}"
            for each in np.flatnonzero(ours > allowed + 1e-9 * series.sum(axis=0))
        ]
        assert [] == far


def misses(series: Array) -> list[Array]:
    """For each horizon absolute errors [step, voice, series] of the experts, and in the last row of what is told."""
    forecaster = Forecaster(series.shape[1], PARAMS)
    waiting: list[deque[Array]] = [deque(maxlen=each) for each in PARAMS.horizons]
    found: list[list[Array]] = [[] for _ in PARAMS.horizons]
    for step, values in enumerate(series):
        for told, wrong in zip(waiting, found, strict=True):
            if step >= WARM_UP:
                wrong.append(np.abs(told[0] - values))
        forecaster.step(values)
        for told, voices in zip(waiting, forecaster.voices(), strict=True):
            told.append(voices)
    return [np.array(each) for each in found]
