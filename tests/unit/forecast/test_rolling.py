"""Rates tuple by tuple: the gap that leaves the window is known."""

import numpy as np
import pytest

from placement.forecast.rolling import next_rates, rolling_rates


def test_rates_are_those_of_the_last_records() -> None:
    times_s = np.cumsum(np.random.default_rng(3).exponential(0.1, 300))
    found = rolling_rates(times_s, 100)
    assert 200 == len(found) == len(next_rates(times_s, 100))
    assert 100 / (times_s[299] - times_s[199]) == pytest.approx(found[-1])


def test_of_even_gaps_the_next_rate_is_told_exactly_even_after_a_pause() -> None:
    """A pause leaves the window at a moment that is known: the last value misses it, this does not."""
    times_s = np.cumsum([0.1] * 200 + [5.0] + [0.1] * 199)
    rates, told = rolling_rates(times_s, 100), next_rates(times_s, 100)
    leaves = 199
    assert rates[leaves + 1] > 1.3 * rates[leaves], "the pause has left"
    assert rates[leaves + 1] == pytest.approx(told[leaves])


def test_of_random_gaps_the_next_rate_is_missed_by_less_than_the_last_value_does() -> None:
    """Exponential gaps: ln 2 against 1."""
    times_s = np.cumsum(np.random.default_rng(4).exponential(0.1, 20_000))
    rates, told = rolling_rates(times_s, 100), next_rates(times_s, 100)
    missed = np.abs(told[:-1] - rates[1:]).sum() / np.abs(rates[:-1] - rates[1:]).sum()
    assert np.log(2) == pytest.approx(missed, rel=0.05)
