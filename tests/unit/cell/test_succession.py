"""What a new leader begins with: what the registry knows, what a user changed, or what a person approved."""

import math

import msgspec

from placement.ants.enforcement import Release
from placement.cell_ledger import Booking, State
from placement.leader_phases import Phase
from placement.queueing import IDLE
from services.host.cell.pins import pin
from services.registry.lease import lease_of
from tests.unit.cell.ground import REGIONS, Ground, plan_for, play, revision
from topics.messages import FlowRevision


def test_when_the_source_host_dies_another_leads_with_what_the_registry_knows() -> None:
    """The plan runs on under its epoch."""

    async def story(ground: Ground) -> None:
        flow = next(
            candidate for k in range(100) if _heir(candidate := revision(f"talk-{k}", at="dead"), REGIONS) == "a"
        )
        ground.submit(flow)
        ground.view.plans[flow.flow] = plan_for(flow, "b")
        await ground.arrange()
        leader = ground.body.leaders[flow.flow]
        assert leader.plan is not None
        assert (4, {0: "b"}, Phase.RESTING) == (leader.plan.epoch, leader.running, leader.phase)
        assert [] == ground.sent, "it looks around later, and not together with everybody else"

    play(story)


def _heir(flow: FlowRevision, regions: dict[str, str]) -> str:
    return pin(flow.flow, "dead", regions).host


def test_a_leader_that_takes_over_makes_the_running_plan_its_own() -> None:
    """What its predecessor still had on its way arrives later, with a higher epoch: nobody may follow it."""

    async def story(ground: Ground) -> None:
        ground.run("b")
        before = ground.view.plans["talk"]
        await ground.arrange()
        (own,) = ground.plans()
        assert (7, "a") == (own.term, own.leader)
        assert before == msgspec.structs.replace(own, term=1, leader="z"), "nothing moves for it"
        assert ground.plans() == ground.published, "nothing was decided"
        ground.view.take(own)
        assert not ground.view.take(plan_for(revision(), "c", epoch=5, term=1))
        await ground.arrange()
        assert [own] == ground.plans(), "it says so once"

    play(story)


def test_hosts_that_turned_a_leader_back_take_the_ants_of_the_next_one() -> None:
    """Epochs that came to nothing are never published, but hosts remember them as ended: whoever counts on from the
    registry alone is refused for each of them, and its flow stays without a place for as long."""

    async def story(ground: Ground) -> None:
        ground.submit(revision(), term=6)
        await ground.arrange()
        ledger, first = ground.body.cell.ledger, ground.body.leaders["talk"]
        for _ in range(40):
            first.course.epoch += 1
            ledger.cancel("talk", first.epoch)
        ground.leaders._succession.forget("talk")  # the next one lives on another host
        ground.keeper.terms[lease_of("talk")] = 7
        await ground.arrange()
        heir = ground.body.leaders["talk"]
        assert heir is not first
        assert ledger.reserve(Booking("talk", heir.epoch + 1, 1, IDLE, State.RESERVED, math.inf)) is None

    play(story)


def test_a_lease_that_turns_out_to_be_held_starts_no_epoch_again() -> None:
    """A host that stood still for seconds holds its lease for lost, and then reads that it was renewed."""

    async def story(ground: Ground) -> None:
        ground.run("b", term=7)
        await ground.arrange()
        ground.body.leaders["talk"].course.epoch += 40
        counted = ground.body.leaders["talk"].epoch
        del ground.keeper.terms[lease_of("talk")]
        await ground.arrange()
        assert {} == ground.body.leaders
        ground.keeper.terms[lease_of("talk")] = 7
        await ground.arrange()
        assert counted == ground.body.leaders["talk"].epoch

    play(story)


def test_a_leader_that_takes_over_plans_anew_what_ran_on_a_dead_host() -> None:
    """Its predecessor may have died together with it."""

    async def story(ground: Ground) -> None:
        ground.run("dead")
        await ground.arrange()
        assert Phase.RESTING is not ground.body.leaders["talk"].phase

    play(story)


def test_a_new_revision_is_placed_anew_and_the_old_one_ends() -> None:
    """Its segments may be others; the epoch goes on."""

    async def story(ground: Ground) -> None:
        ground.run("b", term=7)
        await ground.arrange()
        counted = ground.body.leaders["talk"].epoch
        ground.submit(revision(number=2))
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        assert ("b", Release("talk", counted)) in ground.sent
        assert (counted, None) == (leader.epoch, leader.plan)
        assert [] == ground.plans(), "a flow that goes on has not ended"

    play(story)


def test_a_leader_goes_on_with_what_a_person_approved() -> None:
    """Not with what it had committed before, and not back to an older plan that it has yet to see replaced."""

    async def story(ground: Ground) -> None:
        proposal = await ground.proposing("c")
        ground.body.leaders["talk"].course.phase = Phase.RESTING
        flow = ground.view.flows["talk"]
        ground.view.plans["talk"] = plan_for(flow, "c", epoch=proposal.epoch, term=7)
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        assert ({0: "c"}, proposal.epoch, Phase.RESTING) == (leader.running, leader.epoch, leader.phase)
        ground.view.plans["talk"] = plan_for(flow, "b", epoch=proposal.epoch - 1, term=7)
        await ground.arrange()
        assert {0: "c"} == ground.body.leaders["talk"].running

    play(story)
