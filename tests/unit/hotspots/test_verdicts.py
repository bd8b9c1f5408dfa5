"""How warnings are counted: stories whose verdict a person can tell."""

import numpy as np
import pytest

from placement.hotspots import VerdictParams, Verdicts
from placement.model.errors import ModelError


def judged(warned: str, broken: str, *, left: str = "") -> Verdicts:
    """One flow, a character a second: `!` is yes. Warnings hold for 5 s."""
    verdicts = Verdicts(1, 1, VerdictParams(holds_s=5, gap_s=2))
    for second, (said, was) in enumerate(zip(warned, broken, strict=True)):
        gone = np.array([second < len(left) and left[second] == "!"])
        verdicts.step(1_000 + second, np.array([[said == "!"]]), np.array([was == "!"]), left=gone)
    return verdicts


@pytest.mark.parametrize(
    ("warned", "broken", "expected"),
    [
        ("..!.....", ".....!!.", (1, 0, 0)),
        ("........", ".....!!.", (0, 1, 0)),
        (".....!..", ".....!!.", (0, 1, 0)),
        ("!.......", ".......!", (0, 1, 1)),
        ("!.......", "........", (0, 0, 1)),
        ("..!.....", "........", (0, 0, 1)),
        ("...!....", "........", (0, 0, 0)),
    ],
    ids=["right", "missed", "too late", "over before", "false", "just over", "still open"],
)
def test_a_break_within_its_time_makes_a_warning_right(
    warned: str, broken: str, expected: tuple[int, int, int]
) -> None:
    verdicts = judged(warned, broken)
    assert expected == (verdicts.hits[0], verdicts.misses[0], verdicts.false[0])


def test_the_lead_is_from_the_first_word_to_the_break() -> None:
    assert [3] == judged("..!!!...", ".....!..").leads_s[0]


def test_an_alarm_that_never_ends_is_mostly_false() -> None:
    """Else who always warns would have foreseen everything."""
    verdicts = judged("!" * 40, "." * 37 + "!!.")
    assert (1, 0, 7) == (verdicts.hits[0], verdicts.misses[0], verdicts.false[0])


def test_breaks_close_to_one_another_are_one_and_what_is_said_between_is_no_forecast() -> None:
    verdicts = judged("....!........", "..!!.!!......")
    assert (0, 1, 0) == (verdicts.hits[0], verdicts.misses[0], verdicts.false[0])


def test_what_is_broken_in_the_first_second_is_nobodys_miss() -> None:
    assert 0 == judged("....", "!!..").misses[0]


def test_a_warning_that_somebody_acted_on_is_not_judged() -> None:
    """It may be false because it was heeded."""
    assert 0 == judged("!.......", "........", left="..!").false[0]


def test_rules_are_judged_side_by_side_and_places_are_given_to_others() -> None:
    verdicts = Verdicts(2, 1, VerdictParams(holds_s=5))
    verdicts.grow(2)
    for second in range(8):
        warned = np.array([[True, True], [False, True]])
        verdicts.step(second, warned, np.array([second == 4, False]))
        if second == 4:
            verdicts.forget([1])
    assert ([1, 0], [0, 1], [0, 0]) == (verdicts.hits.tolist(), verdicts.misses.tolist(), verdicts.false.tolist())


def test_a_warning_that_holds_for_no_time_is_refused() -> None:
    with pytest.raises(ModelError, match="holds_s is 0"):
        VerdictParams(holds_s=0)
