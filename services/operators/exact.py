"""Exact sums of integers and floats, so that a result never depends on the order in which records came.

Adding floats one by one rounds at each step: other batches, other panes or another order of partitions would give other
last digits. So a sum is kept without any rounding, and only its result is rounded.

A sum is an integer, or a list [integer, float, float, ...] whose floats add up to the rest. They are the rest rounded
to a float, then what that left out rounded to a float, and so on until nothing is left (seldom more than three), so
equal sums have equal lists. `math.fsum` rounds correctly, which makes each step exact. Floats from 2**53 on are whole
numbers and go to the integer: the rest then stays far from overflow.

A sum of squares is an integer, or [numerator, exponent] for numerator / 2**exponent: every float is such a fraction.
"""

from collections.abc import Iterable, Sequence
from math import fsum, sqrt
from typing import cast

Sum = int | list[int | float]
Squares = int | list[int]

WHOLE = 2.0**53
"""From here on floats are whole numbers."""

_INT64 = 1 << 63


def total(values: Iterable[int | float]) -> Sum:
    """The sum of finite numbers."""
    whole = 0
    rest: list[float] = []
    for value in values:
        if type(value) is float and -WHOLE < value < WHOLE:
            rest.append(value)
        else:
            whole += int(value)
    return _as_sum(whole, rest)


def total_of_floats(values: list[float]) -> Sum:
    """The sum of floats that are all smaller than WHOLE; `total` for the usual case."""
    return _as_sum(0, values)


def add(left: Sum, right: Sum) -> Sum:
    """Both sums together."""
    if type(left) is int and type(right) is int:
        return left + right
    left_whole, left_rest = _parts(left)
    right_whole, right_rest = _parts(right)
    return _as_sum(left_whole + right_whole, left_rest + right_rest)


def subtract(left: Sum, right: Sum) -> Sum:
    """What is left of a sum when another is taken out of it."""
    whole, rest = _parts(right)
    return add(left, [-whole, *(-part for part in rest)] if rest else -whole)


def number(value: Sum) -> int | float | None:
    """The sum as a number: an integer where no float is in it and 64 bits are enough, else the nearest float.

    Null where that is beyond all floats.
    """
    whole, rest = _parts(value)
    if not rest and -_INT64 <= whole < _INT64:
        return whole
    if -WHOLE <= whole <= WHOLE:
        return fsum((whole, *rest))
    return _quotient(*_fraction(value))


def numbers(values: list[Sum]) -> Sequence[int | float | None]:
    """`number` of each: at C speed where all are integers that 64 bits hold."""
    if set(map(type, values)) == {int}:
        integers = cast(list[int], values)
        if min(integers) >= -_INT64 and max(integers) < _INT64:
            return integers
    return list(map(number, values))


def mean(value: Sum, count: int) -> float | None:
    """The sum divided by a count."""
    as_number = number(value)
    return None if as_number is None else as_number / count


def total_of_squares(values: Sequence[int | float]) -> Squares:
    """The sum of the squares of finite numbers."""
    ratios = [value.as_integer_ratio() for value in values]
    largest = max(denominator for _, denominator in ratios)
    numerator = sum((numerator * (largest // denominator)) ** 2 for numerator, denominator in ratios)
    return [numerator, 2 * (largest.bit_length() - 1)] if largest > 1 else numerator


def add_squares(left: Squares, right: Squares) -> Squares:
    """Both sums of squares together."""
    if type(left) is int and type(right) is int:
        return left + right
    left_numerator, left_exponent = _over_power(left)
    right_numerator, right_exponent = _over_power(right)
    exponent = max(left_exponent, right_exponent)
    numerator = (left_numerator << exponent - left_exponent) + (right_numerator << exponent - right_exponent)
    return [numerator, exponent]


def subtract_squares(left: Squares, right: Squares) -> Squares:
    """What is left of a sum of squares when another is taken out of it."""
    numerator, exponent = _over_power(right)
    return add_squares(left, [-numerator, exponent] if exponent else -numerator)


def stddev(count: int, value: Sum, squares: Squares) -> float | None:
    """The standard deviation of a sample from its count, sum and sum of squares; null for fewer than two."""
    if count < 2:
        return None
    # (squares - sum**2 / count) / (count - 1), as one fraction of integers: nothing cancels that is not exact.
    numerator, denominator = _fraction(value)
    squares_numerator, exponent = _over_power(squares)
    above = count * squares_numerator * denominator**2 - (numerator**2 << exponent)
    variance = _quotient(above, count * (count - 1) * denominator**2 << exponent)
    return None if variance is None else sqrt(variance)


def _parts(value: Sum) -> tuple[int, list[float]]:
    if type(value) is int:
        return value, []
    return value[0], value[1:]  # type: ignore[return-value, index] # mypy keeps int here


def _as_sum(whole: int, rest: list[float]) -> Sum:
    if not rest:
        return whole
    parts: list[int | float] = [whole]
    left_out = rest.copy()
    while part := fsum(left_out):
        parts.append(part)
        left_out.append(-part)
    return parts if len(parts) > 1 else whole


def _fraction(value: Sum) -> tuple[int, int]:
    """Numerator and denominator, which is a power of two."""
    whole, rest = _parts(value)
    ratios = [part.as_integer_ratio() for part in rest]
    largest = max((denominator for _, denominator in ratios), default=1)
    return whole * largest + sum(above * (largest // below) for above, below in ratios), largest


def _quotient(numerator: int, denominator: int) -> float | None:
    try:
        return numerator / denominator
    except OverflowError:
        return None


def _over_power(value: Squares) -> tuple[int, int]:
    if type(value) is int:
        return value, 0
    numerator, exponent = value  # type: ignore[misc] # mypy keeps int here
    return numerator, exponent
