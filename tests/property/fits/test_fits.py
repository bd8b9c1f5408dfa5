"""Fits of whole windows at once agree with the plain formulas, row by row and sample by sample."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from placement.fits import (
    Array,
    Moments,
    combine,
    fit_delays,
    fit_execution,
    fit_rates,
    fit_service,
    impact,
    sign,
)
from placement.fits.execution import INSIDE, PAIRS_MIN

seeds = st.integers(0, 2**32 - 1)


def moments(samples: list[list[Array]]) -> Moments:
    """Of samples[row][second]."""
    each = [[(len(s), s.sum(), (s**2).sum()) for s in row] for row in samples]
    count, total, total_sq = np.moveaxis(np.array(each, dtype=float), -1, 0)
    return Moments(count, total, total_sq)


def draw(rng: np.random.Generator, rows: int, seconds: int) -> list[list[Array]]:
    return [[rng.gamma(2.0, 3.0, rng.integers(0, 9)) for _ in range(seconds)] for _ in range(rows)]


@given(seeds)
@settings(max_examples=30)
def test_rates_are_those_of_the_plain_formulas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaps = draw(rng, 5, 20)
    arrivals, outputs = rng.poisson(30.0, (5, 20)).astype(float), rng.poisson(10.0, (5, 20)).astype(float)
    seen = rng.random((5, 20)) < 0.9
    found = fit_rates(arrivals, arrivals, outputs, moments(gaps), seen)
    for row in range(5):
        here = arrivals[row][seen[row]]
        assert here.mean() == pytest.approx(found.per_s[row])
        assert outputs[row][seen[row]].sum() / here.sum() == pytest.approx(found.selectivity[row])
        all_gaps = np.concatenate(gaps[row])
        assert all_gaps.var() / all_gaps.mean() ** 2 == pytest.approx(found.ca2[row])
        assert len(here) == found.seconds[row]


@given(seeds)
@settings(max_examples=30)
def test_service_and_delays_are_those_of_the_plain_formulas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = draw(rng, 4, 30)
    service = fit_service(moments(samples))
    fastest = np.array([[s.min(initial=9.9) if len(s) else 0.0 for s in row] for row in samples])
    sent = np.array([[float(len(s)) for s in row] for row in samples]) + 1.0
    delays = fit_delays(moments(samples), fastest, sent, np.ones_like(sent))
    for row in range(4):
        times = np.concatenate(samples[row])
        assert times.mean() == pytest.approx(service.mean[row])
        assert times.var() / times.mean() ** 2 == pytest.approx(service.cs2[row])
        assert stats.sem(times, ddof=0) == pytest.approx(service.error[row])
        assert times.mean() / 2 == pytest.approx(delays.mean[row])
        assert min(times.min(), 9.9) / 2 == pytest.approx(delays.fastest[row])
        assert 30 / (len(times) + 30) == pytest.approx(delays.loss[row])


@given(seeds)
@settings(max_examples=30)
def test_the_line_is_the_weighted_least_squares_line(seed: int) -> None:
    """Pair by pair: scipy's line gives the first weights, what is wild is held back, numpy's fit is ours."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(10, 1_000, (6, 40))
    times = (2.0 + 0.01 * rates) * rng.lognormal(0.0, 0.2, rates.shape)
    rates[rng.random(rates.shape) < 0.1] = np.nan
    found = fit_execution(rates, times)
    for row in range(6):
        known = np.isfinite(rates[row])
        x, y = rates[row][known], times[row][known]
        plain = stats.linregress(x, y)
        level = np.maximum(plain.intercept + plain.slope * x, 0.05 * y.mean())
        alone = [
            np.polyval(np.polyfit(np.delete(x, k), np.delete(y, k), 1, w=1 / np.delete(level, k)), x[k])
            for k in range(len(x))
        ]
        first = np.polyval(np.polyfit(x, y, 1, w=1 / level), x)
        usual = np.sort(np.abs(y - alone) / first)[math.ceil(INSIDE * (len(x) + 1)) - 1]
        held = np.maximum(np.abs(y - first) / first / (2 * usual), 1.0)
        (slope, intercept), covariance = np.polyfit(x, y, 1, w=1 / level / np.sqrt(held), cov=True)
        assert slope == pytest.approx(found.slope[row])
        assert intercept == pytest.approx(found.intercept[row])
        assert math.sqrt(covariance[0, 0]) == pytest.approx(found.slope_error[row])
        assert known.sum() == found.pairs[row]


@pytest.mark.parametrize("noise", ["normal", "queue", "outliers"])
def test_two_of_three_new_times_are_inside_one_standard_error(noise: str) -> None:
    """Calibrated, whatever the noise: lines of 60 pairs each, judged by a pair they have not seen."""
    rng = np.random.default_rng(7)
    rates = rng.uniform(100, 1_000, (3_000, 61))
    level = 1.0 + 0.01 * rates
    sizes = {
        "normal": 1.0 + 0.1 * rng.standard_normal(rates.shape),
        "queue": rng.gamma(4.0, 0.25, rates.shape),
        "outliers": np.where(rng.random(rates.shape) < 0.03, 5.0, 1.0 + 0.05 * rng.standard_normal(rates.shape)),
    }
    times = level * sizes[noise]
    fit = fit_execution(rates[:, :60], times[:, :60])
    told, error = fit.predict(rates[:, 60])
    inside = np.mean(np.abs(times[:, 60] - told) <= error)
    assert INSIDE == pytest.approx(inside, abs=0.06), noise


@given(seeds)
@settings(max_examples=20)
def test_no_window_is_too_poor_or_too_odd_for_a_fit(seed: int) -> None:
    """Nothing measured, one second, equal rates, zeros and giants: NaN or a number, never a warning or an error."""
    rng = np.random.default_rng(seed)
    odd = np.array([0.0, 1e-9, 1.0, 1e12, np.nan])
    rates, times = rng.choice(odd, (8, 6)), rng.choice(odd, (8, 6))
    with np.errstate(all="raise", under="ignore"):
        fit = fit_execution(rates, times)
        told, error = fit.predict(np.full(8, 50.0))
    few = (np.isfinite(rates) & np.isfinite(times)).sum(axis=1) < PAIRS_MIN
    assert np.isnan(told[few]).all()
    assert np.isfinite(told[~few]).all()
    assert (error[~few] >= 0).all()


def test_a_rate_that_never_changed_tells_its_own_time_only() -> None:
    fit = fit_execution(np.full((1, 10), 100.0), np.full((1, 10), 5.0))
    assert (5.0, 0.0) == tuple(float(each[0]) for each in fit.predict(np.array([100.0])))
    assert math.isinf(fit.predict(np.array([200.0]))[1][0])


def test_a_signature_is_the_segments_that_were_drawn() -> None:
    """Figure 2.9: two ON/OFF streams, their levels, where segments begin, and what they are together."""
    rng = np.random.default_rng(11)
    levels = np.array([[400.0] * 20 + [25.0] * 10 + [400.0] * 30, [100.0] * 45 + [900.0] * 15])
    found = sign(rng.poisson(levels).astype(float), np.array([0.001, 0.0005]))
    assert np.allclose(levels * np.array([[0.001], [0.0005]]), found.loads, rtol=0.15)
    assert [[0, 20, 30], [0, 45]] == [np.flatnonzero(row).tolist() for row in found.begins]
    together = combine(found, np.array([0, 1]))
    assert 0.4 + 0.45 == pytest.approx(together[-1], rel=0.1)
    assert found.loads.sum(axis=0).tolist() == together.tolist()


def test_the_impact_of_more_load_is_told_segment_by_segment() -> None:
    """Eq 2.11, and no end where the host is full: an average over bursts would hide that."""
    found = impact(np.array([0.2, 0.8, 0.5]), np.array([0.3, 0.3, 0.0]), alone=2.0)
    assert [2 / 0.5 - 2 / 0.8, math.inf, 0.0] == pytest.approx(found.tolist())
