"""Who leads a flow, what a new leader begins with, and who waits for whom. Leases are played, the brain is real."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from random import Random
from typing import Any

import msgspec

from placement.ants.enforcement import Release
from placement.leader import Leader
from placement.leader_events import Proposed, Published
from placement.leader_phases import Phase
from placement.model import Placement, Plan
from services.host.cell.body import CellBody, Decided
from services.host.cell.delays import Delays
from services.host.cell.leaders import Leaders
from services.host.cell.led import Surface
from services.host.cell.pins import pin
from services.host.cell.turns import PLACING_MAX
from services.registry.decisions import WEIGHED
from services.registry.lease import lease_of
from services.registry.view import RegistryView
from topics.ants.envelope import Travelling
from topics.flow.file import parse_graph
from topics.messages import (
    CommittedPlan,
    Decision,
    FlowRevision,
    HotSpotModel,
    Message,
    Model,
    MoveRecord,
    ProposedPlan,
    Request,
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
REGIONS = {"a": "r", "b": "r", "c": "r"}


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
    segments = [segment.id for segment in parse_graph(flow.text).segments]
    return CommittedPlan(
        flow=flow.flow,
        revision=flow.revision,
        epoch=epoch,
        hash="h",
        hosts=dict.fromkeys(segments, host),
        moves=(),
        cost_ms=1.0,
        latency_ms=1.0,
        reason="r",
        leader="z",
        term=term,
        decided_ms=1,
        basis={},
    )


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
        self.body = CellBody(
            "a",
            1.0,
            chance=Random,
            delay=lambda a, b: 1.0,
            send=self._send,
            now_ms=lambda: 1e6,
            decided=self._decided,
            is_lagging=lambda: self.is_lagging,
        )
        self.delays = Delays(REGIONS)
        self.leaders = Leaders(
            self.body,
            self.keeper,
            fresh=self._fresh,
            publish=self._publish,
            now_ms=lambda: 1e6,
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
        flow = revision()
        self.submit(flow)
        self.view.plans["talk"] = plan_for(flow, "b")
        await self.arrange()
        self.view.requests[request] = Request(request=request, kind="propose", flow="talk", asked_ms=10**6)
        await self.arrange()
        leader = self.body.leaders["talk"]
        assert leader.plan is not None
        new = Placement.of({("talk", task.name): target for task in leader.flow.tasks})
        plan = Plan.between("talk", leader.epoch + 1, leader.plan.placement, new)
        self.leaders.decided(leader, Proposed(plan, 2.5, 1.5, 5.0, 4.0, None))
        await self.arrange()
        (proposal,) = self.proposals()
        self.view.take(proposal)
        return proposal


def play(story: Callable[[Ground], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        ground = Ground()
        await story(ground)
        ground.body.stop()

    asyncio.run(run())


def test_the_host_of_the_first_source_leads_once_it_has_the_lease() -> None:
    """Not before, and nobody else."""

    async def story(ground: Ground) -> None:
        ground.submit(revision("mine"), revision("theirs", at="b"), term=None)
        await ground.arrange()
        assert ({lease_of("mine")}, ()) == (ground.keeper.wanted, ground.leaders.flows)
        ground.keeper.terms[lease_of("mine")] = 3
        await ground.arrange()
        assert ("mine",) == ground.leaders.flows
        assert Phase.RESTING is not ground.body.leaders["mine"].phase, "it looks for a place"
        del ground.keeper.terms[lease_of("mine")]
        await ground.arrange()
        assert ((), {}) == (ground.leaders.flows, ground.body.leaders)

    play(story)


def test_when_the_source_host_dies_another_leads_with_what_the_registry_knows() -> None:
    """The plan runs on; its epoch is counted on from, never from the start."""

    async def story(ground: Ground) -> None:
        flow = next(
            candidate for k in range(100) if _heir(candidate := revision(f"talk-{k}", at="dead"), REGIONS) == "a"
        )
        ground.submit(flow)
        ground.view.plans[flow.flow] = plan_for(flow, "b")
        await ground.arrange()
        leader = ground.body.leaders[flow.flow]
        assert (4, {0: "b"}, Phase.RESTING) == (leader.epoch, leader.running, leader.phase)
        assert [] == ground.sent, "it looks around later, and not together with everybody else"

    play(story)


def test_a_hot_spot_that_the_models_foresee_makes_the_leader_send_ants_now() -> None:
    """And one whose time has passed does not."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "b")
        await ground.arrange()
        for second, phase in ((900, Phase.RESTING), (999, Phase.SEARCHING)):
            body = HotSpotModel("talk", "b", "large", 3.0, -5.0, 0.9)
            ground.leaders.heard_model(Model("hotspot/talk", second, 60, 60, 0.1, 1, 1, body))
            assert phase is ground.body.leaders["talk"].phase, second

    play(story)


def test_only_the_leader_of_who_should_leave_acts() -> None:
    """The flow in danger may be led elsewhere; and where it is led here, another one may be the one to leave."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "b")
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        for about, leaving, heeded, phase in (
            ("talk", "other", False, Phase.RESTING),
            ("other", "talk", True, Phase.SEARCHING),
        ):
            body = HotSpotModel(about, "b", "large", 3.0, -5.0, 0.9, (leaving,))
            model = Model(f"hotspot/{about}", 999, 60, 60, 0.1, 1, 1, body)
            assert heeded is ground.leaders.heeds(model)
            ground.leaders.heard_model(model)
            assert phase is leader.phase, (about, leaving)

    play(story)


def test_a_leader_that_takes_over_makes_the_running_plan_its_own() -> None:
    """What its predecessor still had on its way arrives later, with a higher epoch: nobody may follow it."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        before = plan_for(flow, "b", epoch=4, term=1)
        ground.view.plans["talk"] = before
        await ground.arrange()
        (own,) = ground.plans()
        assert (7, "a") == (own.term, own.leader)
        assert before == msgspec.structs.replace(own, term=1, leader="z"), "nothing moves for it"
        assert ground.plans() == ground.published, "nothing was decided"
        ground.view.take(own)
        assert not ground.view.take(plan_for(flow, "c", epoch=5, term=1))
        await ground.arrange()
        assert [own] == ground.plans(), "it says so once"

    play(story)


def _heir(flow: FlowRevision, regions: dict[str, str]) -> str:
    return pin(flow.flow, "dead", regions).host


def test_a_leader_that_takes_over_plans_anew_what_ran_on_a_dead_host() -> None:
    """Its predecessor may have died together with it."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "dead")
        await ground.arrange()
        assert Phase.RESTING is not ground.body.leaders["talk"].phase

    play(story)


def test_a_new_revision_is_placed_anew_and_the_old_one_ends() -> None:
    """Its segments may be others; the epoch goes on."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "b", term=7)
        await ground.arrange()
        ground.submit(revision(number=2))
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        assert ("b", Release("talk", 4)) in ground.sent
        assert (4, None) == (leader.epoch, leader.plan)
        assert [] == ground.plans(), "a flow that goes on has not ended"

    play(story)


def test_a_withdrawn_flow_ends_everywhere_and_its_plan_says_so() -> None:
    """The epoch stays in the registry, so that it never starts again."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "b", term=7)
        await ground.arrange()
        ground.submit(revision(number=2, state="withdrawn"))
        await ground.arrange()
        assert ("b", Release("talk", 4)) in ground.sent
        (ended,) = ground.plans()
        assert ({}, 4, 7) == (ended.hosts, ended.epoch, ended.term)
        assert ((), set()) == (ground.leaders.flows, ground.keeper.wanted)

    play(story)


def test_leaders_that_look_for_a_place_take_turns() -> None:
    """A hundred flows at once, or a dead host with fifty operators, must not let loose all ants at once."""

    async def story(ground: Ground) -> None:
        ground.submit(*(revision(f"talk-{k}") for k in range(PLACING_MAX + 3)))
        await ground.arrange()
        leaders = ground.body.leaders
        assert PLACING_MAX == sum(leader.phase is not Phase.RESTING for leader in leaders.values())
        done = next(name for name, leader in leaders.items() if leader.phase is not Phase.RESTING)
        ground.view.flows[done] = revision(done, number=2, state="withdrawn")
        await ground.arrange()
        assert PLACING_MAX == sum(leader.phase is not Phase.RESTING for leader in leaders.values())

    play(story)


def test_no_leader_sends_ants_while_the_control_topics_lag() -> None:
    """Not for a first place, a lost one or a hot spot ahead: new ants would make the jam longer."""

    async def story(ground: Ground) -> None:
        new, running = revision("new"), revision("running")
        ground.submit(new, running)
        ground.view.plans["running"] = plan_for(running, "b")
        ground.is_lagging = True
        await ground.arrange()
        spot = HotSpotModel("running", "b", "large", 3.0, -5.0, 0.9)
        warning = Model("hotspot/running", 999, 60, 60, 0.1, 1, 1, spot)
        ground.leaders.heard_model(warning)
        assert [] == ground.sent
        assert not ground.leaders.has_news, "else the host would look without a pause"
        ground.is_lagging = False
        assert ground.leaders.has_news
        await ground.arrange()
        ground.leaders.heard_model(warning)
        leaders = ground.body.leaders.values()
        assert {Phase.SEARCHING} == {leader.phase for leader in leaders}

    play(story)


def test_a_plan_carries_the_term_and_where_its_numbers_came_from() -> None:
    """Of two leaders the one with the later term is followed."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "b", term=7)
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        assert leader.plan is not None
        ground.leaders.decided(leader, Published(leader.plan, 2.5, "a better place", own_ms=1.5))
        await ground.arrange()
        (plan,) = ground.plans()
        assert ("a", 7, 1, 2.5) == (plan.leader, plan.term, plan.revision, plan.cost_ms)
        hop_ms = ground.delays.hop_ms
        assert 1.5 + 2 * hop_ms == plan.latency_ms, "one hop to the only segment, one from it to the sink"
        told = next(each for each in ground.published if isinstance(each, Decision))
        beyond_ms = hop_ms + ground.delays.delay_ms("b", "b")
        assert (plan.latency_ms, beyond_ms) == (told.evidence["latency_ms"], told.evidence["beyond_ms"])
        assert ("default", "measured") == (plan.basis["orders.rate_per_ms"], plan.basis["delays"])

    play(story)


def test_a_person_can_ask_a_leader_to_look_now() -> None:
    """An old wish, read again after a restart, was meant for the leader before."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "b")
        ground.view.requests["old"] = Request(request="old", kind="propose", flow="talk", asked_ms=1)
        await ground.arrange()
        assert Phase.RESTING is ground.body.leaders["talk"].phase
        ground.view.requests["new"] = Request(request="new", kind="propose", flow="talk", asked_ms=10**6)
        await ground.arrange()
        assert Phase.RESTING is not ground.body.leaders["talk"].phase

    play(story)


def test_a_dry_run_publishes_what_would_be_done_and_commits_nothing() -> None:
    """Whatever the flow's policy: under auto a committed plan would be carried out at once."""

    async def story(ground: Ground) -> None:
        proposal = await ground.proposing("c")
        assert [4] == [plan.epoch for plan in ground.plans()], "only the one that was taken over"
        assert ({"c"}, 5, 7) == (set(proposal.hosts.values()), proposal.epoch, proposal.term)
        assert proposal.now is not None
        assert proposal.then is not None
        hops_ms = 2 * ground.delays.hop_ms
        assert (4.0 + hops_ms, 5.0) == (proposal.now.latency_ms, proposal.now.cost_ms)
        assert (1.5 + hops_ms, 2.5) == (proposal.then.latency_ms, proposal.then.cost_ms)
        assert proposal.then.network_bytes != proposal.now.network_bytes
        assert {"orders.rate_per_s", "a -> c.delay_ms", "c -> b.delay_ms", "now.cost_ms"} <= proposal.grounds.keys()
        (told,) = ground.told("proposed")
        assert ("r1", proposal.hash) == (told.request, told.plan)

    play(story)


def test_a_dry_run_waits_until_its_leader_is_free() -> None:
    """What another search decides meanwhile is no answer to it."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "b")
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        leader.phase = Phase.ENFORCING
        ground.view.requests["r1"] = Request(request="r1", kind="propose", flow="talk", asked_ms=10**6)
        await ground.arrange()
        assert Phase.ENFORCING is leader.phase
        leader.phase = Phase.RESTING
        await ground.arrange()
        assert Phase.SEARCHING is leader.phase

    play(story)


def test_a_leader_says_what_a_plan_rests_on_by_now_when_somebody_wants_it_carried_out() -> None:
    """It alone knows rates and delays; the placement service compares."""

    async def story(ground: Ground) -> None:
        proposal = await ground.proposing("c")
        for _ in range(12):
            ground.delays.heard("a", "c", 200.0)
        ground.view.requests["r2"] = Request(
            request="r2", kind="approve", flow="talk", asked_ms=10**6, hash=proposal.hash
        )
        await ground.arrange()
        await ground.arrange()
        (word,) = ground.told(WEIGHED)
        assert ("r2", proposal.hash) == (word.request, word.plan)
        assert proposal.grounds.keys() == word.evidence.keys()
        assert proposal.grounds["orders.rate_per_s"] == word.evidence["orders.rate_per_s"]
        assert 100.0 - ground.delays.hop_ms == word.evidence["a -> c.delay_ms"] > proposal.grounds["a -> c.delay_ms"]

    play(story)


def test_a_leader_goes_on_with_what_a_person_approved() -> None:
    """Not with what it had committed before, and not back to an older plan that it has yet to see replaced."""

    async def story(ground: Ground) -> None:
        proposal = await ground.proposing("c")
        ground.body.leaders["talk"].phase = Phase.RESTING
        flow = ground.view.flows["talk"]
        ground.view.plans["talk"] = plan_for(flow, "c", epoch=proposal.epoch, term=7)
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        assert ({0: "c"}, proposal.epoch, Phase.RESTING) == (leader.running, leader.epoch, leader.phase)
        ground.view.plans["talk"] = plan_for(flow, "b", epoch=proposal.epoch - 1, term=7)
        await ground.arrange()
        assert {0: "c"} == ground.body.leaders["talk"].running

    play(story)


def test_leaders_weigh_moves_by_what_moves_have_really_cost() -> None:
    """A constant would let a flow with long pauses move as lightly as any other."""

    async def story(ground: Ground) -> None:
        flow = revision()
        ground.submit(flow)
        ground.view.plans["talk"] = plan_for(flow, "b")
        ground.view.moves["m"] = MoveRecord(
            move="m",
            flow="other",
            segment="other.s",
            partition=0,
            epoch=1,
            origin="b",
            target="c",
            phase="done",
            proposed_ms=0,
            since_ms=1,
            reason="test",
            actual_pause_ms=900.0,
            unread_changes=0,
        )
        await ground.arrange()
        assert 900.0 == ground.body.leaders["talk"]._damping.pause_ms

    play(story)
