"""Who leads a flow, who waits for whom, and what leaders hear and tell."""

from typing import Any

import msgspec
import pytest

from placement.ants.enforcement import Release
from placement.leader_attempt import Reason
from placement.leader_events import HotSpotAhead, Published
from placement.leader_phases import Phase
from services.host.cell.body import brain_ms
from services.host.cell.leaders import REMODEL_EVERY_MS, WARNED_EVERY_MS
from services.host.cell.seen_rates import HEEDED_MS
from services.host.cell.turns import PLACING_MAX
from services.registry.lease import lease_of
from tests.unit.cell.ground import COUNTED, Ground, plan_for, play, revision
from tests.unit.cell.test_flow_model import counting, row
from tests.unit.registry_messages import move_record
from topics.messages import Decision, HotSpotModel, Model, OperatorMetrics, Policy, SeenRate


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


def test_a_hot_spot_that_the_models_foresee_makes_the_leader_send_ants_now() -> None:
    """And one whose time has passed does not."""

    async def story(ground: Ground) -> None:
        ground.run("b")
        await ground.arrange()
        for second, phase in ((900, Phase.RESTING), (999, Phase.SEARCHING)):
            body = HotSpotModel("talk", "b", "large", 3.0, -5.0, 0.9)
            ground.leaders.heard_model(Model("hotspot/talk", second, 60, 60, 0.1, 1, 1, body))
            assert phase is ground.body.leaders["talk"].phase, second

    play(story)


def test_only_the_leader_of_who_should_leave_acts() -> None:
    """The flow in danger may be led elsewhere; and where it is led here, another one may be the one to leave."""

    async def story(ground: Ground) -> None:
        ground.run("b")
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


def test_a_warning_is_heeded_after_the_brokers_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it was set back, seconds seemed to have been warned of already."""

    async def story(ground: Ground) -> None:
        heard, local_ms = await warned(ground, monkeypatch)
        for back_ms in (0.0, 3.6e6):
            ground.broker_ms = 1e7 - back_ms
            local_ms[0] += WARNED_EVERY_MS
            for _ in range(2):  # two flows that are in danger name the same one
                ground.leaders.heard_model(near("talk", second=int(ground.broker_ms / 1e3)))
        assert [HotSpotAhead("b")] * 2 == heard

    play(story)


def test_the_service_says_that_a_bound_is_broken_after_a_host_has_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes seconds later, and is of a second before the warning: no news, it seemed."""

    async def story(ground: Ground) -> None:
        heard, _ = await warned(ground, monkeypatch)
        ground.leaders.heard_model(near("talk", second=999))
        ground.leaders.heard_model(near("talk", second=996, in_s=0.0))
        assert [HotSpotAhead("b"), HotSpotAhead("b", broken=True)] == heard

    play(story)


async def warned(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> tuple[list[HotSpotAhead], list[float]]:
    """talk runs on b and is led here: what its leader hears of hot spots, and the local time that holds."""
    ground.run("b")
    await ground.arrange()
    heard: list[HotSpotAhead] = []
    tell, local_ms = ground.body.tell_leader, [brain_ms()]

    def told(flow: str, event: Any) -> None:
        heard.extend([event] if isinstance(event, HotSpotAhead) else [])
        tell(flow, event)

    monkeypatch.setattr(ground.body, "tell_leader", told)
    monkeypatch.setattr("services.host.cell.leaders.brain_ms", lambda: local_ms[0])
    return heard, local_ms


def test_a_flow_that_is_warned_is_priced_at_what_the_host_sees_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds after a burst has begun the mean of fifteen knows little of it; its leader found that it can stay."""

    async def story(ground: Ground) -> None:
        heard, local_ms = await warned(ground, monkeypatch)
        leader = ground.body.leaders["talk"]
        (segment,) = leader.flow.graph.task_index

        def rate_per_s() -> float:
            return 1e3 * leader.flow.sources[0].rate_per_ms

        for second in range(983, 1_000):
            ground.leaders.heard_row(filtering(segment, second, arrivals=40 if second > 996 else 15), second * 1e3)
        ground.leaders.heard_model(near("talk", second=999, rates=(SeenRate("talk", segment, 36.0),)))
        assert 36.0 == pytest.approx(rate_per_s())
        assert leader.course.attempt is not None
        assert (Reason.HOT, heard) == (leader.course.attempt.reason, [HotSpotAhead("b")])
        local_ms[0] += 0.9 * HEEDED_MS
        await ground.arrange()
        assert 36.0 == pytest.approx(rate_per_s()), "what is measured is still of the time before"
        local_ms[0] += 0.1 * HEEDED_MS + REMODEL_EVERY_MS
        await ground.arrange()
        assert 18.3 == pytest.approx(rate_per_s(), abs=0.1)

    play(story)


def test_a_warning_that_is_of_less_than_is_known_changes_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a host tells is a bound from below; and hosts of before tell nothing."""

    async def story(ground: Ground) -> None:
        _, local_ms = await warned(ground, monkeypatch)
        leader = ground.body.leaders["talk"]
        (segment,) = leader.flow.graph.task_index
        for second in range(983, 1_000):
            ground.leaders.heard_row(filtering(segment, second, arrivals=15), second * 1e3)
        for rates in ((), (SeenRate("talk", segment, 12.0),), (SeenRate("other", segment, 99.0),)):
            local_ms[0] += WARNED_EVERY_MS
            ground.leaders.heard_model(near("talk", second=999, rates=rates))
            assert 0.015 == pytest.approx(leader.flow.sources[0].rate_per_ms)

    play(story)


def filtering(segment: str, second: int, *, arrivals: int) -> OperatorMetrics:
    """One second of the only operator of talk."""
    blank = row(counting(), "kept", second, arrivals=arrivals, outputs=arrivals)
    return msgspec.structs.replace(blank, host="b", flow="talk", segment=segment, operator="large")


def near(flow: str, *, second: int, in_s: float = 3.0, rates: tuple[SeenRate, ...] = ()) -> Model:
    """A warning of host b."""
    body = HotSpotModel(flow, "b", "large", in_s, -5.0, 0.9, (), rates)
    return Model(f"hotspot/{flow}/b", second, 1, 1, None, 1, 0, body)


def test_a_withdrawn_flow_ends_everywhere_and_its_plan_says_so() -> None:
    """The epoch stays in the registry, so that it never starts again."""

    async def story(ground: Ground) -> None:
        ground.run("b", term=7)
        await ground.arrange()
        ground.submit(revision(number=2, state="withdrawn"))
        await ground.arrange()
        assert ("b", Release("talk", COUNTED)) in ground.sent
        (ended,) = ground.plans()
        assert ({}, COUNTED, 7) == (ended.hosts, ended.epoch, ended.term)
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
        ground.run("b", term=7)
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


def test_leaders_weigh_moves_by_what_moves_have_really_cost() -> None:
    """A constant would let a flow with long pauses move as lightly as any other."""

    async def story(ground: Ground) -> None:
        ground.run("b")
        ground.view.moves["m"] = move_record("other", "other.s", actual_pause_ms=900.0, unread_changes=0)
        await ground.arrange()
        assert 900.0 == ground.body.leaders["talk"].course.weighing.damping.pause_ms

    play(story)


@pytest.mark.parametrize("by_person", [True, False])
def test_a_leader_hears_whether_its_flow_may_move(by_person: bool) -> None:
    """By a person's word or by the flow's file; whoever leads next hears it before its first ants leave."""

    async def story(ground: Ground) -> None:
        ground.run("b", term=7)
        if by_person:
            ground.view.take(Policy(subject="flow", name="talk", policy="freeze", changed_ms=1))
        else:
            flow = ground.view.flows["talk"]
            ground.submit(msgspec.structs.replace(flow, text=f"moves: freeze{flow.text}"))
        await ground.arrange()
        assert ground.body.leaders["talk"].is_frozen
        ground.keeper.terms[lease_of("talk")] = 8
        await ground.arrange()
        assert ground.body.leaders["talk"].is_frozen
        ground.view.take(Policy(subject="flow", name="talk", policy="auto", changed_ms=2))
        await ground.arrange()
        assert not ground.body.leaders["talk"].is_frozen

    play(story)
