"""A leader that found no place after a loss: others have placed its flow anew meanwhile, and it leads on from there."""

from typing import Any

import pytest

from placement.leader_attempt import Reason
from placement.leader_events import CutOff, TimerFired
from placement.leader_phases import Phase
from services.host.cell.carried_out import PlacedAnew, placed_anew
from services.registry.view import RegistryView
from tests.unit.cell.ground import REGIONS, Ground, placed, play
from tests.unit.registry_messages import committed_plan, move_record
from topics.messages import Decision

PLAN = committed_plan("talk", {"s": "b", "t": "c"}, epoch=5, hash="new")
WITHOUT_B = {host: region for host, region in REGIONS.items() if host != "b"}


def registry(hosts: dict[tuple[str, int], str | None], **about: Any) -> RegistryView:
    view = RegistryView()
    for (segment, partition), host in hosts.items():
        view.take(placed(segment, partition, host, **about))
    return view


def test_all_of_it_must_be_somewhere_that_lives() -> None:
    """Each segment counts as where most of it is; a leader knows one host for each."""
    hosts: dict[tuple[str, int], str | None] = {("s", 0): "d", ("s", 1): "e", ("s", 2): "e", ("t", 0): "c"}
    assert PlacedAnew({"s": "e", "t": "c"}) == placed_anew(registry(hosts), PLAN, live={"c", "d", "e"})


@pytest.mark.parametrize(
    ("hosts", "about"),
    [
        ({("s", 0): "d", ("s", 1): "b", ("t", 0): "c"}, {}),
        ({("s", 0): "d", ("t", 0): None}, {}),
        ({("s", 0): "d"}, {}),
        ({("s", 0): "d", ("t", 0): "c"}, {"revision": 2}),
    ],
    ids=["a partition is on the lost host", "nobody owns a partition", "a segment is not placed", "another revision"],
)
def test_until_all_of_it_runs_its_leader_looks_for_a_place(
    hosts: dict[tuple[str, int], str | None], about: dict[str, Any]
) -> None:
    """What the placement service has yet to do, the leader may do better."""
    assert placed_anew(registry(hosts, **about), PLAN, live={"c", "d"}) is None


def test_what_moves_just_now_is_not_told() -> None:
    """It may end elsewhere."""
    view = registry({("s", 0): "d", ("t", 0): "c"})
    view.take(move_record("talk", "s", phase="warming"))
    assert placed_anew(view, PLAN, live={"c", "d"}) is None


def put(ground: Ground, host: str, *, epoch: int) -> None:
    """All of talk is there, by what the registry says."""
    plan = ground.view.plans["talk"]
    for segment in plan.hosts:
        for partition in range(2):
            ground.view.take(placed(segment, partition, host, plan=plan.hash, epoch=epoch))


async def lost_b(ground: Ground) -> None:
    """talk ran on b, which was lost; its leader looks for another place."""
    ground.run("b", term=7)
    put(ground, "b", epoch=1)
    await ground.arrange()
    ground.regions = WITHOUT_B
    await ground.arrange()
    assert Phase.SEARCHING is ground.body.leaders["talk"].phase


def find_nothing(ground: Ground) -> None:
    """No ant comes back, until the leader gives up."""
    leader = ground.body.leaders["talk"]
    for _ in range(1_000):
        ground.body.tell_leader("talk", TimerFired("patience"))
        if leader.phase is Phase.RESTING:
            return
    raise AssertionError(leader.phase)


async def gave_up(ground: Ground) -> None:
    await lost_b(ground)
    find_nothing(ground)
    await ground.arrange()
    leader = ground.body.leaders["talk"]
    assert ({0: "b"}, Phase.RESTING, []) == (leader.running, leader.phase, ground.plans())
    assert 1 == len(ground.told("refused"))


def test_it_learns_where_its_flow_was_placed_and_leads_on_from_there() -> None:
    """Else it would look for a first place for ever, and move what runs well without comparing; cells would keep no
    room where it runs, and nobody would watch it."""

    async def story(ground: Ground) -> None:
        await gave_up(ground)
        lost, before = ground.view.plans["talk"], ground.body.leaders["talk"]
        put(ground, "c", epoch=2)
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        assert ({0: "c"}, Phase.RESTING, False) == (leader.running, leader.phase, bool(leader.standing.dead))
        (plan,) = ground.plans()
        assert ({"c"}, lost.hash, (), 7) == (set(plan.hosts.values()), plan.corrects, plan.moves, plan.term)
        assert plan.epoch == leader.epoch > before.epoch
        (kept,) = ground.told("kept")
        assert f"plan {lost.hash} has lost b, and was placed anew" == kept.why
        assert {} == kept.evidence, "nobody knows yet what it costs there"
        await ground.arrange()
        ground.view.take(plan)
        await ground.arrange()
        assert ([plan], leader) == (ground.plans(), ground.body.leaders["talk"]), "once"

    play(story)


def test_why_no_place_was_found_is_told_before_where_it_runs() -> None:
    """The last word of the history is what holds."""

    async def story(ground: Ground) -> None:
        await lost_b(ground)
        put(ground, "c", epoch=2)
        find_nothing(ground)
        await ground.arrange()
        await ground.arrange()
        kinds = [each.kind for each in ground.published if isinstance(each, Decision)]
        assert ["refused", "kept"] == kinds

    play(story)


def test_it_goes_on_with_its_plan_if_the_host_is_back() -> None:
    """Nothing has changed for anybody else."""

    async def story(ground: Ground) -> None:
        await gave_up(ground)
        counted = ground.body.leaders["talk"].epoch
        ground.regions = dict(REGIONS)
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        assert ({0: "b"}, Phase.RESTING, []) == (leader.running, leader.phase, ground.plans())
        assert (4, counted) == (leader.plan.epoch if leader.plan else None, leader.epoch), "epochs count on"
        await ground.arrange()
        assert leader is ground.body.leaders["talk"]

    play(story)


def test_while_it_looks_for_a_place_it_is_not_disturbed() -> None:
    """It has the first word."""

    async def story(ground: Ground) -> None:
        await lost_b(ground)
        put(ground, "c", epoch=2)
        await ground.arrange()
        assert (Phase.SEARCHING, []) == (ground.body.leaders["talk"].phase, ground.plans())

    play(story)


@pytest.mark.parametrize("reason", [Reason.CUT_OFF, Reason.UNSERVED])
def test_only_after_a_loss_another_leader_leads_on(reason: Reason) -> None:
    """Who looks for a place because its data do not get through, or because nobody serves it any more, runs where it
    thinks: a leader that is born again each second would never find it, nor save anything for its ants."""

    async def story(ground: Ground) -> None:
        ground.run("b", term=7)
        put(ground, "c", epoch=2)
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        if reason is Reason.CUT_OFF:
            leader.standing.cut = CutOff(("b",))
        else:
            leader.standing._strange_taps = True
        assert (reason, Phase.RESTING) == (leader.standing.why_look(), leader.phase)
        await ground.arrange()
        assert (leader, []) == (ground.body.leaders["talk"], ground.plans())

    play(story)
