"""Warnings of flows that come and go."""

import pytest

from placement.hotspots import VerdictParams
from services.modelling.flow_verdicts import FlowVerdicts


def test_each_flow_is_judged_by_itself_and_one_that_comes_later_takes_the_place_of_one_that_went() -> None:
    verdicts = FlowVerdicts(VerdictParams(holds_s=3))
    for second in range(10):
        slack_ms = {"calm": 5.0, "hot": -1.0 if second >= 2 else 1.0}
        verdicts.step(second, slack_ms, {"hot"} if second == 1 else set(), {})
    assert (1, 0, 0, [1]) == (verdicts.hits, verdicts.misses, verdicts.false, verdicts.leads_s)
    verdicts.keep({"calm"})
    for second in range(10, 20):
        verdicts.step(second, {"calm": 5.0, "new": 1.0 if second < 15 else -1.0}, set(), {})
    assert (1, 1, 0) == (verdicts.hits, verdicts.misses, verdicts.false)


def test_a_warning_after_which_somebody_left_is_not_judged() -> None:
    """That the bound then held is what the warning was for."""
    for later, false in ((("a", "hot"), 0), (("a", "other"), 1)):
        verdicts = FlowVerdicts(VerdictParams(holds_s=3))
        shared = {("a", "hot"), ("a", "other")}
        for second in range(10):
            company = {"hot": frozenset(shared if second < 2 else shared - {("a", "other")} | {later})}
            verdicts.step(second, {"hot": 1.0}, {"hot"} if second == 1 else set(), company)
        assert false == verdicts.false
    assert 0.84 == pytest.approx(verdicts.alarm.level), "and the alarm has learnt from it"


def test_a_warning_about_a_flow_that_then_ended_is_not_judged() -> None:
    verdicts = FlowVerdicts(VerdictParams(holds_s=3))
    both = {"hot": frozenset({("a", "hot")}), "calm": frozenset({("b", "calm")})}
    verdicts.step(1, {"hot": 1.0, "calm": 5.0}, {"hot"}, both)
    for second in range(2, 10):
        verdicts.step(second, {"calm": 5.0}, set(), {"calm": both["calm"]})
    assert 0 == verdicts.false


def test_a_place_that_is_given_on_begins_anew() -> None:
    """Of what is so in a flow's first second nobody could have warned, whoever had its place before."""
    verdicts = FlowVerdicts(VerdictParams(holds_s=3))
    verdicts.step(1, {"old": 1.0, "calm": 5.0}, set(), {})
    verdicts.keep({"calm"})
    verdicts.step(2, {"calm": 5.0}, set(), {})
    verdicts.step(3, {"calm": 5.0, "new": -1.0}, set(), {})
    assert 0 == verdicts.misses


@pytest.mark.parametrize(
    ("late_s", "breaks", "hits", "misses", "leads_s"),
    [
        (0.0, 3, 1, 0, [2]),
        (0.9, 3, 1, 0, [1]),
        (1.0, 3, 1, 0, [1]),
        (1.1, 3, 0, 1, []),
        (2.1, 4, 0, 1, []),
        (2.1, 5, 1, 0, [1]),
    ],
)
def test_a_warning_counts_from_when_it_was_told(
    late_s: float, breaks: int, hits: int, misses: int, leads_s: list[int]
) -> None:
    """Models come seconds after the second that they rest on: what broke before that was foreseen for nobody."""
    verdicts = FlowVerdicts(VerdictParams(holds_s=5))
    for second in range(9):
        warned = {"hot"} if 1 <= second < breaks else set()
        verdicts.step(second, {"hot": -1.0 if second == breaks else 1.0}, warned, {})
        verdicts.told(second, late_s)
    assert (hits, misses, leads_s) == (verdicts.hits, verdicts.misses, verdicts.leads_s)
    assert 0 == verdicts.false


def test_a_warning_that_is_told_between_two_models_counts_from_then() -> None:
    """On a busy machine there are models of each third second only."""
    verdicts = FlowVerdicts(VerdictParams(holds_s=5))
    for second in (100, 103):
        verdicts.step(second, {"hot": 1.0 if second == 100 else -1.0}, {"hot"} if second == 100 else set(), {})
        verdicts.told(second, 0.5)
    assert (1, 0, [2]) == (verdicts.hits, verdicts.misses, verdicts.leads_s)


def test_of_a_second_that_is_gone_through_again_one_warning_counts() -> None:
    """What could not be written is made again, later; by then it may be another one."""
    verdicts = FlowVerdicts(VerdictParams(holds_s=2))
    verdicts.step(1, {"hot": 1.0}, {"hot"}, {})
    verdicts.step(1, {"hot": 1.0}, set(), {})
    for second in range(2, 9):
        verdicts.step(second, {"hot": 1.0}, set(), {})
    assert (0, 0, 0) == (verdicts.hits, verdicts.misses, verdicts.false)
