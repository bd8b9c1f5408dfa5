"""Errors of slack forecasts: each flow's own, by horizon, as flows come and go."""

import numpy as np

from services.modelling.slack_errors import KEEP, SlackErrors


def test_each_forecast_is_held_against_what_was_measured_in_its_second() -> None:
    """One second ahead 3 and 5 ms off, two seconds ahead 7 ms; a flow that was not measured is not judged."""
    errors = SlackErrors((1, 2))
    errors.note(100, ["a", "b"], np.array([[10.0, 20.0], [1.0, 1.0]]))
    errors.score(101, ["a"], np.array([13.0]))
    errors.note(101, ["a"], np.array([[18.0, 0.0]]))
    errors.score(102, ["c", "a"], np.array([99.0, 13.0]))
    np.testing.assert_allclose(errors.of(["a"]), [[(3 * KEEP + 5) / (KEEP + 1), 7.0]])
    assert np.isnan(errors.of(["b", "c"])).all()


def test_a_flow_that_ended_takes_nothing_of_others_along() -> None:
    """Places of flows move up: no forecast may be held against another flow's slack."""
    errors = SlackErrors((1,))
    errors.note(100, ["a", "b"], np.array([[10.0], [50.0]]))
    errors.score(101, ["a", "b"], np.array([11.0, 52.0]))
    errors.note(101, ["a", "b"], np.array([[10.0], [50.0]]))
    errors.keep({"b"})
    errors.score(102, ["b"], np.array([50.0]))
    np.testing.assert_allclose(errors.of(["b", "a"]), [[2.0], [np.nan]])
