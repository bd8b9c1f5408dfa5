"""Errors of slack forecasts: each flow's own, by horizon, as flows come and go."""

from collections.abc import Sequence

import numpy as np

from services.modelling.slack_errors import KEEP, SlackErrors


def score(errors: SlackErrors, second: int, flows: Sequence[str], slack_ms: list[float], ago_s: int = 0) -> None:
    """All of them measured in this second, or so long before."""
    by_second = np.full((len(flows), 6), np.nan)
    by_second[:, -1 - ago_s] = slack_ms
    errors.score(second, flows, by_second)


def test_each_forecast_is_held_against_what_was_measured_in_its_second() -> None:
    """One second ahead 3 and 5 ms off, two seconds ahead 7 ms; a flow that was not measured is not judged."""
    errors = SlackErrors((1, 2))
    errors.note(100, ["a", "b"], np.array([[10.0, 20.0], [1.0, 1.0]]))
    score(errors, 101, ["a"], [13.0])
    errors.note(101, ["a"], np.array([[18.0, 0.0]]))
    score(errors, 102, ["c", "a"], [99.0, 13.0])
    np.testing.assert_allclose(errors.of(["a"]), [[(3 * KEEP + 5) / (KEEP + 1), 7.0]])
    assert np.isnan(errors.of(["b", "c"])).all()


def test_a_flow_that_ended_takes_nothing_of_others_along() -> None:
    """Places of flows move up: no forecast may be held against another flow's slack."""
    errors = SlackErrors((1,))
    errors.note(100, ["a", "b"], np.array([[10.0], [50.0]]))
    score(errors, 101, ["a", "b"], [11.0, 52.0])
    errors.note(101, ["a", "b"], np.array([[10.0], [50.0]]))
    errors.keep({"b"})
    score(errors, 102, ["b"], [50.0])
    np.testing.assert_allclose(errors.of(["b", "a"]), [[2.0], [np.nan]])


def test_what_was_measured_late_is_held_against_what_was_forecast_for_it_and_once() -> None:
    """A host's clock is behind, or nobody came since: the same second is told again, and is no later one."""
    errors = SlackErrors((1,))
    for second in (100, 101, 102):
        errors.note(second, ["a"], np.array([[float(second)]]))
    score(errors, 103, ["a"], [105.0], ago_s=2)
    np.testing.assert_allclose(errors.of(["a"]), [[5.0]])
    score(errors, 104, ["a"], [105.0], ago_s=3)
    np.testing.assert_allclose(errors.of(["a"]), [[5.0]])
    score(errors, 104, ["a"], [104.0], ago_s=1)
    np.testing.assert_allclose(errors.of(["a"]), [[(5 * KEEP + 2) / (KEEP + 1)]])


def test_seconds_that_one_batch_closes_together_are_all_held_against_their_forecasts() -> None:
    """On a busy machine there are models of each third second only: none would ever be of a second ahead."""
    errors = SlackErrors((1, 3))
    errors.note(100, ["a"], np.array([[10.0, 20.0]]))
    errors.score(103, ["a"], np.array([[0.0, 11.0, 12.0, 23.0]]))
    np.testing.assert_allclose(errors.of(["a"]), [[1.0, 3.0]])
