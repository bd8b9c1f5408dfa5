"""What people ask of leaders, and what leaders answer."""

from placement.leader_phases import Phase
from services.host.cell.wishes import BUSY_MS_MAX
from services.registry.decisions import BUSY, WEIGHED
from tests.unit.cell.ground import COUNTED, Ground, play
from topics.catalogue import REQUESTS
from topics.messages import Request


def test_a_person_can_ask_a_leader_to_look_now() -> None:
    """An old wish, read again after a restart, was meant for the leader before."""

    async def story(ground: Ground) -> None:
        ground.run("b")
        ground.view.requests["old"] = Request(request="old", kind="propose", flow="talk", asked_ms=1)
        await ground.arrange()
        assert Phase.RESTING is ground.body.leaders["talk"].phase
        ground.view.requests["new"] = Request(request="new", kind="propose", flow="talk", asked_ms=10**6)
        await ground.arrange()
        assert Phase.RESTING is not ground.body.leaders["talk"].phase

    play(story)


def test_a_wish_is_as_old_as_the_broker_says() -> None:
    """On a laptop a minute late `stigmergy plan` always ended in "no leader has answered"."""

    async def story(ground: Ground) -> None:
        ground.run("b")
        await ground.arrange()
        late = Request(request="late", kind="propose", flow="talk", asked_ms=1)
        value = REQUESTS.codec.encode(late, topic=REQUESTS.name)
        ground.view.apply(REQUESTS.name, b"late", value, partition=0, offset=0, appended_ms=10**6)
        await ground.arrange()
        assert Phase.RESTING is not ground.body.leaders["talk"].phase

    play(story)


def test_a_dry_run_publishes_what_would_be_done_and_commits_nothing() -> None:
    """Whatever the flow's policy: under auto a committed plan would be carried out at once."""

    async def story(ground: Ground) -> None:
        proposal = await ground.proposing("c")
        assert [4] == [plan.epoch for plan in ground.plans()], "only the one that was taken over"
        assert ({"c"}, COUNTED + 1, 7) == (set(proposal.hosts.values()), proposal.epoch, proposal.term)
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
        ground.run("b")
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        leader.course.phase = Phase.ENFORCING
        ground.view.requests["r1"] = Request(request="r1", kind="propose", flow="talk", asked_ms=10**6)
        await ground.arrange()
        assert Phase.ENFORCING is leader.phase
        leader.course.phase = Phase.RESTING
        await ground.arrange()
        assert Phase.SEARCHING is leader.phase

    play(story)


def test_a_leader_that_has_no_time_for_a_dry_run_says_so() -> None:
    """Who asked heard after a minute that no leader had answered, and was sent to look whether hosts ran."""

    async def story(ground: Ground) -> None:
        ground.run("b")
        await ground.arrange()
        leader = ground.body.leaders["talk"]
        leader.standing.dead.add("b")
        for name, age_ms in (("old", BUSY_MS_MAX), ("new", BUSY_MS_MAX - 1)):
            asked_ms = int(10**6 - age_ms)
            ground.view.requests = {name: Request(request=name, kind="propose", flow="talk", asked_ms=asked_ms)}
            for _ in range(2):
                await ground.arrange()
        (told,) = ground.told(BUSY)
        assert ("old", "its leader still looks for a place itself: a host of the flow was lost") == (
            told.request,
            told.why,
        )

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
