"""Scores of forecasts: only what was measured counts, and only for whom it was forecast."""

from collections.abc import Callable

import pytest

from services.modelling.modeller import Modeller
from services.modelling.params import FitParams
from services.modelling.rows import Rows
from services.modelling.scoreboard import LEADS_MAX, Scoreboard
from topics.messages import ScoreModel

Batch = Callable[..., Rows]
HORIZONS_S = FitParams().forecast.horizons
TCP = ("edge-1", "talk", "talk.aa", "tcp")
LATE = ("edge-9", "talk", "talk.bb", "slow")


def told(arrivals: float) -> dict[str, float]:
    return {"rows": 1.0, "arrivals": arrivals}


def score(board: Scoreboard, what: str = "1 s") -> ScoreModel:
    return next(each for each in board.scores() if (each.of, each.what) == ("forecast", what))


def test_a_second_that_is_not_known_judges_no_forecast(batch: Batch) -> None:
    """The last value stands in for it, and against that the last value is never wrong."""
    modeller, board = Modeller(FitParams(window_s=30)), Scoreboard(HORIZONS_S, keep=1.0)
    for second in range(1_000, 1_020):
        rows = {TCP: {second: told(50.0)}}
        if second not in (1_010, 1_011):
            rows[LATE] = {second: told(100.0 + 10.0 * second)}
        modeller.take(batch(second + 1.5, operator=rows))
        board.look(modeller)
    # Twice nineteen, less the two that were not known.
    assert 36 == score(board).predictions


def test_a_forecast_judges_nobody_who_took_the_place_of_another(batch: Batch) -> None:
    """Places of series that ended are given to others, whose rates have nothing to do with them."""
    modeller, board = Modeller(FitParams(window_s=30)), Scoreboard(HORIZONS_S, keep=1.0)
    for second in range(1_000, 1_040):
        rows = {TCP: {second: told(50.0)}}
        if second < 1_002:
            rows[LATE] = {second: told(1e6)}
        modeller.take(batch(second + 1.5, operator=rows))
        board.look(modeller)
    place = modeller.forecasts._places["talk", "slow"]
    assert modeller.sweep()
    modeller.take(
        batch(1_041.5, operator={TCP: {1_040: told(50.0)}, ("edge-1", "new", "n.a", "n"): {1_040: told(9.0)}})
    )
    board.look(modeller)
    assert place == modeller.forecasts._places["new", "n"]
    counted = score(board, "10 s").predictions
    for second in range(1_041, 1_045):
        new = {("edge-1", "new", "n.a", "n"): {second: told(9.0)}}
        modeller.take(batch(second + 1.5, operator={TCP: {second: told(50.0)}, **new}))
        board.look(modeller)
    assert counted + 4 == score(board, "10 s").predictions, "of the one that has been there all the time"


def test_seconds_that_one_batch_closes_together_are_scored_one_by_one(batch: Batch) -> None:
    """On a busy machine there are models of each third second: what they say of the next one came due unseen."""
    modeller, board = Modeller(FitParams(window_s=30)), Scoreboard(HORIZONS_S, keep=1.0)
    for last in range(1_002, 1_063, 3):
        served = {"served": 50.0, "service_us": 1_000.0, "service_us_sq": 30_000.0}
        rows = {TCP: {second: told(50.0 + second % 3) | served for second in range(last - 2, last + 1)}}
        modeller.take(batch(last + 1.5, operator=rows))
        board.look(modeller)
    counted = {(each.of, each.what): each.predictions for each in board.scores()}
    # Twenty looks after the first, at which there were too few seconds for a line over the host's rate.
    assert {
        ("forecast", "1 s"): 20,
        ("forecast", "10 s"): 17,
        ("forecast", "60 s"): 1,
        ("service", "1 s"): 19,
    } == counted


def test_what_was_told_can_be_gone_on_from() -> None:
    """The same scores come out that went in, and again when others are added."""
    before = [
        ScoreModel("forecast", "10 s", 1_000, 0.3, 0.4, size=10_000.0),
        ScoreModel("service", "1 s", 100, 0.1, 0.2, inside=0.7, size=500.0),
        ScoreModel("hotspot", "all", 10, precision=0.8, recall=0.5, lead_s=4.0, broken=16),
    ]
    board = Scoreboard(HORIZONS_S)
    board.resume(before)
    for was, now in zip(before, board.scores(), strict=True):
        for name in ScoreModel.__struct_fields__:
            assert getattr(now, name) == (
                pytest.approx(expected) if isinstance(expected := getattr(was, name), float) else expected
            )
    board.resume([ScoreModel("forecast", "10 s", 9, 0.3, 0.4)])
    assert 1_000 == score(board, "10 s").predictions, "of an earlier release: it does not say what it is made of"


def test_leads_of_all_that_ever_came_true_are_not_kept() -> None:
    """Each restart made as many of them as there had been hits for ever, and each batch copied and sorted them."""
    board, told = Scoreboard(HORIZONS_S), ScoreModel("hotspot", "all", 10**9, precision=0.8, lead_s=4.0, broken=10**9)
    for _ in range(2):
        board.resume([told])
        assert LEADS_MAX == len(board._before.leads_s)
    (score,) = board.scores()
    assert (4.0, 0.8, 0.8) == (score.lead_s, score.precision, score.recall), "hits count all the same"


def test_leads_of_before_give_way_to_new_ones(batch: Batch) -> None:
    """The lead that is told is of the last warnings, as in a process that never ended."""
    board, modeller = Scoreboard(HORIZONS_S), Modeller(FitParams(window_s=30))
    board.resume([ScoreModel("hotspot", "all", LEADS_MAX, precision=1.0, recall=1.0, lead_s=9.0, broken=LEADS_MAX)])
    modeller.hot_spots.verdicts._verdicts.leads_s[0] += [2] * (LEADS_MAX // 2 + 1)
    board.look(modeller)
    (score,) = board.scores()
    assert 2.0 == score.lead_s
