"""Enforcement ants: reserve outward, commit homeward, turn back when a host disappoints."""

from types import SimpleNamespace

import pytest

from placement.ants.effects import Home, Send
from placement.ants.enforcement import Enforced, EnforcementAnt, EnforcementParams, Leg, Pass, Stop, step
from placement.ants.host_view import HostView
from placement.cell_ledger import Booking, Ledger, State
from placement.evaluator_pricing import price_on_host
from placement.model import Edge, Flow, Sink, Source, Task, chain
from placement.queueing import IDLE, Load

FLOW = chain("f", Source("in", "s", 0.01), (Task("a", 10.0), Task("b", 10.0)), Sink("out", "d"))
PARAMS = EnforcementParams()
PRICE_MS = price_on_host(FLOW.graph, 0b01, 1.0, IDLE).own_ms


def cell(host: str, background: Load = IDLE) -> SimpleNamespace:
    ledger = Ledger(background)
    return SimpleNamespace(
        host=host,
        ledger=ledger,
        view=lambda without_flow="": HostView(host, 1.0, ledger.load(without_flow=without_flow)),
    )


def ant(**changes: object) -> EnforcementAnt:
    stops = (Stop("x", 0b01, PRICE_MS), Stop("y", 0b10, PRICE_MS))
    return EnforcementAnt(**{"flow": FLOW, "epoch": 1, "home": "s", "stops": stops, "trip_ms": 100.0} | changes)


def test_outward_it_reserves_with_an_expiry_and_goes_on() -> None:
    """The reservation lasts 3 round trips and 1 s: long enough for the ant, not for ever."""
    x = cell("x")
    (send,) = step(ant(), x, PARAMS, now_ms=50.0)
    assert send.to == "y"
    booked = [(booking.state, booking.expires_ms) for booking in x.ledger.bookings()]
    assert [(State.RESERVED, 50.0 + 3 * 100.0 + 1_000.0)] == booked


def test_at_the_last_host_it_turns_round_and_commits_on_the_way_back() -> None:
    """Nothing is firm before every host has room."""
    x, y = cell("x"), cell("y")
    (onward,) = step(ant(), x, PARAMS, now_ms=0.0)
    (back,) = step(onward.message, y, PARAMS, now_ms=0.0)
    assert back.message.phase is Pass.COMMIT
    assert y.ledger.bookings()[0].state is State.COMMITTED
    assert x.ledger.bookings()[0].state is State.RESERVED
    (home,) = step(back.message, x, PARAMS, now_ms=0.0)
    assert x.ledger.bookings()[0].state is State.COMMITTED
    assert isinstance(home, Send)
    assert home.message.news == Enforced(1, committed=True)


def test_it_turns_back_where_the_price_has_risen_beyond_the_threshold() -> None:
    """Ants 3.8: re-pricing; with stale reports flows stop moving by themselves."""
    busy = cell("x", Load(rate_per_ms=0.05, rho=0.5, square=5.0, burst=0.05, rate_squares=0.0025))
    (home,) = step(ant(home="x"), busy, PARAMS, now_ms=0.0)
    assert isinstance(home, Home)
    assert not home.news.committed
    assert "were reported" in home.news.why
    assert busy.ledger.bookings() == []


def test_a_small_rise_is_tolerated() -> None:
    """Ten per cent: loads always move a little between the scout and the enforcement ant."""
    x = cell("x")
    slightly = ant(stops=(Stop("x", 0b01, PRICE_MS / 1.09), Stop("y", 0b10, PRICE_MS)))
    (send,) = step(slightly, x, PARAMS, now_ms=0.0)
    assert send.to == "y"
    too_much = ant(stops=(Stop("x", 0b01, PRICE_MS / 1.2), Stop("y", 0b10, PRICE_MS)), home="x")
    (home,) = step(too_much, cell("x"), PARAMS, now_ms=0.0)
    assert not home.news.committed


def test_what_others_would_lose_counts_in_the_new_price() -> None:
    """The social price is re-priced too: a newcomer may have arrived whose wait would grow."""
    light = Load(rate_per_ms=0.001, rho=0.005, square=0.04, burst=0.001, rate_squares=1e-6, weight=100.0)
    (home,) = step(ant(home="x"), cell("x", light), PARAMS, now_ms=0.0)
    assert not home.news.committed
    (send,) = step(ant(social=False), cell("x", light), PARAMS, now_ms=0.0)
    assert send.to == "y"


def test_turning_back_cancels_what_it_reserved() -> None:
    """Executed exactly as approved or not at all."""
    x, y = cell("x"), cell("y")
    y.ledger.reserve(Booking("g", 1, 1, Load(rate_per_ms=0.01, rho=0.95), State.RESERVED, 1e9))
    (onward,) = step(ant(), x, PARAMS, now_ms=0.0)
    (back,) = step(onward.message, y, PARAMS, now_ms=0.0)
    assert back.message.phase is Pass.CANCEL
    step(back.message, x, PARAMS, now_ms=0.0)
    assert x.ledger.bookings() == []


def test_a_reservation_that_ran_out_fails_the_whole_plan() -> None:
    """The room may be somebody else's by now."""
    x = cell("x")
    (home,) = step(ant(phase=Pass.COMMIT, home="x"), x, PARAMS, now_ms=0.0)
    assert not home.news.committed
    assert "ran out" in home.news.why


@pytest.mark.parametrize("wrong", [{"price_tolerance": -0.1}, {"reservation_trips": 0.0}])
def test_parameters_check_themselves(wrong: dict[str, float]) -> None:
    """Told at once."""
    with pytest.raises(ValueError, match=r"give|must"):
        EnforcementParams(**wrong)


def test_it_brings_home_how_the_host_that_turned_it_back_is() -> None:
    """Scouts priced the host by an old digest; without this the next ones would find the same price again."""
    busy = cell("x", Load(rate_per_ms=0.05, rho=0.5, square=5.0, burst=0.05, rate_squares=0.0025))
    (home,) = step(ant(), busy, PARAMS, now_ms=0.0)
    assert home.message.news.seen == HostView("x", 1.0, busy.ledger.load())


def test_it_brings_home_what_each_edge_takes_if_it_is_asked_to() -> None:
    """The way, and for edges that enter a host from elsewhere wait and service: the leader finds the longest path."""
    fork = Flow(
        "f",
        (Source("in", "s", 0.01),),
        (Task("a", 10.0), Task("b", 10.0)),
        (Sink("near", "x"), Sink("far", "d")),
        (Edge("in", "a"), Edge("a", "b"), Edge("a", "near"), Edge("b", "far")),
    )
    here = cell("x")
    here.arrival_ms = {"s": 7.0, "x": 1.0}.__getitem__
    here.travel_ms = {"x": 1.0, "d": 90.0}.__getitem__
    legs = (Leg(0, "s"), Leg(1, "x"), Leg(2, "x"), Leg(3, "d"))
    price = price_on_host(fork.graph, 0b11, 1.0, IDLE)
    stops = (Stop("x", 0b11, price.own_ms, (), legs),)
    (home,) = step(ant(flow=fork, stops=stops), here, PARAMS, now_ms=0.0)
    assert ((0, 7.0 + price.wait_ms + 20.0), (1, 1.0), (2, 1.0), (3, 90.0)) == home.message.news.edges_ms
