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
