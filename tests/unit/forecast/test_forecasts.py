"""Forecasts of series whose future is known: each kind of stream has an expert, and the mixture finds it."""

import math
from random import Random

import numpy as np
import pytest

from placement.forecast import EXPERTS, Forecaster, ForecastParams
from placement.forecast.correlation import find_guides
from placement.forecast.median import weighted_median
from placement.forecast.scores import VOICES, Scores
from placement.forecast.season import seasons
from placement.model.errors import ModelError


def run(columns: list[list[float]], params: ForecastParams) -> Forecaster:
    forecaster = Forecaster(len(columns), params)
    for values in zip(*columns, strict=True):
        forecaster.step(np.array(values))
    return forecaster


def daily(steps: int, *, period: int = 24) -> list[float]:
    return [100.0 + 80.0 * math.sin(2 * math.pi * step / period) for step in range(steps)]


def test_a_season_is_found_and_told_ahead() -> None:
    """A rhythm repeats: ten steps ahead the last value is far off, yesterday is not."""
    series = daily(400)
    ahead = run([series[:-10]], ForecastParams(memory=512)).forecast()
    assert series[-1] == pytest.approx(ahead.values[0, 1], abs=5)
    assert abs(series[-1] - series[-11]) > 20, "the last value must not do"


def test_a_season_is_told_beyond_its_own_length() -> None:
    """A minute ahead is more than one turn of a quick rhythm."""
    rng = Random(13)
    series = [rng.uniform(0, 200) for _ in range(20)] * 20
    ahead = run([series[:-35]], ForecastParams(horizons=(1, 35), memory=512)).forecast()
    assert series[-1] == pytest.approx(ahead.values[0, 1], abs=5)


def test_noise_around_a_level_is_told_by_its_middle() -> None:
    rng = Random(7)
    series = [rng.uniform(50, 150) for _ in range(600)]
    ahead = run([series], ForecastParams(memory=1_024)).forecast()
    assert 100 == pytest.approx(ahead.values[0, 0], abs=15)


def test_the_error_of_a_forecast_is_what_it_turns_out_to_be() -> None:
    """Uniform noise of 50 to 150 is missed by 25 on average, whoever forecasts it."""
    rng = Random(8)
    series = [rng.uniform(50, 150) for _ in range(800)]
    ahead = run([series], ForecastParams(memory=1_024)).forecast()
    assert 25 == pytest.approx(ahead.errors[0, 0], rel=0.15)


def test_a_burst_does_not_carry_the_forecast_away() -> None:
    series = [10.0] * 300 + [10_000.0] + [10.0] * 3
    ahead = run([series], ForecastParams(memory=512)).forecast()
    assert 10 == pytest.approx(ahead.values[0, 0], rel=0.3)


def test_an_upstream_operator_that_is_ahead_is_listened_to() -> None:
    """Downstream repeats upstream four steps later: noise that nobody could forecast without looking there."""
    rng = Random(9)
    upstream = [rng.uniform(0, 100) for _ in range(500)]
    downstream = [0.0] * 4 + upstream[:-4]
    pairs = np.array([[1, 0]])
    linked = Forecaster(2, ForecastParams(horizons=(1, 2), memory=512))
    for step, values in enumerate(zip(upstream, downstream, strict=True)):
        linked.step(np.array(values))
        if step == 200:
            linked.link(pairs)
    assert (0, 4) == (linked.guides.upstream[1], linked.guides.lag[1])
    ahead = linked.forecast().values
    assert upstream[-4] == pytest.approx(ahead[1, 0], abs=8)
    assert upstream[-3] == pytest.approx(ahead[1, 1], abs=8)


def test_two_series_that_only_grow_are_no_guides() -> None:
    """A common trend is chance; only changes count."""
    rng = Random(10)
    past = np.array([[step + rng.gauss(0, 5), step + rng.gauss(0, 5)] for step in range(200)])
    assert -1 == find_guides(past, np.array([[0, 1]])).upstream[0]


def test_noise_has_no_season() -> None:
    rng = Random(11)
    past = np.array([[rng.uniform(0, 1), value] for value in daily(300)])
    assert [0, 24] == seasons(past, shortest=6, correlation=0.3).tolist()


def test_unknown_values_change_no_score_and_no_level() -> None:
    rng = Random(12)
    series = [rng.uniform(50, 150) for _ in range(300)]
    gaps = [*series[:-20], *[math.nan] * 20]
    ahead = run([gaps], ForecastParams(memory=512)).forecast()
    before = run([series[:-20]], ForecastParams(memory=512)).forecast()
    assert before.errors[0, 0] == pytest.approx(ahead.errors[0, 0])
    assert 100 == pytest.approx(ahead.values[0, 0], abs=50)


def test_a_series_that_ended_leaves_nothing_to_the_next_in_its_place() -> None:
    forecaster = run([[1_000.0] * 200, [5.0] * 200], ForecastParams(memory=256))
    forecaster.forget(np.array([0]))
    forecaster.step(np.array([3.0, 5.0]))
    assert 3 == pytest.approx(forecaster.forecast().values[0, 0])
    assert 0 == forecaster.forecast().trust[0, 0]


@pytest.mark.parametrize("place", ["new", "kept free", "of one that ended"])
def test_a_series_is_not_judged_by_what_was_forecast_before_it_began(place: str) -> None:
    """A constant stream that begins late is told without error, however far ahead, and learns nothing of the past."""
    params = ForecastParams(horizons=(1, 10, 30), memory=600)
    before = 500.0 if place == "of one that ended" else math.nan
    forecaster = run([[5.0] * 35] if place == "new" else [[5.0] * 35, [before] * 35], params)
    if place == "new":
        forecaster.grow(2)
    forecaster.forget(np.array([1]))
    for _ in range(10):
        forecaster.step(np.array([5.0, 100.0]))
    early = forecaster.forecast()
    assert [True, False, False] == (early.trust[1] > 0).tolist()
    assert [0.0] == pytest.approx(early.errors[1, :1])
    for _ in range(50):
        forecaster.step(np.array([5.0, 100.0]))
    later = forecaster.forecast()
    assert [0.0] * 3 == pytest.approx(later.errors[1], abs=1e-6)
    assert [100.0] * 3 == pytest.approx(later.values[1])
    for voices in forecaster.voices():
        assert [100.0] * len(voices) == pytest.approx(voices[:, 1]), "every expert, regressions too"


def test_a_gap_does_not_make_a_series_younger() -> None:
    """What was forecast before a gap is judged after it."""
    params = ForecastParams(horizons=(1, 10), memory=256)
    ahead = run([[100.0] + [math.nan] * 10 + [100.0]], params).forecast()
    assert [1.0, 1.0] == ahead.trust[0].tolist()


def test_new_series_find_room_and_leave_the_others_alone() -> None:
    alone = run([daily(200)], ForecastParams(memory=256))
    joined = run([daily(200)], ForecastParams(memory=256))
    joined.grow(3)
    for value in daily(250)[200:]:
        alone.step(np.array([value]))
        joined.step(np.array([value, 7.0, math.nan]))
    assert alone.forecast().values[0] == pytest.approx(joined.forecast().values[0])
    assert 7 == pytest.approx(joined.forecast().values[1, 1])


def test_when_the_best_voice_falls_silent_the_others_are_heard() -> None:
    """A season that was never wrong leaves all others next to no weight; when it ends they are what there is."""
    scores, voices = Scores(1, 1, ForecastParams()), np.full((VOICES, 1), 7.0)
    told = np.full((VOICES, 1), 1e6)
    told[EXPERTS.index("season ago")] = 0.0
    for _ in range(50):
        scores.judge(told, np.zeros(1), np.array([True]), np.ones(1))
    speaks = np.ones((len(EXPERTS), 1), dtype=bool)
    speaks[EXPERTS.index("season ago")] = False
    assert [7.0] == pytest.approx(scores.choose(voices[:-1], speaks, np.ones(1)))


def test_after_a_shift_beyond_all_that_was_seen_the_last_value_is_told() -> None:
    """Every expert remembers a level that is gone, ten steps ahead for as long as nothing from beyond has come due."""
    rng = Random(14)
    series = [100 * rng.uniform(0.9, 1.1) for _ in range(300)] + [1_000 * rng.uniform(0.9, 1.1) for _ in range(8)]
    ahead = run([series], ForecastParams(memory=512)).forecast()
    assert series[-1] == ahead.values[0, 1]


def test_a_jump_of_an_even_level_is_followed_at_once() -> None:
    """Nothing has been told wrong yet, so that all rules look alike; the last value is right about jumps."""
    ahead = run([[100.0] * 150 + [300.0]], ForecastParams(memory=512)).forecast()
    assert [300.0, 300.0] == pytest.approx(ahead.values[0])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"horizons": ()}, "horizons are"),
        ({"horizons": (10, 1)}, "ascending"),
        ({"memory": 10}, "at least 64"),
        ({"horizons": (1, 50), "memory": 100}, "a quarter of the memory"),
        ({"score_steps": 1}, "give 10 or more"),
        ({"regression_steps": (1_000, 300, 1)}, "give 20 or more each"),
        ({"solve_every": 0}, "give 1 or more"),
        ({"sharpness": 0.0}, "above 0"),
        ({"choice_sharpness": 0.0}, "above 0"),
        ({"record_steps": 1}, "give 10 or more"),
        ({"settle_steps": -1}, "give 0 or more"),
    ],
)
def test_bad_settings_say_what_to_give(wrong: dict, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        ForecastParams(**wrong)


def test_the_weighted_median_of_equal_voices_is_the_middle_one() -> None:
    values = np.array([[1.0], [50.0], [3.0]])
    assert 3 == pytest.approx(weighted_median(values, np.ones((3, 1)))[0])


def test_a_voice_without_weight_is_not_heard() -> None:
    values = np.array([[1.0], [50.0]])
    assert 1 == pytest.approx(weighted_median(values, np.array([[1.0], [0.0]]))[0])
