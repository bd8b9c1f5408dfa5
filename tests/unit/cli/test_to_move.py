"""What it would take to move a flow, told in figures."""

from typing import Any

from placement.leader_damping import AT_HOME
from services.cli.to_move import to_move
from tests.unit.registry_messages import plan_of
from topics.messages import Alternative, CommittedPlan, Decision, ProposedPlan


def said(kind: str, why: str, *, plan: str | None = None, **evidence: float) -> Decision:
    return Decision(
        decision="d",
        kind=kind,
        by="a",
        decided_ms=9,
        what="talk",
        why=why,
        flow="talk",
        plan=plan,
        evidence=dict(evidence),
    )


def plan(kind: type[CommittedPlan], host: str, **more: Any) -> Any:
    about = {"epoch": 2, "hash": "h2", "cost_ms": 24.0, "latency_ms": 20.0, "reason": "the flow is new"}
    return plan_of(kind, "talk", {"talk.1": host}, **about, **more)


def test_the_best_place_that_ants_found_is_told_with_what_it_lacks() -> None:
    """The factor of 1.2 asks for 50 ms where 60 are paid; 55 are 5 too many."""
    found = to_move(None, None, [said("kept", "not better", now_cost_ms=60.0, best_cost_ms=55.0)])
    assert (60.0, 1.2, 50.0, 55.0) == (found.now_cost_ms, found.factor, found.needed_cost_ms, found.best_cost_ms)
    assert 5.0 == found.missing_ms
    assert "by the last ants, costs 55.0 ms: 5.0 ms too much" in found.sentence


def test_a_small_cost_must_fall_by_what_can_be_measured() -> None:
    """A factor of 1.2 on 6 ms is a millisecond: nobody would see it."""
    found = to_move(None, None, [said("kept", "not better", now_cost_ms=6.0, best_cost_ms=4.0)])
    assert (3.0, 1.0) == (found.needed_cost_ms, found.missing_ms)


def test_what_is_cheap_enough_and_yet_not_done_says_why() -> None:
    """A cool-down, or a pause that costs more than is gained."""
    found = to_move(None, None, [said("kept", "task 0 left b only 5 ms ago", now_cost_ms=60.0, best_cost_ms=30.0)])
    assert (0.0, True) == (found.missing_ms, found.sentence.endswith("cheap enough, but task 0 left b only 5 ms ago"))


def test_where_the_best_place_is_this_one_no_other_is_known() -> None:
    """Ants that looked everywhere came back to where it runs."""
    found = to_move(None, None, [said("kept", AT_HOME, now_cost_ms=60.0, best_cost_ms=60.0)])
    assert (None, True) == (found.best_cost_ms, found.sentence.endswith("no other place is known"))


def test_a_new_plan_is_compared_with_what_its_scouts_passed_over_and_a_proposal_with_what_runs() -> None:
    """The newest word of the leader counts, whichever kind it is."""
    other = Alternative({"talk.1": "c"}, 30.0, 25.0, "it costs 6.00 ms more than what was chosen")
    first = said("planned", "the flow is new", plan="h2", cost_ms=24.0)
    found = to_move(plan(CommittedPlan, "b", alternatives=(other,)), None, [first])
    assert (24.0, 30.0, {"talk.1": "c"}, 10.0) == (
        found.now_cost_ms,
        found.best_cost_ms,
        found.best_hosts,
        found.missing_ms,
    )
    asked = said("proposed", "the leader would do it by itself", plan="h2", cost_ms=24.0, now_cost_ms=48.0)
    found = to_move(None, plan(ProposedPlan, "c"), [first, asked])
    assert (48.0, 24.0, 0.0) == (found.now_cost_ms, found.best_cost_ms, found.missing_ms)


def test_before_any_ants_have_told_there_are_no_figures() -> None:
    """A flow that was placed by hand has none."""
    assert "no ants have told yet what it costs here" == to_move(None, None, []).sentence
