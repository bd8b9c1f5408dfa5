"""The ledger of a host's promises: what is accepted, what expires, what a late ant may still do."""

import math
from dataclasses import replace

from placement.cell_ledger import ENDED_KEPT, Booking, Ledger, State
from placement.queueing import Load


def booking(flow: str, epoch: int, rho: float, expires_ms: float = 100.0, mask: int = 1) -> Booking:
    return Booking(flow, epoch, mask, Load(rate_per_ms=rho, rho=rho), State.RESERVED, expires_ms)


def test_everything_promised_stays_below_the_cap() -> None:
    """Reservations count like running tasks: two ants never overbook a host."""
    ledger = Ledger(Load(rate_per_ms=1.0, rho=0.5))
    assert ledger.reserve(booking("f", 1, 0.3)) is None
    refusal = ledger.reserve(booking("g", 1, 0.3))
    assert refusal is not None
    assert "1.100" in refusal
    assert ledger.reserve(booking("g", 1, 0.1)) is None


def test_a_reservation_expires_and_frees_its_room() -> None:
    """An enforcement ant that died must not block a host for ever."""
    ledger = Ledger()
    ledger.reserve(booking("f", 1, 0.9, expires_ms=100.0))
    assert not ledger.expire(now_ms=99.0)
    assert ledger.expire(now_ms=101.0)
    assert ledger.reserve(booking("g", 1, 0.9)) is None


def test_an_expired_reservation_can_not_be_committed() -> None:
    """Somebody else may have the room by now."""
    ledger = Ledger()
    ledger.reserve(booking("f", 1, 0.9, expires_ms=100.0))
    ledger.expire(now_ms=101.0)
    assert not ledger.commit("f", 1, expires_ms=math.inf)


def test_a_flow_that_moves_within_a_host_counts_once_with_its_larger_load() -> None:
    """Old and new segment run side by side for a moment, but a flow must not refuse itself."""
    ledger = Ledger()
    ledger.reserve(booking("f", 1, 0.6))
    ledger.activate("f", 1)
    assert ledger.reserve(booking("f", 2, 0.7)) is None
    assert ledger.load().rho == 0.7


def test_activation_ends_earlier_epochs() -> None:
    """A host obeys the newest epoch and no other."""
    ledger = Ledger()
    ledger.reserve(booking("f", 1, 0.6))
    ledger.activate("f", 1)
    ledger.reserve(booking("f", 2, 0.2))
    ledger.activate("f", 2)
    assert [2] == [booked.epoch for booked in ledger.bookings()]
    assert ledger.load().rho == 0.2


def test_a_late_ant_of_an_ended_epoch_is_refused() -> None:
    """After a release or a cancellation nothing of that epoch may come back."""
    ledger = Ledger()
    ledger.release("f", 3)
    assert ledger.reserve(booking("f", 3, 0.1)) is not None
    ledger.cancel("f", 4)
    assert ledger.reserve(booking("f", 4, 0.1)) is not None
    assert ledger.reserve(booking("f", 5, 0.1)) is None


def test_a_cancellation_never_touches_what_runs() -> None:
    """A failed re-placement must leave the running plan alone."""
    ledger = Ledger()
    ledger.reserve(booking("f", 1, 0.6))
    ledger.activate("f", 1)
    assert not ledger.cancel("f", 1)
    assert ledger.load().rho == 0.6


def test_a_changed_rate_changes_the_load_even_without_room() -> None:
    """Data does not ask before it comes."""
    ledger = Ledger()
    ledger.reserve(booking("f", 1, 0.6))
    ledger.reload("f", lambda mask: Load(rate_per_ms=2.0, rho=1.2))
    assert ledger.load().rho == 1.2


def test_a_flow_can_ask_for_the_load_without_itself() -> None:
    """Its own load is not a stranger's when it looks for a better place."""
    ledger = Ledger(Load(rate_per_ms=1.0, rho=0.25))
    ledger.reserve(booking("f", 1, 0.5))
    assert ledger.load(without_flow="f").rho == 0.25


def test_an_epoch_that_was_never_published_makes_way_for_the_next_leaders() -> None:
    """It counts from the registry's epoch on, as its predecessor did; the room for its own tasks must be there."""
    ledger = Ledger()
    ledger.reserve(booking("f", 1, 0.3))
    ledger.activate("f", 1)
    other = replace(booking("f", 1, 0.5), mask=0b10, home="b")
    assert ledger.reserve(replace(other, load=Load(rate_per_ms=1.0, rho=1.5))) is not None
    assert ledger.reserve(other) is None
    assert [(0b10, "b", State.RESERVED)] == [(each.mask, each.home, each.state) for each in ledger.bookings()]


def test_an_ant_that_comes_twice_changes_nothing() -> None:
    """A message may be delivered again; what runs must not become a reservation that runs out."""
    ledger = Ledger(Load(rate_per_ms=1.0, rho=0.5))
    ledger.reserve(booking("f", 1, 0.3))
    ledger.commit("f", 1, expires_ms=500.0)
    committed = ledger.bookings()
    assert ledger.reserve(booking("f", 1, 0.3)) is None
    assert ledger.commit("f", 1, expires_ms=900.0)
    assert committed == ledger.bookings()
    ledger.activate("f", 1)
    active = ledger.bookings()
    ledger.measure(Load(rate_per_ms=1.0, rho=0.9))  # no room for it any more, but it is there
    assert ledger.reserve(booking("f", 1, 0.3)) is None
    assert ledger.commit("f", 1, expires_ms=900.0)
    assert ledger.activate("f", 1)
    assert active == ledger.bookings()
    assert not ledger.expire(now_ms=1e9)


def test_a_load_that_is_not_a_number_is_refused() -> None:
    """It is not below the cap; that it is not above it either must not let it in."""
    assert Ledger().reserve(booking("f", 1, math.nan)) is not None


def test_a_host_remembers_what_has_ended_of_so_many_flows_and_no_more() -> None:
    """Flows come and go for years; late ants come within minutes."""
    ledger = Ledger()
    ledger.release("oldest", 3)
    ledger.cancel("old", 3)
    for k in range(ENDED_KEPT - 1):
        ledger.release(f"f{k}", 1)
        ledger.cancel("old", 2)
    assert (-1, 3) == (ledger.ended("oldest"), ledger.ended("old")), "what ended again is kept, with its newest epoch"
    assert 1 == ledger.ended("f0")
    ledger.release("new", 1)
    assert (-1, 1) == (ledger.ended("f0"), ledger.ended("new"))
