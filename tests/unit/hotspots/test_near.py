"""Hot spots that a host sees in its own queue."""

from typing import Any

import numpy as np
import pytest

from placement.hotspots import HotSpot, NearParams, Outlook, near_leavers, near_spots
from placement.model.errors import ModelError
from tests.unit.hotspots.test_hot_spots import world


def seen(outlook: Outlook, waits_ms: list[float], factor: float = 1.0, host: int = 0) -> list[HotSpot]:
    return near_spots(outlook, host, waits_ms, np.full(len(outlook.flows), factor), NearParams())


def test_who_came_in_the_last_second_and_waits_too_long_is_known() -> None:
    """60 ms for each of them, and the bound is 50: nothing has to grow for it."""
    [near] = seen(world({("a", "x"): 0.9}, backlog_ms=60.0), [60.0] * 10)
    assert ("a", "x") == (near.flow, near.host)
    assert near.sure > 0.99
    assert near.slack_ms < 0
    assert 0.1 + 0.05 == pytest.approx(near.in_s), "the next look, and their bound has to pass"


def test_a_queue_that_fills_is_seen_before_the_mean_of_a_second_is_beyond_the_bound() -> None:
    """Twice what it can do: 100 ms more at each look. What comes on is reckoned with, and only then is it too much."""
    outlook = world({("a", "x"): 1.0}, bound_ms=400.0)
    filling = [100.0 * look for look in range(12)]
    first = next(looks for looks in range(1, 12) if seen(outlook, filling[:looks], 2.0))
    beyond = next(looks for looks in range(1, 12) if sum(filling[:looks][-10:]) / 10 > 395.0)
    assert beyond - 3 <= first < beyond
    assert not seen(outlook, filling[:first], 0.5), "if less came from now on, it would not"


def test_what_is_not_sure_is_not_warned_of() -> None:
    """One second at 60 ms of 50 and one at 49: the one will break the bound, of the other nobody knows."""
    outlook = world({("a", "x"): 0.9}, bound_ms=50.0)
    assert seen(outlook, [60.0] * 10)
    assert not seen(outlook, [44.0] * 10, 1.1)


def test_a_host_sees_its_own_queue_and_no_other() -> None:
    outlook = world({("a", "x"): 0.9, ("b", "y"): 0.9})
    assert ["a"] == [near.flow for near in seen(outlook, [90.0] * 10, host=0)]
    assert ["b"] == [near.flow for near in seen(outlook, [90.0] * 10, host=1)]


def test_the_fewest_leave_so_that_the_others_keep_their_bounds() -> None:
    """Whichever of the two leaves, the other one has room; both are warned of."""
    outlook = world({("a", "x"): 0.7, ("b", "x"): 0.9}, bound_ms=100.0)
    spots = seen(outlook, [200.0] * 10)
    assert {"a", "b"} == {near.flow for near in spots}
    assert ("b",) == near_leavers(outlook, 0, np.ones(2), spots[0]), "it leaves the most slack"


def test_a_flow_that_is_too_slow_without_any_wait_is_in_no_danger_from_a_queue() -> None:
    """It would be warned of for ever, and others told to leave for it."""
    assert [] == seen(world({("a", "x"): 0.9}, bound_ms=4.0), [60.0] * 10), "5 ms beside waiting"


@pytest.mark.parametrize("wrong", [{"look_s": 0.0}, {"look_s": 0.6}, {"stands_s": 0.01}, {"ahead": 11}, {"level": 1.0}])
def test_parameters_check_themselves(wrong: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        NearParams(**wrong)
