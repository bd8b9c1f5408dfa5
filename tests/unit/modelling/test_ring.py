"""The ring: cells are set, never added to; it forgets what is old and who is silent."""

import numpy as np
import pytest

from services.modelling.ring import FIRST_SEATS, Ring


def put(ring: Ring, name: str, second: int, value: float) -> None:
    ring.set([name], np.array([second]), np.array([[value]]))


def seen(ring: Ring, name: str, last: int, length: int) -> list[float]:
    names, places = ring.seats()
    return ring.window(0, last, length)[places[names.index(name)]].tolist()


def test_a_batch_that_comes_again_changes_nothing() -> None:
    """Spark gives a batch again after a crash, with the same sums: a window must not be counted twice."""
    ring = Ring(1, 10)
    for _ in range(3):
        put(ring, "a", 100, 7.0)
    put(ring, "a", 101, 8.0)
    put(ring, "a", 100, 9.0)  # a late row made the sum of its second larger
    assert [0.0, 9.0, 8.0] == seen(ring, "a", 101, 3)


def test_a_second_that_comes_round_again_begins_empty() -> None:
    """Second 110 uses the cell of second 100: what was there must be gone, for every seat."""
    ring = Ring(1, 10)
    put(ring, "a", 100, 7.0)
    put(ring, "b", 100, 5.0)
    put(ring, "b", 110, 6.0)
    assert [0.0] * 10 == seen(ring, "a", 110, 10)
    assert [0.0, 6.0] == seen(ring, "b", 110, 2)


def test_what_is_too_old_is_left_out_and_a_leap_forgets_all() -> None:
    """A row of an hour ago must not be taken for one of now."""
    ring = Ring(1, 10)
    put(ring, "a", 100, 7.0)
    put(ring, "a", 89, 1.0)
    assert [0.0, 7.0] == seen(ring, "a", 100, 2)
    put(ring, "a", 5_000, 2.0)
    assert [0.0] * 9 + [2.0] == seen(ring, "a", 5_000, 10)
    put(ring, "a", 100, 7.0)
    assert [0.0] * 9 + [2.0] == seen(ring, "a", 5_000, 10)


def test_a_window_may_reach_beyond_what_the_ring_holds() -> None:
    """The last closed second can be ahead of the last one that anybody measured, and of what is kept."""
    ring = Ring(1, 10)
    put(ring, "a", 100, 7.0)
    assert [7.0, 0.0, 0.0] == seen(ring, "a", 102, 3)
    assert [0.0, 0.0] == seen(ring, "a", 200, 2)


def test_silent_seats_are_given_to_others() -> None:
    """Hosts come and go for months; the ring must not grow for ever, and a newcomer finds a clean seat."""
    ring = Ring(1, 10)
    for number in range(3 * FIRST_SEATS):
        put(ring, f"s{number}", 100 + number // FIRST_SEATS, 1.0)
    assert 3 * FIRST_SEATS == ring.size
    gone = ring.drop_silent(102)
    assert 2 * FIRST_SEATS == len(gone)
    put(ring, "new", 102, 5.0)
    assert [0.0, 0.0, 5.0] == seen(ring, "new", 102, 3)
    assert [0.0, 1.0] == seen(ring, f"s{3 * FIRST_SEATS - 1}", 102, 2)
    places = ring.seats()[1]
    assert len(places) == len(set(places.tolist()))


def test_room_is_made_for_those_who_come_and_little_more() -> None:
    """Cells of 20,000 operators take half a gigabyte: room for twice as many would be as much again."""
    ring = Ring(1, 10)
    for count in (1_000, 1_001):
        names = [f"s{number}" for number in range(count)]
        ring.set(names, np.full(count, 100), np.ones((1, count)))
    assert count <= ring.places <= 1.25 * count
    assert (count, float(count)) == (ring.size, ring.window(0, 100, 1).sum())


@pytest.mark.parametrize("last", range(100, 125))
def test_a_window_is_the_same_wherever_the_ring_begins(last: int) -> None:
    """It may lie over the ring's end."""
    ring = Ring(1, 10)
    for second in range(100, 125):
        put(ring, "a", second, float(second))
        if second == last:
            break
    assert [float(second) if second >= 100 else 0.0 for second in range(last - 6, last + 1)] == seen(ring, "a", last, 7)
