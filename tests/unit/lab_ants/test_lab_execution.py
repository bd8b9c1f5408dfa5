"""What is made of a live host's own figures: pairs of rate and time, and how well lines tell them."""

from typing import Any

import numpy as np
import pytest

from services.lab.experiments.execution import (
    FASTEST_PER_S,
    PERIOD_S,
    SLOWEST_PER_S,
    _judged,
    _pairs,
    _ramp,
    brain_questions,
)
from topics.messages import Moments, OperatorMetrics


def row(second: int, operator: str, arrivals: int, served: int, spent_us: float) -> OperatorMetrics:
    none = Moments(0, 0.0, 0.0)
    counts: dict[str, Any] = dict.fromkeys(
        ("outputs", "lag", "bytes_in", "bytes_out", "state_bytes", "late", "dropped", "dead_letters"), 0
    )
    return OperatorMetrics(
        host="h",
        flow="f",
        segment="s",
        operator=operator,
        partition=0,
        second=second,
        arrivals=arrivals,
        gaps_us=none,
        batch=none,
        service_us=Moments(served, spent_us, spent_us**2),
        wait_us=none,
        **counts,
    )


def test_pairs_are_of_whole_seconds_and_of_all_operators() -> None:
    """The first and the last second were seen in part; a second with few records tells no time."""
    rows = [row(second, name, 100, 100, 500.0) for second in (1, 2, 4) for name in ("a", "b")]
    rates, times_us = _pairs([*rows, row(3, "a", 5, 5, 50.0)])
    assert [200, 5] == rates.tolist()
    assert (5.0, True) == (times_us[0], bool(np.isnan(times_us[1])))


def test_the_ramp_rises_and_falls() -> None:
    found = [_ramp(at_s) for at_s in (0.0, PERIOD_S / 2, PERIOD_S)]
    assert [SLOWEST_PER_S, FASTEST_PER_S, SLOWEST_PER_S] == pytest.approx(found)


def test_times_on_a_line_are_told_within_their_noise() -> None:
    rng = np.random.default_rng(2)
    rates = np.array([_ramp(float(second)) for second in range(400)])
    times_us = (5.0 + 0.001 * rates) * (1.0 + 0.05 * rng.standard_normal(400))
    found = {sample.measure: sample.value for sample in _judged(rates, times_us, seed=1) if sample.measure}
    assert 0.034 == pytest.approx(found["error of an execution time, median"], rel=0.3)
    assert 0.68 == pytest.approx(found["inside one standard error"], abs=0.08)
    assert 0 < found["one prediction in the brain, slowest question"] < 0.1


def test_the_brain_has_an_answer_to_each_question_that_is_timed() -> None:
    """A doubt would be quicker than a prediction."""
    answers = {name: ask() for name, ask in brain_questions().items()}
    assert {"rate": 105.0, "variation": 1.0, "selectivity": 0.5} == {
        name: answer for name, answer in answers.items() if name != "service"
    }
    assert (0.02, 0.0002) == pytest.approx(answers["service"])
