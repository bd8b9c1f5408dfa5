"""What a burst costs: latency from its first moment on, and the pauses of moves."""

from typing import Any

import pytest

from placement.leader_events import Published
from placement.model import Placement, Plan
from services.lab.experiments.bursty import CAP_MS, PAUSE_MS, STEP_MS, mean_over_step, pauses, returns

HERE = Placement.of({("f", "a"): "x", ("f", "b"): "x"})
THERE = Placement.of({("f", "a"): "y", ("f", "b"): "y"})


class Reacting:
    """Flows that are slow until ants have reacted, a fifth of the way through the step."""

    now_ms = 0.0

    def latency_ms(self, flow: str) -> float:
        if flow == "full":
            return 1e9
        return 100.0 if self.now_ms < STEP_MS / 5 else 10.0

    def run_for(self, duration_ms: float) -> None:
        self.now_ms += duration_ms


def test_what_flows_lose_before_ants_have_reacted_counts() -> None:
    """Only the end of each step was looked at, when all was well again."""
    body: Any = Reacting()
    assert pytest.approx(100.0 / 5 + 10.0 * 4 / 5) == mean_over_step(body, ["f"])
    assert STEP_MS == body.now_ms


def test_a_flow_without_room_counts_as_a_fixed_latency() -> None:
    body: Any = Reacting()
    assert pytest.approx((CAP_MS + 28.0) / 2) == mean_over_step(body, ["f", "full"])


def test_each_moved_task_costs_its_pause_and_a_first_placement_nothing() -> None:
    """What comes within a pause waits for half of it."""
    first = Published(Plan.between("f", 1, Placement(), HERE), 10.0, "the flow is new")
    move = Published(Plan.between("f", 2, HERE, THERE), 9.0, "a better place")
    assert pauses([first]) == 0
    assert pytest.approx(2 * PAUSE_MS**2 / 2) == pauses([first, move])


def test_a_flow_that_goes_back_after_its_cool_down_oscillates_too() -> None:
    """Only returns within 15 s were counted, which the cool-down forbids: the row could say nothing but 0."""
    there = Published(Plan.between("f", 2, HERE, THERE), 9.0, "a better place")
    back = Published(Plan.between("f", 3, THERE, HERE), 9.0, "a better place")
    decisions = [(0.0, there), (40_000.0, back)]
    assert 0 == returns(decisions, 15_000.0)
    assert 2 == returns(decisions, 150_000.0)  # both tasks
    assert 0 == returns([(0.0, there)], 150_000.0)
