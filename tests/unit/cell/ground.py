"""Leaders of host a on firm ground: leases are played, the brain is real."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from random import Random
from typing import Any

import msgspec

from placement import model
from placement.leader import Leader
from placement.leader_events import Proposed
from services.host.cell.body import CellBody, Decided
from services.host.cell.delays import Delays
from services.host.cell.leaders import Leaders
from services.host.cell.led import Surface
from services.host.cell.succession import EPOCHS_A_TERM
from services.registry.lease import lease_of
from services.registry.view import RegistryView
from tests.unit.registry_messages import committed_plan, move_record
from topics.ants.envelope import Travelling
from topics.flow.file import parse_graph
from topics.messages import (
    CommittedPlan,
    Decision,
    Figures,
    FlowRevision,
    Message,
    Placement,
    ProposedPlan,
    Request,
    SegmentMove,
)
from topics.topic import Topic

TEXT = """
flow: NAME
sources:
  orders: {topic: orders, at: PLACE, key: user, partitions: 2}
operators:
  large: {op: filter, input: orders, where: "amount > 0"}
sinks:
  out: {input: large, topic: out, at: b}
"""
COUNTED = 7 * EPOCHS_A_TERM
"""What a leader of term 7 counts on from."""
REGIONS = {"a": "r", "b": "r", "c": "r"}
BUDGET = "a pause of 900 ms is predicted, and flow talk allows 500 ms"


def revision(name: str = "talk", *, at: str = "a", number: int = 1, state: str = "submitted") -> FlowRevision:
    text = TEXT.replace("NAME", name).replace("PLACE", at)
    return FlowRevision(
        flow=name,
        revision=number,
        state=state,  # type: ignore[arg-type]
        text=text,
        delivery="at_least_once",
        changed_ms=1,
    )


def plan_for(flow: FlowRevision, host: str, *, epoch: int = 4, term: int = 1) -> CommittedPlan:
    hosts = {segment.id: host for segment in parse_graph(flow.text).segments}
    return committed_plan(flow.flow, hosts, revision=flow.revision, epoch=epoch, leader="z", term=term)


def placed(segment: str, partition: int, host: str | None, **about: Any) -> Placement:
    rest: dict[str, Any] = {"epoch": 1, "revision": 1, "operators": ("o",), "placed_ms": 0, "plan": "old"}
    return Placement(segment=segment, partition=partition, host=host, flow="talk", **rest | about)


class Keeper:
    """Leases as the test says."""

    def __init__(self) -> None:
        self.wanted: set[str] = set()
        self.terms: dict[str, int] = {}

    def want(self, lease: str) -> None:
        self.wanted.add(lease)

    async def drop(self, lease: str) -> None:
        self.wanted.discard(lease)

    def term(self, lease: str) -> int | None:
        return self.terms.get(lease) if lease in self.wanted else None


class Ground:
    """Leaders of host a, what they sent and what they published."""

    def __init__(self) -> None:
        self.view = RegistryView()
        self.keeper = Keeper()
        self.sent: list[tuple[str, Any]] = []
        self.published: list[Message] = []
        self.regions = dict(REGIONS)
        self.is_lagging = False
        self.whole = True
        self.broker_ms = 1e6
        self.body = CellBody(
            "a",
            1.0,
            chance=Random,
            delay=lambda a, b: 1.0,
            send=self._send,
            now_ms=lambda: self.broker_ms,
            decided=self._decided,
            is_lagging=lambda: self.is_lagging,
        )
        self.delays = Delays(REGIONS)
        self.leaders = Leaders(
            self.body,
            self.keeper,
            fresh=self._fresh,
            publish=self._publish,
            now_ms=lambda: self.broker_ms,
            delays=self.delays,
            are_whole=self._are_whole,
        )

    def _decided(self, leader: Leader, decided: Decided) -> None:
        self.leaders.decided(leader, decided)

    def _send(self, to: str, each: Travelling) -> None:
        self.sent.append((to, each.ant))

    async def _fresh(self) -> None:
        return

    async def _are_whole(self, topics: Collection[str]) -> bool:
        return self.whole

    async def _publish(self, topic: Topic[Any], message: Message) -> bool:
        self.published.append(message)
        return True

    def submit(self, *flows: FlowRevision, term: int | None = 7) -> None:
        for flow in flows:
            self.view.flows[flow.flow] = flow
            if term is not None:
                self.keeper.terms[lease_of(flow.flow)] = term

    def run(self, host: str, *, term: int = 1) -> None:
        """talk runs on a host, by a plan of that term; whoever leads it next does so under term 7."""
        flow = revision()
        self.submit(flow)
        self.view.plans[flow.flow] = plan_for(flow, host, term=term)

    async def arrange(self) -> None:
        capacities = dict.fromkeys(REGIONS, 1.0)
        await self.leaders.arrange(self.view, Surface(self.regions, capacities, delays_measured=True))

    def plans(self) -> list[CommittedPlan]:
        return [each for each in self.published if type(each) is CommittedPlan]

    def proposals(self) -> list[ProposedPlan]:
        return [each for each in self.published if isinstance(each, ProposedPlan)]

    def told(self, kind: str) -> list[Decision]:
        return [each for each in self.published if isinstance(each, Decision) and each.kind == kind]

    async def proposing(self, target: str, request: str = "r1") -> ProposedPlan:
        """A flow that runs on b, whose leader was asked and would go elsewhere."""
        self.run("b")
        await self.arrange()
        self.view.requests[request] = Request(request=request, kind="propose", flow="talk", asked_ms=10**6)
        await self.arrange()
        leader = self.body.leaders["talk"]
        assert leader.plan is not None
        new = model.Placement.of({("talk", task.name): target for task in leader.flow.tasks})
        plan = model.Plan.between("talk", leader.epoch + 1, leader.plan.placement, new)
        self.leaders.decided(leader, Proposed(plan, 2.5, 1.5, 5.0, 4.0, None))
        await self.arrange()
        (proposal,) = self.proposals()
        self.view.take(proposal)
        return proposal


def in_vain(ground: Ground, phase: str = "abandoned") -> CommittedPlan:
    """talk is led here under term 7 and runs on b; its plan wants it on c, and the move has ended."""
    flow = revision()
    ground.submit(flow)
    segment = next(iter(plan_for(flow, "c").hosts))
    wanted = msgspec.structs.replace(
        plan_for(flow, "c", term=7),
        moves=(SegmentMove(segment, "b", "c"),),
        now=Figures(latency_ms=30.0, cost_ms=40.0),
        cost_ms=20.0,
    )
    ground.view.plans["talk"] = wanted
    for partition in range(2):
        ground.view.take(placed(segment, partition, "b"))
        about = {"move": f"m{partition}", "partition": partition, "origin": "b", "target": "c", "plan": wanted.hash}
        ground.view.take(move_record("talk", segment, phase=phase, trouble=BUDGET, **about))
    return wanted


def play(story: Callable[[Ground], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        ground = Ground()
        await story(ground)
        ground.body.stop()

    asyncio.run(run())
