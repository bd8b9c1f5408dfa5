"""The rules of leaders, of the ants that carry their plans out, and of flows that run."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from placement import leader_course
from placement.ants.enforcement import EnforcementParams
from placement.cell_ledger import Booking, Ledger
from placement.leader import Leader
from placement.leader_budget import Budget
from placement.leader_course import Course
from placement.leader_damping import Comparison, Damping
from placement.leader_rounds import Rounds
from placement.leader_search import Search
from placement.queueing import IDLE
from placement.simulator.body import Body
from tests.unit.rules.rule import Rule, module_of

LEADER, FAILURES, WATCHING, LEDGER = (
    f"unit/ants/test_ants_{what}.py::test_" for what in ("leader", "leader_failures", "leader_watching", "ledger")
)
FILE = "unit/ants/test_ants_enforcement.py"
ENFORCEMENT = f"{FILE}::test_"


def _released(**fewer: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Leaders that wait for fewer ants."""
    release = Search.__dict__["_release"].fget

    def remove(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Search, "_release", property(lambda self: replace(release(self), **fewer)))

    return remove


def _first_report(patch: pytest.MonkeyPatch) -> None:
    choose = Search._choose

    def first(self: Search, *, now_ms: float) -> list[Any]:
        del self.attempt.reports[1:]
        return choose(self, now_ms=now_ms)

    patch.setattr(Search, "_choose", first)


def _wait_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Search, "_impatient", lambda self, now_ms, rng: [])


def _enforcing(**params: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Enforcement ants, in the test, with other params."""

    def remove(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(module_of(FILE), "PARAMS", EnforcementParams(**params))

    return remove


def _firm_at_once(patch: pytest.MonkeyPatch) -> None:
    reserve = Ledger.reserve

    def committed(self: Ledger, booking: Booking) -> str | None:
        refusal = reserve(self, booking)
        self.commit(booking.flow, booking.epoch, expires_ms=booking.expires_ms)
        return refusal

    patch.setattr(Ledger, "reserve", committed)


def _no_cap(patch: pytest.MonkeyPatch) -> None:
    prepare = Ledger.__init__
    patch.setattr(Ledger, "__init__", lambda self, background=IDLE, **_: prepare(self, background, cap=math.inf))


def _objecting(beta: float | None = None, pause_ms: float | None = None) -> Callable[[pytest.MonkeyPatch], None]:
    """Leaders that weigh moves by another beta, or another pause."""
    objection = Damping.objection

    def remove(patch: pytest.MonkeyPatch) -> None:
        def other(self: Damping, comparison: Comparison, **how: float) -> str | None:
            self.pause_ms = self.pause_ms if pause_ms is None else pause_ms
            return objection(self, comparison, **(how if beta is None else how | {"beta": beta}))

        patch.setattr(Damping, "objection", other)

    return remove


def _no_cool_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Damping, "cooling", lambda self, **_: ())
    patch.setattr(Damping, "_too_soon", lambda self, comparison, now_ms: None)


def _once_placed_for_good(patch: pytest.MonkeyPatch) -> None:
    on_place = Leader._on_place
    patch.setattr(Leader, "_on_place", lambda self, event, now_ms: [] if self.plan else on_place(self, event, now_ms))


def _pay_always(patch: pytest.MonkeyPatch) -> None:
    prepare = Search.__init__
    patch.setattr(Search, "__init__", lambda self, *what, paid, **how: prepare(self, *what, paid=True, **how))


def _an_envelope_each(patch: pytest.MonkeyPatch) -> None:
    carry_out = Body.carry_out

    def one_by_one(self: Body, host: str, effects: list[Any]) -> None:
        for effect in effects:
            carry_out(self, host, [effect])

    patch.setattr(Body, "carry_out", one_by_one)


RULES = (
    # The leader.
    Rule(
        "a leader waits for enough routing ants before it sends scouts",
        f"{LEADER}it_waits_for_enough_routing_ants_before_it_sends_scouts",
        _released(enough_routing_ants=1),
    ),
    Rule(
        "it waits for enough reports",
        f"{LEADER}it_takes_the_best_of_enough_reports",
        _released(enough_reports=1),
    ),
    Rule("it takes the best of them", f"{LEADER}it_takes_the_best_of_enough_reports", _first_report),
    Rule(
        "it takes an outstanding one at once",
        f"{LEADER}an_outstanding_report_is_taken_at_once",
        lambda patch: patch.setattr(Search, "_is_outstanding", lambda self, report: False),
    ),
    Rule(
        "on a time-out it sends more ants",
        f"{LEADER}it_sends_more_ants_when_too_few_come_back_in_time",
        _wait_for_ever,
    ),
    Rule(
        "a time-out is enough if some reports are there",
        f"{LEADER}a_time_out_with_some_reports_takes_the_best_of_them",
        _wait_for_ever,
    ),
    Rule(
        "after a failure it sends more ants",
        f"{FAILURES}a_refused_plan_sends_fresh_ants",
        lambda patch: patch.setattr(Course, "_fail", lambda self, why, **_: self._abandon_enforcement()),
    ),
    Rule(
        "an enforcement ant that is not back in time is given up",
        f"{FAILURES}a_lost_enforcement_ant_is_given_up_and_fenced",
        lambda patch: patch.setattr(Course, "_fail", lambda self, why, **_: []),
    ),
    # The enforcement ant.
    Rule(
        "it prices again at every host and turns back beyond a threshold",
        f"{ENFORCEMENT}it_turns_back_where_the_price_has_risen_beyond_the_threshold",
        _enforcing(price_tolerance=math.inf),
    ),
    Rule(
        "below the threshold it goes on",
        f"{ENFORCEMENT}a_small_rise_is_tolerated",
        _enforcing(price_tolerance=0.0),
    ),
    Rule(
        "its first pass reserves",
        f"{ENFORCEMENT}outward_it_reserves_with_an_expiry_and_goes_on",
        lambda patch: patch.setattr(Ledger, "reserve", lambda self, booking: None),
    ),
    Rule(
        "its first pass only reserves",
        f"{ENFORCEMENT}at_the_last_host_it_turns_round_and_commits_on_the_way_back",
        _firm_at_once,
    ),
    Rule(
        "its return pass commits",
        f"{ENFORCEMENT}at_the_last_host_it_turns_round_and_commits_on_the_way_back",
        lambda patch: patch.setattr(Ledger, "commit", lambda self, flow, epoch, expires_ms: True),
    ),
    Rule(
        "a reservation is for 3 round trips + 1 s",
        f"{ENFORCEMENT}outward_it_reserves_with_an_expiry_and_goes_on",
        _enforcing(reservation_trips=1e9),
    ),
    Rule(
        "and then expires",
        f"{LEDGER}a_reservation_expires_and_frees_its_room",
        lambda patch: patch.setattr(Ledger, "expire", lambda self, now_ms: False),
    ),
    Rule(
        "an ant that turns back gives up what it reserved",
        f"{ENFORCEMENT}turning_back_cancels_what_it_reserved",
        lambda patch: patch.setattr(Ledger, "cancel", lambda self, flow, epoch: False),
    ),
    Rule("two ants never overbook a host", f"{LEDGER}everything_promised_stays_below_the_cap", _no_cap),
    Rule(
        "what is only reserved counts for that",
        f"{LEDGER}everything_promised_stays_below_the_cap",
        lambda patch: patch.setattr(Ledger, "_sum", lambda self, without_flow: self.background),
    ),
    # After placement.
    Rule(
        "leaders keep sending ants",
        f"{WATCHING}after_placement_it_keeps_sending_ants_and_measures",
        lambda patch: patch.setattr(Rounds, "next_at_ms", lambda *_, **__: math.inf),
    ),
    Rule(
        "they measure the running latency",
        f"{WATCHING}after_placement_it_keeps_sending_ants_and_measures",
        lambda patch: patch.setattr(leader_course, "COMPARED", ()),
    ),
    Rule(
        "a flow moves if a report is better by the factor beta",
        f"{WATCHING}it_moves_when_a_report_is_better_by_the_factor_beta",
        lambda patch: patch.setattr(Damping, "objection", lambda *_, **__: "nobody ever moves"),
    ),
    Rule(
        "it stays if none is",
        f"{WATCHING}it_stays_when_the_gain_is_below_beta",
        _objecting(beta=1.0),
    ),
    Rule(
        "no A -> B -> A inside the cool-down",
        f"{WATCHING}no_task_goes_back_to_the_host_it_has_just_left",
        _no_cool_down,
    ),
    Rule(
        "scouts are told of it",
        f"{WATCHING}scouts_are_told_where_tasks_must_not_return_yet_even_from_an_overloaded_host",
        _no_cool_down,
    ),
    Rule(
        "no move whose pause costs more than it gains",
        f"{WATCHING}no_move_whose_pause_costs_more_than_it_gains",
        _objecting(pause_ms=0.0),
    ),
    # What the design leaves to the paper: users, and hosts that die.
    Rule(
        "a user may ask for a new placement at any time",
        f"{WATCHING}a_user_may_ask_for_a_new_placement_at_any_time",
        _once_placed_for_good,
    ),
    Rule(
        "a user may withdraw a flow",
        f"{LEADER}withdrawal_ends_everything_everywhere",
        lambda patch: patch.setattr(Leader, "_on_withdraw", lambda self, event, now_ms: []),
    ),
    Rule(
        "a flow that lost a host is placed anew",
        f"{FAILURES}a_lost_host_starts_a_new_placement_at_once",
        lambda patch: patch.setattr(Leader, "_on_host_lost", lambda self, event, now_ms: []),
    ),
    # Improvement 6: the budget.
    Rule(
        "ants of a running flow are paid from a share of its data",
        f"{WATCHING}a_round_that_has_not_been_earned_yet_waits",
        lambda patch: patch.setattr(Budget, "free_at_ms", lambda self, byte_hops, *, now_ms, credit=0.0: now_ms),
    ),
    Rule(
        "the burst of a placement is counted apart",
        f"{WATCHING}the_burst_of_a_first_placement_is_not_paid_from_the_budget",
        _pay_always,
    ),
    Rule(
        "ants to the same next hop travel together",
        "simulation/ants/test_ants_quality.py::test_ants_to_the_same_next_hop_travel_in_one_envelope",
        _an_envelope_each,
    ),
)
