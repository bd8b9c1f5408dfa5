"""A level that finds the wanted precision by itself, whatever the chances are worth."""

import numpy as np
import pytest

from placement.hotspots import Alarm, AlarmParams, VerdictParams, Verdicts
from placement.model.errors import ModelError


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0], ids=["too modest", "calibrated", "too sure"])
def test_the_wanted_share_of_warnings_comes_true_however_wrong_the_chances_are(power: float) -> None:
    """Two hundred flows whose bounds break in the next second with a chance that is told as another one."""
    rng = np.random.default_rng(11)
    flows = 200
    alarm, verdicts = Alarm(AlarmParams()), Verdicts(1, flows, VerdictParams(holds_s=1, gap_s=0))
    broken, counted = np.zeros(flows, dtype=bool), (0.0, 0.0)
    for second in range(400):
        chance = rng.uniform(0.0, 1.0, flows)
        verdicts.step(second, (chance >= alarm.level)[None], broken)
        alarm.learn(verdicts)
        broken = rng.uniform(0.0, 1.0, flows) < chance**power
        if second == 200:
            counted = (float(verdicts.hits[0]), float(verdicts.false[0]))
    hits, false = verdicts.hits[0] - counted[0], verdicts.false[0] - counted[1]
    assert 0.8 == pytest.approx(hits / (hits + false), abs=0.03)


def test_it_begins_at_what_it_wants_and_stays_where_it_can_be_tried_out() -> None:
    alarm, verdicts = Alarm(AlarmParams()), Verdicts(1, 1, VerdictParams())
    assert 0.8 == alarm.level
    verdicts.false[0] = 1
    alarm.learn(verdicts)
    assert 0.84 == pytest.approx(alarm.level)
    verdicts.false[0] = 1_000
    alarm.learn(verdicts)
    assert alarm.params.highest == alarm.level
    verdicts.hits[0] = 10_000
    alarm.learn(verdicts)
    assert alarm.params.lowest == alarm.level


def test_nobody_is_warned_before_something_foreseen_has_come_true_nor_after_too_much_has_not() -> None:
    """What it foresees is judged all the same, so that it can earn its voice, and earn it anew."""
    alarm, verdicts = Alarm(AlarmParams()), Verdicts(1, 1, VerdictParams())
    assert not alarm.speaks
    for hits, false, speaks in (
        (2, 0, False),
        (3, 0, True),
        (3, 1, True),
        (3, 2, False),
        (7, 2, True),
        (40, 40, False),
    ):
        verdicts.hits[0], verdicts.false[0] = hits, false
        alarm.learn(verdicts)
        assert speaks is alarm.speaks, (hits, false)
    verdicts.hits[0] = 80
    alarm.learn(verdicts)
    assert alarm.speaks, "what was long ago is forgotten"


@pytest.mark.parametrize(
    ("hits", "false", "speaks"), [(0, 0, False), (3, 0, True), (3, 2, False), (800, 200, True), (600, 400, False)]
)
def test_after_a_restart_it_speaks_if_most_came_true_before(hits: int, false: int, speaks: bool) -> None:
    """Else three bounds would have to break unannounced after each restart."""
    alarm = Alarm(AlarmParams())
    alarm.resume(hits, false)
    assert speaks is alarm.speaks


def test_what_is_judged_after_a_restart_counts_as_later_than_what_was_before() -> None:
    """Redis may answer late: until then the alarm learns without it."""
    alarm, verdicts = Alarm(AlarmParams()), Verdicts(1, 1, VerdictParams())
    verdicts.false[0] = 20
    alarm.learn(verdicts)
    alarm.resume(300, 0)
    assert not alarm.speaks, "ten of the last thirty came true"


def test_a_precision_that_is_no_share_is_refused() -> None:
    with pytest.raises(ModelError, match="precision is 1"):
        AlarmParams(precision=1.0)
