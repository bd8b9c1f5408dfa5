"""Portions: all records in order, and each about as long at work as it should be."""

from hypothesis import given
from hypothesis import strategies as st

from services.host.portions import FIRST_RECORDS, PORTION_S, Portions


@given(st.integers(0, 3_000), st.floats(1e-6, 2.0))
def test_nothing_is_left_out_and_nothing_comes_twice(count: int, record_s: float) -> None:
    portions = Portions()
    seen: list[int] = []
    for portion in portions.of(range(count)):
        seen += portion
        portions.took(len(portion), len(portion) * record_s)
    assert list(range(count)) == seen


@given(st.floats(1e-6, 2.0))
def test_after_a_while_a_portion_takes_as_long_as_it_should(record_s: float) -> None:
    portions, sizes = Portions(), []
    for portion in portions.of(range(200_000)):
        sizes.append(len(portion))
        portions.took(len(portion), len(portion) * record_s)
        if len(sizes) > 12:
            break
    took_s = sizes[-2] * record_s
    assert took_s <= max(PORTION_S * 1.5, record_s)
    assert len(sizes) < 12 or took_s >= min(PORTION_S / 2, FIRST_RECORDS * 2**11 * record_s)


def test_a_rest_that_is_small_does_not_make_the_next_portions_small() -> None:
    portions = Portions()
    portions.took(64, PORTION_S)
    portions.took(1, PORTION_S / 64)
    assert 64 == len(next(portions.of(range(100))))
