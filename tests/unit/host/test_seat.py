"""How often a task is tried again, and after what pause."""

import pytest
from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError

from services.host.landmarks import OffsetsLostError
from services.host.seat import BROKEN_MAX, FAILURES_MAX, PARKED_PAUSE_S_MAX, PARKED_PAUSE_S_MIN, Seat
from services.host.streaks import FailsOnEverythingError
from services.host.writer import WriteError


def failed(seat: Seat, error: Exception, times: int = 1, *, has_committed: bool = False) -> Seat:
    for _ in range(times):
        seat.failed(error, has_committed=has_committed)
    return seat


def test_pauses_grow_until_the_tries_are_used_up() -> None:
    """A commit in between gives them all back."""
    seat, pauses_s = Seat(0, 1), []
    while failed(seat, RuntimeError("x")).has_tries_left:
        pauses_s.append(seat.restart_pause_s)
    assert [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0] == pauses_s
    assert (FAILURES_MAX, "RuntimeError: x") == (seat.failures, seat.reason)
    assert 0.1 == failed(seat, RuntimeError("x"), has_committed=True).restart_pause_s


def test_what_does_not_pass_by_itself_parks_soon() -> None:
    """Its own words are the reason that a person reads."""
    seat = failed(Seat(0, 1), FailsOnEverythingError("all wrong"), BROKEN_MAX - 1)
    assert seat.has_tries_left
    assert not failed(seat, FailsOnEverythingError("all wrong")).has_tries_left
    assert "all wrong" == seat.reason


def test_lost_offsets_park_at_once() -> None:
    """Nothing changes by trying; a person reads the reason."""
    assert not failed(Seat(0, 1), OffsetsLostError("gone")).has_tries_left


def without_a_leader() -> WriteError:
    """What a writer raises when one partition of a sink has no leader, and the coordinator answers."""
    try:
        raise WriteError("writing to sink/0") from KafkaTimeoutError()
    except WriteError as error:
        return error


@pytest.mark.parametrize("outage", [KafkaConnectionError(), without_a_leader()], ids=["no broker", "no leader"])
def test_an_outage_never_parks(outage: Exception) -> None:
    """It passes by itself, and then nobody is to wait long."""
    seat = failed(Seat(0, 1), outage, 100)
    assert (True, 1.0) == (seat.has_tries_left, seat.restart_pause_s)


def test_what_is_parked_is_tried_again_ever_more_rarely() -> None:
    """What it needs may come back without anybody touching the flow; the reason says when it is looked for."""
    seat = failed(Seat(0, 1), OffsetsLostError("gone"))
    assert PARKED_PAUSE_S_MIN == seat.park()
    assert "gone. It is tried again in 30 s, and at once when it is assigned again" == seat.reason
    assert PARKED_PAUSE_S_MAX == [seat.park() for _ in range(20)][-1]
