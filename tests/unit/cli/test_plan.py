"""What `stigmergy plan` tells of a plan: every figure against now, and where it comes from."""

from typing import Any

import pytest

from services.cli import plan as command
from services.cli.plan import is_held, plan_values
from services.registry.decisions import BUSY, decision
from services.registry.errors import RegistryError
from services.registry.view import RegistryView
from tests.unit.registry_messages import move_record, plan_of
from topics.flow.file import parse_graph
from topics.messages import CommittedPlan, Decision, Figures, FlowRevision, Placement, Policy, ProposedPlan

TEXT = """
flow: shop
sources:
  orders: {topic: orders, key: user}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: results}
"""
SEGMENT = parse_graph(TEXT).segments[0].id


def plan(host: str, kind: type[CommittedPlan] = CommittedPlan, **more: Any) -> CommittedPlan:
    return plan_of(kind, "shop", {SEGMENT: host}, epoch=2, hash="h2", cost_ms=5.0, latency_ms=4.0, **more)


@pytest.fixture
def view() -> RegistryView:
    """A flow with two partitions on host a, one of which moved there from b in 40 ms."""
    made = RegistryView()
    made.take(
        FlowRevision(flow="shop", revision=1, state="submitted", text=TEXT, delivery="at_least_once", changed_ms=0)
    )
    for partition in range(2):
        made.take(
            Placement(
                segment=SEGMENT,
                partition=partition,
                epoch=1,
                host="a",
                flow="shop",
                revision=1,
                operators=("large",),
                placed_ms=0,
            )
        )
    made.take(move_record("shop", SEGMENT, origin="b", target="a", actual_pause_ms=40.0, unread_changes=0))
    return made


def test_a_plan_shows_moves_latency_pause_and_network_cost_against_now(view: RegistryView) -> None:
    """All that a person needs to say yes or no."""
    now = Figures(latency_ms=9.0, cost_ms=11.0, network_bytes=500.0)
    then = Figures(latency_ms=4.0, cost_ms=5.0, network_bytes=100.0)
    values = plan_values(view, plan("b", ProposedPlan, now=now, then=then, objection="too little"))
    assert {"latency_ms": 9.0, "cost_ms": 11.0, "network_bytes": 500.0} == values["now"]
    assert {"latency_ms": 4.0, "cost_ms": 5.0, "network_bytes": 100.0} == values["then"]
    assert [(0, "a", "b", 40.0), (1, "a", "b", 40.0)] == [
        (move["partition"], move["from"], move["to"], move["predicted_pause_ms"]) for move in values["moves"]
    ]
    assert (40.0, "1 measured moves", "too little", True, False) == (
        values["predicted_pause_ms"],
        values["pause_basis"],
        values["objection"],
        values["is_proposal"],
        values["is_carried_out"],
    )


def test_a_flow_that_stays_is_shown_with_what_ants_have_just_measured(view: RegistryView) -> None:
    """Not with the figures of the plan that once brought it there."""
    said = Decision(
        decision="d",
        kind="kept",
        by="a",
        decided_ms=9,
        what="shop stays",
        why="it is where the flow already runs",
        flow="shop",
        evidence={"latency_ms": 6.5, "now_cost_ms": 8.0},
    )
    values = plan_values(view, plan("a"), said=said)
    assert (6.5, 8.0) == (values["now"]["latency_ms"], values["predicted_cost_ms"])
    assert ("it is where the flow already runs", True) == (values["reason"], values["is_carried_out"])


@pytest.mark.parametrize(
    ("policy", "host", "held"), [("approve", "b", True), ("approve", "a", False), ("auto", "b", False)]
)
def test_a_plan_that_waits_for_a_person_is_shown_before_others_are_looked_for(
    view: RegistryView, policy: Any, host: str, held: bool
) -> None:
    """Its leader reckons with it as if it ran."""
    view.take(plan(host))
    view.take(Policy(subject="flow", name="shop", policy=policy, changed_ms=0))
    assert held is is_held(view, "shop")


def test_moves_that_do_not_tell_what_was_unread_teach_nothing(view: RegistryView) -> None:
    """A long pause may have been all restoring; taken for a slow takeover it would spoil every prediction."""
    view.take(move_record("shop", SEGMENT, move="m2", partition=1, since_ms=2, actual_pause_ms=4_000.0))
    assert 40.0 == plan_values(view, plan("b"))["predicted_pause_ms"]


def test_a_leader_without_time_for_a_dry_run_is_told_from_one_that_finds_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another host would not help."""
    _, said = decision(BUSY, "what", "its leader still looks for a place itself", by="a", now_ms=1, flow="talk")
    monkeypatch.setattr(command, "ask", lambda *_: "r")
    monkeypatch.setattr(command, "wait_answer", lambda *_, **__: said)
    with pytest.raises(RegistryError) as told:
        command._dry_run("nowhere", "talk", timeout_s=1.0)
    assert "no dry run for talk: its leader still looks for a place itself" == told.value.what
