"""What plans did not get is known to whoever leads next: the same is not tried again at once because a host died."""

from typing import Any

import msgspec
import pytest

from placement.leader_attempt import Reason
from placement.leader_events import NotCarriedOut, Published
from placement.leader_params import LIVE_LEADER
from services.host.cell.body import brain_ms
from services.host.cell.vain_tries import REMEMBERED_MS, one_more, recall
from services.registry.lease import lease_of
from tests.unit.cell.ground import Ground, in_vain, play, revision
from topics.messages import VainTry
from topics.messages.plans import IN_VAIN_MAX, TRIES_MAX

MINUTE_MS = 60_000
WANTED = {"s": "c", "t": "d"}
NEWS = NotCarriedOut(5, (("s", "b"),), "no such pause")


def barred(ground: Ground, *, after_ms: float = 0.0) -> Any:
    """Where scouts of talk's leader must not look for a better place."""
    weighing = ground.body.leaders["talk"].course.weighing
    return weighing.barred(Reason.WATCH, now_ms=brain_ms() + after_ms)


async def taken_over(ground: Ground, term: int = 8) -> None:
    """The leader dies with its host; another one knows what the registry says."""
    for plan in ground.plans():
        ground.view.take(plan)
    ground.keeper.terms[lease_of("talk")] = term
    await ground.arrange()
    ground.view.take(ground.plans()[-1])


async def learnt(ground: Ground) -> None:
    """talk runs on b, and did not get to c."""
    in_vain(ground)
    await ground.arrange()
    await ground.arrange()
    assert (("c", 1),) == barred(ground)


def test_tries_are_counted_and_the_newest_is_the_last() -> None:
    """By segment and host, whatever the plan."""
    known = one_more((), WANTED, NEWS, now_ms=1)
    known = one_more(known, WANTED, NotCarriedOut(6, (("s", "b"), ("t", "b")), ""), now_ms=2)
    known = one_more(known, WANTED | {"s": "e"}, NEWS, now_ms=3)
    assert (VainTry("s", "c", 2, 2), VainTry("t", "d", 1, 2), VainTry("s", "e", 1, 3)) == known
    assert VainTry("s", "c", 3, 4) == one_more(known, WANTED, NEWS, now_ms=4)[-1]


def test_what_a_person_has_chosen_is_left_for_the_longest_time_whoever_asks_next() -> None:
    """As the leader does that was told so."""
    known = one_more((), WANTED, NotCarriedOut(5, (("s", "b"),), "", by_person=True), now_ms=1)
    assert (VainTry("s", "c", 2, 2, by_person=True),) == one_more(known, WANTED, NEWS, now_ms=2)


def test_tries_are_forgotten_in_time_and_never_too_many() -> None:
    """A plan that grew for ever could not be written one day."""
    known = one_more((), WANTED, NEWS, now_ms=0)
    later_ms = int(REMEMBERED_MS)
    assert 1 == one_more(known, WANTED, NEWS, now_ms=later_ms)[-1].tries
    for number in range(2 * IN_VAIN_MAX):
        known = one_more(known, {"s": f"h{number}"}, NEWS, now_ms=1)
    assert (IN_VAIN_MAX, f"h{2 * IN_VAIN_MAX - 1}") == (len(known), known[-1].host)
    for _ in range(2 * TRIES_MAX):
        known = one_more(known, WANTED, NEWS, now_ms=1)
    assert TRIES_MAX == known[-1].tries


@pytest.mark.parametrize("by_person", [False, True])
@pytest.mark.parametrize("tries", [1, 2, 5, 8])
def test_who_is_told_waits_as_long_as_who_has_seen_it(tries: int, *, by_person: bool) -> None:
    """One rule for how long that is, in the brain: what happened is told again, at the time when it was so."""

    async def story(ground: Ground) -> None:
        ground.run("b", term=7)
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        (segment,) = leader.flow.graph.task_index
        broker_ms, ago_ms = 5e9, 10_000.0
        told = VainTry(segment, "c", tries, int(broker_ms - ago_ms), by_person)
        recall((told, VainTry("gone", "c", 1, 1)), leader, now_ms=brain_ms(), broker_ms=broker_ms)
        longest_ms = LIVE_LEADER.retry_move_at_most_ms
        wait_ms = longest_ms if by_person else min(MINUTE_MS * 2 ** (tries - 1), longest_ms)
        assert (("c", 1),) == barred(ground, after_ms=wait_ms - ago_ms - 1_000)
        assert () == barred(ground, after_ms=wait_ms - ago_ms + 1)

    play(story)


def test_a_clock_that_was_ahead_makes_nobody_wait_for_longer() -> None:
    """The leader before may have had another idea of the time."""

    async def story(ground: Ground) -> None:
        ground.run("b", term=7)
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        (segment,) = leader.flow.graph.task_index
        recall((VainTry(segment, "c", 1, 10**12),), leader, now_ms=brain_ms(), broker_ms=1e6)
        assert () == barred(ground, after_ms=MINUTE_MS + 1)

    play(story)


def test_the_next_leader_does_not_try_again_what_did_not_work() -> None:
    """It began with a minute, whatever those before it had learnt; and so on, from leader to leader."""

    async def story(ground: Ground) -> None:
        await learnt(ground)
        for term in (8, 9):
            await taken_over(ground, term)
            assert term == ground.plans()[-1].term
            assert (("c", 1),) == barred(ground)

    play(story)


def test_plans_that_follow_carry_it_on() -> None:
    """A flow that has found a third place since must not go where it could not get before, either."""

    async def story(ground: Ground) -> None:
        await learnt(ground)
        leader = ground.body.leaders["talk"]
        assert leader.plan is not None
        (correction,) = ground.plans()
        ground.leaders.decided(leader, Published(leader.plan, 2.5, "a better place"))
        await ground.arrange()
        assert (1, correction.in_vain) == (len(correction.in_vain), ground.plans()[-1].in_vain)

    play(story)


@pytest.mark.parametrize("term", [7, 8])
def test_a_changed_flow_begins_anew(term: int) -> None:
    """Its user may have allowed the very pause that stood in the way; also if somebody else leads it then."""

    async def story(ground: Ground) -> None:
        await learnt(ground)
        for plan in ground.plans():
            ground.view.take(plan)
        ground.submit(revision(number=2), term=term)
        await ground.arrange()
        assert () == barred(ground)

    play(story)


def test_who_has_got_there_since_may_stay() -> None:
    """A person may have approved what the leader was not let do."""

    async def story(ground: Ground) -> None:
        await learnt(ground)
        plan = ground.plans()[-1]
        (segment,) = plan.hosts
        ground.view.take(
            msgspec.structs.replace(plan, epoch=plan.epoch + 1, hosts={segment: "c"}, hash="approved", corrects=None)
        )
        await ground.arrange()
        assert {0: "c"} == ground.body.leaders["talk"].running
        assert () == barred(ground)

    play(story)
