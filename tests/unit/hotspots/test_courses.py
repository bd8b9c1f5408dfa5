"""Courses of series whose future is known."""

import numpy as np
import pytest

from placement.hotspots import CourseParams, Courses
from placement.model.errors import ModelError

PARAMS = CourseParams(steps=(1, 2, 5), courses=30, alike=60, memory=400)


def saw(second: int) -> float:
    """A rise of ten seconds from 100 to 200 in every minute."""
    return 100.0 + 10.0 * min(max(second % 60 - 20, 0), 10) - (100.0 if second % 60 > 40 else 0.0)


def told(courses: Courses, series: int = 0) -> np.ndarray:
    return courses.ahead(np.array([series]))[0]


def test_a_rise_that_came_before_is_seen_to_go_on() -> None:
    """In the middle of a rise its courses rise; on the plain before it they may or may not."""
    courses = Courses(1, PARAMS)
    for second in range(326):
        courses.step(np.array([saw(second)]))
        if second == 310:
            assert 100.0 == pytest.approx(np.median(told(courses)[0]), rel=0.05)
    middle = np.median(told(courses), axis=1)
    assert saw(326) == pytest.approx(middle[0], rel=0.05)
    assert np.mean([saw(second) for second in (328, 329, 330)]) == pytest.approx(middle[2], rel=0.08)


def test_bursts_are_as_likely_as_they_were() -> None:
    """One second in ten at ten times the rate, by chance: no forecast of the middle tells that, courses do."""
    rng = np.random.default_rng(3)
    courses = Courses(1, PARAMS)
    shares = []
    for second in range(800):
        courses.step(np.array([1_000.0 if rng.random() < 0.1 else 100.0]))
        if second >= 400:
            shares.append((told(courses)[0] > 400.0).mean())
    assert 0.1 == pytest.approx(np.mean(shares), abs=0.03)


def test_series_learn_from_one_another_whatever_their_size() -> None:
    """One that is new is told by moments of another a thousand times as large."""
    courses = Courses(2, PARAMS)
    for second in range(326):
        courses.step(np.array([saw(second) * 1_000.0, saw(second) if second >= 290 else np.nan]))
    assert saw(326) == pytest.approx(np.median(told(courses, 1)[0]), rel=0.1)


def test_without_a_past_rates_go_on_as_they_did_or_a_part_of_it() -> None:
    courses = Courses(1, PARAMS)
    for value in range(100, 200, 10):
        courses.step(np.array([float(value)]))
    found = told(courses)
    assert (180.0, 190.0) == pytest.approx((found[0, 0], found[0, -1])), "the mean of three seconds, and one more"
    assert (180.0, 230.0) == pytest.approx((found[2, 0], found[2, -1])), "up to five more"


def test_silence_and_places_for_others() -> None:
    """A series of zeros stays at zero; one that ends leaves nothing to who takes its place."""
    courses = Courses(1, PARAMS)
    courses.grow(2)
    for second in range(200):
        courses.step(np.array([0.0, saw(second)]))
    assert 0.0 == pytest.approx(told(courses).max(), abs=1e-6)
    courses.forget(np.array([1]))
    courses.step(np.array([0.0, 7.0]))
    assert 7.0 == pytest.approx(told(courses, 1)[0].max(), rel=0.01)


@pytest.mark.parametrize(
    ("wrong", "complaint"), [({"steps": (2, 1)}, "ascending"), ({"courses": 200}, "1 to 150"), ({"memory": 50}, "70")]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(ModelError, match=complaint):
        CourseParams(**wrong)  # type: ignore[arg-type]


def test_courses_are_set_right_for_where_exactly_one_stands() -> None:
    """Growth that was never seen, steeper than all before: what followed depends on it in a line that goes on."""
    courses = Courses(1, PARAMS)
    value = 100.0
    for second in range(400):
        growth = 1.0 + 0.004 * (second // 40 % 9) if second < 360 else 1.045
        value = 100.0 if second % 40 == 0 else value * growth
        courses.step(np.array([value]))
        if second == 375:
            assert value * 1.045 == pytest.approx(np.median(told(courses)[0]), rel=0.03), "else 4 % too low"
