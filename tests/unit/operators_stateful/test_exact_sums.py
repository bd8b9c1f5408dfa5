"""Sums that would come out wrong, or different each time, if they were floats."""

import math
import random
import statistics
from fractions import Fraction

import pytest

from services.operators import exact

HARD = [0.1, 0.2, -0.3, 1e-300, -1e-300, 1e15, 0.5, 2**53, -(2**53), 1e16, 3, 1e300, -1e300, 5e-324]


def test_a_sum_does_not_depend_on_the_order_of_its_numbers() -> None:
    """Partitions interleave as they please; a replay must give the same bytes."""
    rng = random.Random(7)
    for _ in range(200):
        values = [rng.choice(HARD) for _ in range(12)]
        expected = exact.total(values)
        rng.shuffle(values)
        cut = rng.randrange(12)
        assert expected == exact.add(exact.total(values[:cut]), exact.total(values[cut:]))
        whole = float(sum(map(Fraction, values)))
        assert whole == exact.number(expected)


def test_what_was_added_can_be_taken_out_without_a_trace() -> None:
    """Hopping windows roll by subtraction: a rounding error would stay for as long as the flow runs."""
    rng = random.Random(8)
    for _ in range(200):
        stay, go = ([rng.choice(HARD) for _ in range(6)] for _ in range(2))
        assert exact.total(stay) == exact.subtract(exact.total(stay + go), exact.total(go))
        squares = exact.subtract_squares(exact.total_of_squares(stay + go), exact.total_of_squares(go))
        count = len(stay)
        assert exact.stddev(count, exact.total(stay), exact.total_of_squares(stay)) == exact.stddev(
            count, exact.total(stay), squares
        )


def test_a_sum_of_integers_stays_an_integer() -> None:
    """Bytes and counts pass 2**53, where floats begin to skip numbers."""
    assert 2**53 + 1 == exact.number(exact.total([2**53, 1]))


def test_a_sum_beyond_64_bits_becomes_a_float() -> None:
    """MessagePack and most readers of JSON end there."""
    assert 2.0**64 == exact.number(exact.total([2**63, 2**63]))
    assert isinstance(exact.number(2**63), float)
    assert exact.number(2**63 - 1) == 2**63 - 1


def test_a_sum_beyond_all_floats_is_null() -> None:
    """Infinity is no JSON."""
    assert exact.number(exact.total([1e308, 1e308])) is None
    assert 1e308 == exact.number(exact.total([1e308, 1e308, -1e308]))


@pytest.mark.parametrize("shift", [0, 1e9, 1e15])
def test_stddev_does_not_lose_small_differences_of_large_numbers(shift: float) -> None:
    """The textbook formula with float sums gives 0 or worse from 1e9 on."""
    values = [shift + each for each in (4.0, 7.0, 13.0, 16.0)]
    found = exact.stddev(4, exact.total(values), exact.total_of_squares(values))
    assert found is not None
    assert math.isclose(statistics.stdev([4, 7, 13, 16]), found, rel_tol=1e-15)


def test_stddev_of_one_number_is_null() -> None:
    """A sample of one says nothing about how far others are from it."""
    assert exact.stddev(1, 5, 25) is None


def test_the_numbers_of_many_sums_are_those_of_each() -> None:
    """Running groups ask for whole columns; the short cut for integers must pass none that 64 bits do not hold."""
    sums: list[exact.Sum] = [1, -(2**63), 2**63 - 1]
    for more in ([], [2**63], [-(2**63) - 1], [exact.total([0.5, 1])]):
        expected = [exact.number(each) for each in sums + more]
        found = list(exact.numbers(sums + more))
        assert expected == found
        assert list(map(type, expected)) == list(map(type, found))
