"""Hot spots that a host sees in its own queue."""

import numpy as np
import pytest

from placement.hotspots import NearParams, near_spots
from placement.model.errors import ModelError
from tests.unit.hotspots.test_hot_spots import world


def test_what_waits_now_breaks_the_bound_of_who_comes() -> None:
    """Nothing has to grow for it: 60 ms wait before whoever comes, and the bound is 50."""
    [near] = near_spots(world({("a", "x"): 0.99}, backlog_ms=60.0), np.ones(1), [0])
    assert ("a", "x", 1.0, 1.0) == (near.spot.flow, near.spot.host, near.spot.in_s, near.spot.sure)


def test_a_queue_that_fills_is_seen_before_it_is_full() -> None:
    """At one and a half times what it can do, half a second adds 250 ms."""
    outlook = world({("a", "x"): 0.5}, bound_ms=200.0)
    assert near_spots(outlook, np.array([3.0]), [0])
    assert not near_spots(outlook, np.array([1.8]), [0])


def test_a_host_sees_its_own_queue_and_no_other() -> None:
    outlook = world({("a", "x"): 0.5, ("b", "y"): 0.5}, bound_ms=100.0)
    factors = np.array([3.0, 3.0])
    assert ["a"] == [near.spot.flow for near in near_spots(outlook, factors, [0])]
    assert ["a", "b"] == [near.spot.flow for near in near_spots(outlook, factors, [0, 1])]


def test_the_fewest_leave_so_that_the_others_keep_their_bounds() -> None:
    """Whichever of the two leaves, the other one has room; all are warned of."""
    spots = near_spots(world({("a", "x"): 0.7, ("b", "x"): 0.9}, bound_ms=100.0), np.ones(2), [0])
    assert {"a", "b"} == {near.spot.flow for near in spots}
    assert {("b",)} == {near.leaving for near in spots}, "it leaves the most slack"


@pytest.mark.parametrize("wrong", [{"look_s": 0.0}, {"look_s": 0.6}, {"stands_s": 0.01}])
def test_parameters_check_themselves(wrong: dict[str, float]) -> None:
    with pytest.raises(ModelError):
        NearParams(**wrong)
