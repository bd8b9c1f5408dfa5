"""What leaders do about segments that other flows run already. Leases are played, the brain is real."""

import msgspec

from placement.leader_events import GaveUp, Published
from placement.model import Placement as PlacedTasks
from placement.model import Plan
from tests.unit.cell.ground import Ground, play
from tests.unit.sharing.talks import plan, run, segment, submit, talk, tap, text_of
from topics.messages import Decision

SERVER, TAPPER = talk("f"), talk("g")
TAP = tap(TAPPER, SERVER)
TOTALS = segment(TAPPER, "totals")


def serve(ground: Ground, host: str = "b") -> None:
    """f runs on that host."""
    run(ground.view, SERVER)
    for each in list(ground.view.placements.values()):
        if each.flow == "f":
            ground.view.take(msgspec.structs.replace(each, host=host))


async def lead(ground: Ground) -> None:
    """g is led by host a."""
    submit(ground.view, TAPPER, text_of("g"))
    ground.keeper.terms["leader/g"] = 7
    await ground.arrange()


def tasks(ground: Ground) -> list[str]:
    return [task.name for task in ground.body.leaders["g"].flow.tasks]


def all_segments() -> set[str]:
    return {each.id for each in TAPPER.segments}


def test_a_new_flow_reads_what_an_equal_segment_of_another_flow_writes() -> None:
    """Its leader places the rest: what is tapped comes as from a source, where it runs."""

    async def story(ground: Ground) -> None:
        serve(ground, "b")
        await lead(ground)
        leader = ground.body.leaders["g"]
        assert ([TOTALS], "a") == (tasks(ground), leader.host)
        assert [(TAP.segment, "b")] == [(source.name, source.host) for source in leader.flow.sources]
        placed = Plan("g", 1, PlacedTasks.of({("g", TOTALS): "c"}), ())
        ground.leaders.decided(leader, Published(placed, 2.5, "it is new", own_ms=1.5))
        await ground.arrange()
        (message,) = ground.plans()
        assert ({TOTALS: "c"}, (TAP,)) == (message.hosts, message.taps)
        told = next(each for each in ground.published if isinstance(each, Decision))
        assert f"{TAP.segment} served by f" in told.what

    play(story)


def test_a_flow_whose_first_records_are_gone_serves_nobody() -> None:
    """The newcomer would miss them."""

    async def story(ground: Ground) -> None:
        serve(ground)
        ground.whole = False
        await lead(ground)
        assert all_segments() == set(tasks(ground))

    play(story)


def test_a_flow_that_has_run_by_itself_goes_on_by_itself() -> None:
    """Whoever came to run the same since."""

    async def story(ground: Ground) -> None:
        run(ground.view, TAPPER)
        serve(ground)
        await lead(ground)
        assert all_segments() == set(tasks(ground))

    play(story)


def test_a_flow_that_taps_goes_on_tapping_when_the_other_one_is_withdrawn() -> None:
    """It has no place of its own in the source; a leader that takes over sees that from the registry."""

    async def story(ground: Ground) -> None:
        serve(ground)
        run(ground.view, TAPPER, TAP, server=SERVER)
        submit(ground.view, SERVER, text_of("f"), revision=2, state="withdrawn")
        await lead(ground)
        leader = ground.body.leaders["g"]
        assert ([TOTALS], {0: "a"}) == (tasks(ground), leader.running)
        await ground.arrange()
        assert leader is ground.body.leaders["g"]

    play(story)


def test_until_it_runs_a_flow_gives_up_a_tap_on_a_flow_that_ends() -> None:
    """The placement service would refuse the plan, and nobody would make another one."""

    async def story(ground: Ground) -> None:
        serve(ground)
        await lead(ground)
        ground.view.take(plan(TAPPER, TAP, epoch=3))
        ground.body.leaders["g"].course.epoch = 3
        submit(ground.view, SERVER, text_of("f"), revision=2, state="withdrawn")
        await ground.arrange()
        assert (all_segments(), 3) == (set(tasks(ground)), ground.body.leaders["g"].epoch)

    play(story)


def test_what_finds_no_place_beside_a_tap_looks_for_one_by_itself() -> None:
    """The other flow may run too far away. Nobody is told of a refusal before that has been tried."""

    async def story(ground: Ground) -> None:
        serve(ground)
        await lead(ground)
        ground.leaders.decided(ground.body.leaders["g"], GaveUp("g", "too far"))
        await ground.arrange()
        assert all_segments() == set(tasks(ground))
        assert [] == [each for each in ground.published if isinstance(each, Decision)]

    play(story)


def test_when_the_shared_segment_moves_its_reader_hears_of_it() -> None:
    """A place that was near may be far now."""

    async def story(ground: Ground) -> None:
        serve(ground, "b")
        run(ground.view, TAPPER, TAP, server=SERVER)
        await lead(ground)
        serve(ground, "c")
        run(ground.view, TAPPER, TAP, server=SERVER)
        await ground.arrange()
        assert ["c"] == [source.host for source in ground.body.leaders["g"].flow.sources]

    play(story)
