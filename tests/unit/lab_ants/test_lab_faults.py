"""What `ants/faults` counts as recovered."""

import math

import pytest

from services.lab.experiments.fault_recovery import LOOK_MS, recovery_s


def test_a_flow_that_never_gets_faster_has_no_time_of_recovery() -> None:
    """It was told as recovered in 0 s, as if ants had been quick."""
    assert recovery_s([30.0] * 50) is None
    assert recovery_s([30.0, *[29.0] * 50]) is None


def test_a_flow_that_does_not_run_again_has_no_time_of_recovery() -> None:
    assert recovery_s([math.inf] * 50) is None


def test_the_time_of_recovery_begins_with_the_notice() -> None:
    """A second after the fault; before that nobody can do anything."""
    looks = int(2_500.0 / LOOK_MS)
    assert pytest.approx(1.5) == recovery_s([math.inf] * looks + [20.0] * 10)
    assert pytest.approx(0.0) == recovery_s([math.inf] * 2 + [20.0] * 10)
