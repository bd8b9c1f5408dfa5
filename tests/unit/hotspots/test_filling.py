"""How queues fill, against real ones and against what is known of their ends."""

import itertools

import numpy as np
import pytest

from placement.hotspots.filling import filled_ms
from placement.queueing.real_queue import draw, lindley


def filled(waiting_ms: float, rho: float, time_ms: float) -> float:
    """M/M/1 with messages of 1 ms."""
    return float(filled_ms(np.array([waiting_ms]), np.array([rho - 1.0]), np.array([2.0 * rho]), time_ms)[0])


@pytest.mark.parametrize(
    ("rho", "waiting_ms", "time_ms"),
    [*itertools.product((0.7, 0.97, 1.03, 1.2), (0.0, 30.0, 200.0), (200.0, 1_000.0))],
)
def test_the_mean_is_that_of_a_real_queue(rho: float, waiting_ms: float, time_ms: float) -> None:
    """Message by message, 300 times: the work that is there after a time; nothing of the formula is used for it."""
    rng = np.random.default_rng(7)
    seen = []
    for _ in range(300):
        count = int(time_ms * rho * 1.3) + 60
        arrivals = np.concatenate([[0.0], np.cumsum(draw(1.0 / rho, 1.0, count, rng))])
        works = np.concatenate([[waiting_ms], draw(1.0, 1.0, count, rng)])
        last = int(np.searchsorted(arrivals, time_ms)) - 1
        left = lindley(arrivals, works)[last] + works[last] - (time_ms - arrivals[last])
        seen.append(max(0.0, float(left)))
    assert np.mean(seen) == pytest.approx(filled(waiting_ms, rho, time_ms), rel=0.15, abs=1.0)


@pytest.mark.parametrize("rho", [0.3, 0.8, 0.95])
def test_after_a_long_time_it_is_the_wait_of_the_queueing_formula(rho: float) -> None:
    assert rho / (1 - rho) == pytest.approx(filled(0.0, rho, 1e6), rel=1e-3)


def test_no_extreme_makes_it_infinite_or_negative() -> None:
    """Idle hosts, hosts far beyond capacity, large backlogs, no variation: all at once, as arrays are."""
    waiting_ms, drift, variance = (
        np.array(each) for each in zip(*itertools.product((0.0, 1e7), (-1.0, 0.0, 1e-9, 50.0), (0.0, 1e6)), strict=True)
    )
    found = filled_ms(waiting_ms, drift, variance, 1_000.0)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
