"""Portions: all records in order, and each about as long at work as it should be."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.host.portions import FIRST_RECORDS, PORTION_S, Portions


def records(count: int, size: int = 100) -> list[Any]:
    return [SimpleNamespace(offset=offset, value=bytes(size)) for offset in range(count)]


@given(st.integers(0, 3_000), st.floats(1e-6, 2.0))
def test_nothing_is_left_out_and_nothing_comes_twice(count: int, record_s: float) -> None:
    portions = Portions()
    seen: list[int] = []
    for portion in portions.of(records(count)):
        seen += [record.offset for record in portion]
        portions.took(portion, len(portion) * record_s)
    assert list(range(count)) == seen


@given(st.floats(1e-6, 2.0))
def test_after_a_while_a_portion_takes_as_long_as_it_should(record_s: float) -> None:
    portions, sizes = Portions(), []
    for portion in portions.of(records(1) * 200_000):
        sizes.append(len(portion))
        portions.took(portion, len(portion) * record_s)
        if len(sizes) > 12:
            break
    took_s = sizes[-2] * record_s
    assert took_s <= max(PORTION_S * 1.5, record_s)
    assert len(sizes) < 12 or took_s >= min(PORTION_S / 2, FIRST_RECORDS * 2**11 * record_s)


def test_a_rest_that_is_small_does_not_make_the_next_portions_small() -> None:
    portions = Portions()
    portions.took(records(64), PORTION_S)
    portions.took(records(1), PORTION_S / 64)
    assert 64 == len(next(portions.of(records(100))))


def test_small_blocks_say_nothing_of_how_many_large_ones_are_right() -> None:
    """Blocks of a trickle have one row, those of a backlog two thousand: a portion would take minutes."""
    portions = Portions()
    portions.took(records(64, 100), PORTION_S)
    assert 1 == len(next(portions.of(records(64, 100_000))))
    assert 64 == len(next(portions.of(records(100, 100))))


def test_a_record_that_is_larger_than_what_was_worked_off_may_take_longer_than_a_portion() -> None:
    """Also after many blocks without rows, which only tell the time and call no function."""
    portions = Portions()
    assert not portions.fits(records(1))
    portions.took(records(1, 100_000), 25.0)
    for _ in range(1_000):
        portions.took(records(1, 100), 0.0002)
    assert not portions.fits(records(1, 100_000))
    assert portions.fits(records(1, 1_500))
    portions.took(records(1, 100_000), 0.01)
    assert portions.fits(records(1, 200_000))
