"""The leader when something returns: what it begins anew, and how often."""

from placement.ants.effects import SetTimer
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt
from placement.leader_events import GaveUp, Healed, Place, TimerFired
from placement.leader_phases import Phase
from tests.unit.ants.leader_stage import PARAMS, Stage


def test_a_link_that_comes_and_goes_lets_a_search_end() -> None:
    """Whatever returns anywhere, every leader hears of it: ants that are on their way are waited for."""
    stage = Stage()
    stage.tell(Place())
    for stage.now_ms in (20_000.0, 40_000.0):
        assert [] == stage.tell(Healed())
    stage.ants_return()
    assert stage.sent(ScoutingAnt)


def test_a_leader_whose_ants_found_no_way_begins_anew_when_something_heals() -> None:
    """It would wait longer for every release, and the way may be open now."""
    stage = Stage()
    stage.tell(Place())
    stage.tell(TimerFired("patience"))
    number = stage.round
    stage.tell(Healed())
    assert number + 1 == stage.round
    assert stage.sent(RoutingAnt)


def test_a_flow_that_fits_nowhere_does_not_look_at_every_return() -> None:
    """Returns of links in a restless network are no reason to send all ants of all such flows each time."""
    stage = Stage()
    stage.tell(Place())
    while not stage.found(GaveUp):
        stage.tell(TimerFired("patience"))
    looked = []
    for stage.now_ms in (1_000.0, 5_000.0, 10_900.0, 11_000.0):
        stage.tell(Healed())
        looked.append(bool(stage.sent(RoutingAnt)))
        while stage.leader.phase is not Phase.RESTING:
            stage.tell(TimerFired("patience"))
    assert [True, False, False, True] == looked


def test_what_heals_during_a_look_still_shortens_the_pause_after_it() -> None:
    """The look may have been too early for the news; the next must not be minutes away."""
    stage = Stage()
    stage.tell(Place())
    for _ in range(4):
        while not stage.found(GaveUp):
            stage.tell(TimerFired("patience"))
        stage.tell(TimerFired("rest"))
    stage.tell(Healed())
    while not stage.found(GaveUp):
        stage.tell(TimerFired("patience"))
    assert stage.found(SetTimer)[0].at_ms <= 1.5 * PARAMS.retry_after_ms
