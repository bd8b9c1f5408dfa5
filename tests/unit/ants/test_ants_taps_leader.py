"""Task reuse among leaders (Ants 3.10): who has to agree, who is told, and that nothing stops while it is tapped."""

import math
from dataclasses import replace
from random import Random
from typing import Any

from placement.ants.effects import Send
from placement.ants.enforcement import Activation, Cancellation, Enforced, EnforcementAnt, Release
from placement.ants.letters import Letter
from placement.ants.order import Offer
from placement.ants.params import IMPROVED
from placement.ants.scouting import ScoutingAnt
from placement.leader import Leader
from placement.leader_attempt import Reason
from placement.leader_events import (
    HostLost,
    Lingers,
    Place,
    Published,
    ServedFrom,
    ServingEnds,
    TapAnswered,
    TapAsked,
    TimerFired,
    Withdraw,
    Withdrawn,
)
from placement.leader_params import IMPROVED_LEADER
from placement.leader_params import Release as AntRelease
from placement.leader_phases import Phase
from placement.model import Flow, Sink, Source, Task, chain
from tests.unit.ants.leader_stage import Stage as LeaderStage

TASKS = tuple(Task(name, 10.0, cs2=0.0, identity=f"id-{name}") for name in "abc")

FLOW = chain("f", Source("in", "s", 0.01, message_bytes=1000.0), TASKS, Sink("out", "d"))

PARAMS = replace(
    IMPROVED_LEADER,
    placing=AntRelease(routing_ants=1, enough_routing_ants=1, scouts=1, enough_reports=1),
    watching=AntRelease(routing_ants=1, enough_routing_ants=1, scouts=1, enough_reports=1),
    budget_share=None,
)
OFFER = Offer("old", "b", "m", "h", 15.0)


class Stage(LeaderStage):
    """Of a leader whose flow may tap another, or be tapped."""

    def __init__(self, flow: Flow = FLOW) -> None:
        super().__init__(flow, PARAMS)
        self.leader = Leader(flow, PARAMS, IMPROVED, fastest_capacity=1.0, seniority=5)

    def letters(self, kind: type) -> list[tuple[str, str, Any]]:
        """(to, flow, news) of that kind."""
        messages = [(e.to, e.message) for e in self.effects if isinstance(e, Send) and isinstance(e.message, Letter)]
        return [(to, letter.flow, letter.news) for to, letter in messages if isinstance(letter.news, kind)]

    def look(self, *hosts: str, tap: Offer | None = None, covered: int = 0, cost_ms: float = 50.0) -> None:
        """Ants return and a scout reports."""
        self.ants_return(1)
        self.report(*hosts, tap=tap, covered=covered, cost_ms=cost_ms)

    def running(self, *hosts: str) -> "Stage":
        self.tell(Place())
        self.look(*hosts)
        self.tell(Enforced(self.leader.epoch, committed=True))
        return self

    def tapping(self) -> "Stage":
        self.tell(Place())
        self.look("m", "m", "y", tap=OFFER, covered=2)
        self.tell(TapAnswered(1, "old", "b"))
        self.tell(Enforced(1, committed=True))
        return self


def test_a_plan_with_a_tap_waits_for_the_consent_of_the_leader_that_serves() -> None:
    """Nothing may be published that taps what may stop the next moment, in whichever order the answers come."""
    stage = Stage()
    stage.tell(Place())
    stage.look("m", "m", "y", tap=OFFER, covered=2)
    assert [("h", "old", TapAsked("f", 1, "s", "b"))] == stage.letters(TapAsked)
    (ant,) = stage.sent(EnforcementAnt)
    assert {"m": 0, "y": 0b100} == {stop.host: stop.mask for stop in ant.stops}
    assert stage.tell(Enforced(1, committed=True)) == []
    stage.tell(TapAnswered(1, "old", "b"))
    (published,) = stage.found(Published)
    assert (("f", "c", "y"),) == published.plan.placement.spots
    assert [("old", "b")] == [(tap.to_flow, tap.to_task) for tap in published.plan.placement.taps]
    assert ["y"] == [e.to for e in stage.effects if isinstance(e, Send) and isinstance(e.message, Activation)]


def test_a_refused_tap_sends_fresh_scouts_that_avoid_that_flow() -> None:
    """Else they would report the same again."""
    stage = Stage()
    stage.tell(Place())
    stage.look("m", "m", "y", tap=OFFER, covered=2)
    stage.tell(TapAnswered(1, "old", "b", "the flow is ending"))
    assert [("h", "old", Cancellation("f", 1))] == stage.letters(Cancellation)
    stage.ants_return(1)
    (sent,) = stage.sent(ScoutingAnt)
    assert ("old",) == sent.order.avoided


def test_scouts_after_a_stale_tap_know_what_the_enforcement_ant_found() -> None:
    """Lives 31 and 32: a flow never ran because every search ended at the same tap of a task that had moved."""
    stage = Stage()
    stage.tell(Place())
    stage.look("m", "m", "y", tap=OFFER, covered=2)
    gone = replace(OFFER, age_ms=math.inf)
    stage.tell(Enforced(1, committed=False, why="runs here no more", stale=gone))
    stage.ants_return(1)
    (sent,) = stage.sent(ScoutingAnt)
    assert (gone,) == sent.order.stale


def test_a_failed_enforcement_gives_the_tap_back() -> None:
    """A tap that nobody uses must not keep a flow alive."""
    stage = Stage()
    stage.tell(Place())
    stage.look("m", "m", "y", tap=OFFER, covered=2)
    stage.tell(TapAnswered(1, "old", "b"))
    stage.tell(Enforced(1, committed=False, why="no room"))
    assert [("h", "old", Cancellation("f", 1))] == stage.letters(Cancellation)


def test_a_flow_that_moves_away_from_its_tap_or_ends_releases_it() -> None:
    """Reference counts go down, too."""
    moved = Stage().tapping()
    moved.tell(ServingEnds("old"))
    moved.look("x", "x", "y")
    moved.tell(Enforced(2, committed=True))
    assert [("h", "old", Release("f", 1))] == moved.letters(Release)
    ended = Stage().tapping()
    ended.tell(Withdraw())
    assert [("h", "old", Release("f", 1))] == ended.letters(Release)
    assert ended.found(Withdrawn)


def test_a_flow_that_is_tapped_lingers_until_its_tappers_have_gone() -> None:
    """The serving task keeps running for its tappers; they are told, and the last one to go ends the flow."""
    stage = Stage().running("x", "x", "y")
    for by in ("g", "k"):
        stage.tell(TapAsked(by, 3, f"home-{by}", "b"))
        assert [(f"home-{by}", by, TapAnswered(3, "f", "b"))] == stage.letters(TapAnswered)
    stage.tell(Withdraw())
    assert [Lingers("f")] == stage.found(Lingers)
    assert [("home-g", "g", ServingEnds("f")), ("home-k", "k", ServingEnds("f"))] == stage.letters(ServingEnds)
    assert stage.tell(Release("g", 3)) == []
    stage.tell(Cancellation("k", 3))
    assert stage.found(Withdrawn)
    assert ["x", "y"] == [e.to for e in stage.effects if isinstance(e, Send)]


def test_a_lingering_flow_that_its_user_wants_again_goes_on() -> None:
    """It never stopped."""
    stage = Stage().running("x", "x", "y")
    stage.tell(TapAsked("g", 3, "home-g", "b"))
    stage.tell(Withdraw())
    stage.tell(Place())
    assert stage.leader.phase is Phase.RESTING
    assert stage.tell(Release("g", 3)) == []


def test_nobody_may_tap_what_does_not_run_or_is_about_to_stop() -> None:
    """Consent is given only for what the leader can keep running."""

    def refusal(stage: Stage, task: str) -> str:
        stage.tell(TapAsked("g", 1, "home-g", task))
        ((_, _, answered),) = stage.letters(TapAnswered)
        return answered.why_not

    assert "does not run" in refusal(Stage(), "b")
    assert "does not run" in refusal(Stage().running("x", "x", "y"), "nonsense")
    assert "does not run" in refusal(Stage().tapping(), "b")
    dying = Stage().running("x", "x", "y")
    dying.tell(HostLost("x"))
    assert "does not run" in refusal(dying, "b")
    stopping = Stage().running("x", "x", "y")
    stopping.tell(HostLost("y"))
    stopping.look("m", "m", "z", tap=OFFER, covered=2)
    assert "about to stop" in refusal(stopping, "b")
    lingering = Stage().running("x", "x", "y")
    lingering.tell(TapAsked("g", 1, "home-g", "b"))
    lingering.tell(Withdraw())
    assert "ending" in refusal(lingering, "b")


def test_a_task_that_was_tapped_while_its_leader_searched_keeps_running() -> None:
    """The scouts did not know; the leader does."""
    stage = Stage().running("x", "x", "y")
    stage.tell(HostLost("y"))
    stage.tell(TapAsked("g", 1, "home-g", "b"))
    stage.look("m", "m", "z", tap=OFFER, covered=2)
    assert stage.letters(TapAsked) == []
    assert stage.leader.phase is Phase.SEARCHING


def test_tappers_hear_where_the_task_runs_now() -> None:
    """A tap follows its task; the tapper's measurements must go to the right host."""
    serving = Stage().running("x", "x", "y")
    serving.tell(TapAsked("g", 3, "home-g", "b"))
    serving.tell(HostLost("x"))
    serving.look("w", "w", "y")
    serving.tell(Enforced(2, committed=True))
    assert [("home-g", "g", ServedFrom("f", "b", "w"))] == serving.letters(ServedFrom)
    tapper = Stage().tapping()
    tapper.tell(ServedFrom("old", "b", "w"))
    assert {1: "w", 2: "y"} == tapper.leader.standing.where


def test_a_flow_places_itself_anew_when_the_leader_that_serves_it_dies() -> None:
    """With its leader the flow that serves has ended."""
    stage = Stage().tapping()
    stage.tell(HostLost("h"))
    assert stage.leader.phase is Phase.SEARCHING
    stage.look("x", "x", "y")
    stage.tell(Enforced(2, committed=True))
    assert stage.leader.standing.taps == {}


def test_a_tapper_whose_leader_died_taps_no_more() -> None:
    """Its flow has ended with it: the count must not leak."""
    stage = Stage().running("x", "x", "y")
    stage.tell(TapAsked("g", 3, "home-g", "b"))
    stage.tell(Withdraw())
    stage.tell(HostLost("home-g"))
    assert stage.found(Withdrawn)


def test_a_flow_that_can_not_be_placed_again_tells_those_it_serves() -> None:
    """They may find another way while it can not."""
    stage = Stage().running("x", "x", "y")
    stage.tell(TapAsked("g", 3, "home-g", "b"))
    stage.tell(HostLost("x"))
    for _ in range(40):
        stage.tell(TimerFired("patience"))
        if stage.letters(ServingEnds):
            return
    raise AssertionError("the tapper was never told")


def test_a_leader_that_takes_over_a_plan_with_taps_places_the_flow_anew() -> None:
    """The registry names the task that serves, not where its leader lives; without that nothing can be released."""
    plan = Stage().tapping().leader.plan
    assert plan is not None
    heir = Leader(FLOW, PARAMS, IMPROVED, fastest_capacity=1.0, last_epoch=1, running=plan)
    heir.step(TimerFired("rest"), now_ms=0.0, rng=Random(1))
    assert heir.standing.why_look() is Reason.UNSERVED
    assert heir.phase is Phase.SEARCHING
