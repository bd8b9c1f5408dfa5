"""Synergy's chapter 3 with our data: what the figures stand on."""

import numpy as np
import pytest

from services.lab.experiments.synergy_application import COMPONENTS, OTHERS_LOAD, OWN_LOAD, Component, run_application
from services.lab.experiments.synergy_prediction import predicted_times, rate_error


@pytest.fixture(scope="module")
def application() -> list[Component]:
    return run_application(1)


def test_what_leaves_a_component_arrives_at_the_next(application: list[Component]) -> None:
    assert list(COMPONENTS) == [each.name for each in application]
    project, sort, aggregate, count, _ = application
    assert len(project.arrivals_s) == len(sort.arrivals_s)
    assert len(aggregate.arrivals_s) / 2 == pytest.approx(len(count.arrivals_s), rel=0.05)
    assert sort.arrivals_s == pytest.approx(np.sort(project.arrivals_s + project.times_ms / 1e3))


def test_hosts_are_busy_and_keep_up(application: list[Component]) -> None:
    """Overloaded hosts would show backlogs, which no line predicts (decision 0162)."""
    for each in application:
        assert each.times_ms[-500:].mean() < 20 * each.times_ms.mean()
    assert 0.6 == pytest.approx(OWN_LOAD + OTHERS_LOAD)


def test_rates_are_told_better_than_by_the_last_value_and_worse_when_told_seldom(application: list[Component]) -> None:
    for each in application:
        ours, last = rate_error(each)
        assert ours < last < 3.5
        assert ours < rate_error(each, 50)[0] < rate_error(each, 100)[0]


def test_errors_of_execution_times_are_about_what_they_say(application: list[Component]) -> None:
    inside = [np.abs(told - seen) <= error for told, error, seen in map(predicted_times, application)]
    assert 0.68 == pytest.approx(float(np.concatenate(inside).mean()), abs=0.06)
