"""Forecasts in the lab: the service's own parameters have rows of their own."""

import math

import numpy as np
import pytest

from services.lab.experiments import forecasts
from services.lab.experiments.forecasts import as_served
from services.modelling.params import FitParams


def test_rows_of_the_service_are_of_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence of another memory than users have says little about what they get."""
    told = []

    def score(series: list, params: object) -> list:
        told.append((params, [len(values) for values in series]))
        return real(series, params)

    real = forecasts.score
    monkeypatch.setattr(forecasts, "score", score)
    monkeypatch.setattr(forecasts, "SERVICE_POINTS_MAX", 300)
    found = as_served({"wave": 100 + 50 * np.sin(np.arange(400.0)), "steady": np.full(250, 7.0)})
    assert [(FitParams().forecast, [300, 250])] == told
    assert {
        f"WAPE {ahead} ahead, median series, as the service runs" for ahead in ("1 step", "10 steps", "60 steps")
    } < {sample.measure for sample in found}
    assert not [sample for sample in found if "wave" in sample.measure]


def test_series_that_a_naive_rule_tells_exactly_are_counted_apart() -> None:
    """A ratio to no error at all is no number; one constant in a folder must not spoil the figures of the others."""
    wave = 100 + 50 * np.sin(np.arange(300.0))
    even = {"constant": np.full(250, 7.0), "zeros": np.zeros(250)}
    mixed = {sample.measure: sample.value for sample in as_served({"wave": wave, **even})}
    assert 2 == mixed["series told exactly 1 step ahead, by a naive rule, as the service runs"]
    assert 0 == pytest.approx(mixed["WAPE 1 step ahead, worst of those, as the service runs"])
    assert all(map(math.isfinite, mixed.values()))
    alone = {sample.measure: sample.value for sample in as_served({"wave": wave})}
    assert alone["WAPE 10 steps ahead, median of ratios, as the service runs"] == pytest.approx(
        mixed["WAPE 10 steps ahead, median of ratios, as the service runs"]
    )
    assert not [sample for sample in as_served(even) if "median" in sample.measure]
