"""A registry with hosts and one flow, and a conductor that looks at it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from services.placement.situation import KnownFlow
from services.registry.decisions import WEIGHED, decision
from tests.unit.placement_service.desk import Desk
from tests.unit.registry_messages import committed_plan, plan_of
from topics.flow.file import parse_graph
from topics.messages import (
    CommittedPlan,
    Decision,
    FlowRevision,
    Handover,
    MoveRecord,
    Placement,
    Policy,
    ProposedPlan,
    Request,
    SegmentStatus,
    StandbyStatus,
)

TEXT = """
flow: shop
sources:
  orders: {topic: orders, key: user}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: results}
"""
GRAPH = parse_graph(TEXT)
SEGMENT = GRAPH.segments[0].id


@dataclass
class Office(Desk):
    """The conductor of one instance, and a world with one flow."""

    state: Any = "submitted"
    partitions: int = 2
    has_read: bool = True
    """Whether the flow has been read and its topics counted."""

    def look(self) -> list[Any]:
        """What was written."""
        flow = FlowRevision(
            flow="shop",
            revision=1 if self.state == "submitted" else 2,
            state=self.state,
            text=TEXT,
            delivery="at_least_once",
            changed_ms=0,
        )
        self.view.take(flow)
        counted = KnownFlow(flow, GRAPH, {SEGMENT: self.partitions}, {"orders": self.partitions})
        return self.look_at({"shop": counted} if self.has_read else {})

    def plan(self, host: str, *, epoch: int = 1, term: int = 1, **more: Any) -> CommittedPlan:
        about = {"epoch": epoch, "hash": f"hash-{epoch}", "term": term, "decided_ms": self.now_ms}
        plan = committed_plan("shop", {SEGMENT: host}, **about, **more)
        self.view.take(plan)
        return plan

    def proposal(self, host: str, *, epoch: int, **more: Any) -> ProposedPlan:
        """What the flow's leader would do, as it was asked."""
        about = {"epoch": epoch, "hash": f"proposed-{epoch}", "decided_ms": self.now_ms}
        plan = plan_of(ProposedPlan, "shop", {SEGMENT: host}, **about, **more)
        self.view.take(plan)
        return plan

    def weighs(self, request: str, **grounds: float) -> None:
        """The leader's word on a plan that somebody wants carried out."""
        _, word = decision(
            WEIGHED, "plan", "asked", by="a", now_ms=self.now_ms, flow="shop", request=request, evidence=grounds
        )
        self.view.take(word)

    def owners(self) -> list[tuple[str | None, int]]:
        return [(each.host, each.epoch) for _, each in sorted(self.view.placements.items())]

    def says(self, host: str, partition: int, epoch: int, state: Any = "running", step: Any = None) -> None:
        told = SegmentStatus(
            segment=SEGMENT,
            partition=partition,
            host=host,
            epoch=epoch,
            state=state,
            since_ms=self.now_ms,
            reported_ms=self.now_ms,
            lag=0,
            step=step,
            reason="a test parked it" if state == "parked" else None,
        )
        self.view.take(told)

    def follows(self, host: str, partition: int, *, lag: int = 0) -> None:
        told = StandbyStatus(
            segment=SEGMENT,
            partition=partition,
            host=host,
            is_ready=True,
            lag=lag,
            entries=0,
            reported_ms=self.now_ms,
        )
        self.view.take(told)

    def drained(self, host: str, partition: int, epoch: int, *, idle_ms: int = 10) -> None:
        word = Handover(
            segment=SEGMENT,
            partition=partition,
            epoch=epoch,
            host=host,
            drained_ms=self.now_ms,
            stopped_ms=self.now_ms - idle_ms,
        )
        self.view.take(word)

    def rule(self, subject: Any, name: str, policy: Any) -> None:
        self.view.take(Policy(subject=subject, name=name, policy=policy, changed_ms=0))

    def wish(self, name: str, kind: Any, **more: Any) -> None:
        self.view.take(Request(request=name, kind=kind, flow="shop", asked_ms=self.now_ms, **more))

    def running_on(self, host: str) -> None:
        """The flow's first plan, carried out."""
        self.plan(host)
        self.look()
        for partition in range(self.partitions):
            self.says(host, partition, 1)


def placements(messages: list[Any]) -> list[Placement]:
    return [each for each in messages if isinstance(each, Placement)]


def moves(messages: list[Any]) -> list[MoveRecord]:
    return [each for each in messages if isinstance(each, MoveRecord)]


def decisions(messages: list[Any]) -> list[tuple[str, str]]:
    return [(each.kind, each.why) for each in messages if isinstance(each, Decision)]


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def pick() -> dict[str, Callable[[list[Any]], list[Any]]]:
    """Readers of what was written."""
    return {"placements": placements, "moves": moves, "decisions": decisions}


@pytest.fixture
def segment() -> str:
    return SEGMENT
