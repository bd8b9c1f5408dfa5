"""Exact sums of integers and floats, so that a result never depends on the order in which records came.

Adding floats one by one rounds at each step: other batches, other panes or another order of partitions would give
other last digits. So a sum is kept without any rounding, and only its result is rounded, once.

A sum is an integer, or a list [integer, float, float, ...] whose floats add up to the rest. They are the sum rounded
to a float, then what that left out rounded to a float, and so on until nothing is left (seldom more than three), so
equal sums have equal lists. `math.fsum` rounds correctly, which makes each step exact. Floats from 2**53 on are whole
numbers and go to the integer: the rest then stays far from overflow.

A square is a float's numerator squared over a power of two: a sum of squares is an integer, or [numerator, exponent].
"""

from collections.abc import Iterable
from fractions import Fraction
from math import fsum

Sum = int | list[int | float]
Squares = int | list[int]

_WHOLE = 2.0**53
_INT64 = 1 << 63


def total(values: Iterable[int | float]) -> Sum:
    """The sum of finite numbers."""
    whole = 0
    rest: list[float] = []
    for value in values:
        if type(value) is float and -_WHOLE < value < _WHOLE:
            rest.append(value)
        else:
            whole += int(value)
    return _as_sum(whole, rest)


def add(left: Sum, right: Sum) -> Sum:
    """Both sums together."""
    if type(left) is int and type(right) is int:
        return left + right
    left_whole, left_rest = _parts(left)
    right_whole, right_rest = _parts(right)
    return _as_sum(left_whole + right_whole, left_rest + right_rest)


def subtract(left: Sum, right: Sum) -> Sum:
    """What is left of a sum when another is taken out of it."""
    if type(right) is int:
        return add(left, -right)
    return add(left, [-part for part in right])  # type: ignore[union-attr] # mypy keeps int here


def number(value: Sum) -> int | float | None:
    """The sum as a number: an integer where it is one of 64 bits, else the nearest float, null beyond those."""
    if type(value) is int:
        if -_INT64 <= value < _INT64:
            return value
        return divide(value, 1)
    return divide(value, 1)


def divide(value: Sum, count: int) -> float | None:
    """The nearest float to sum / count, null where that is beyond all floats."""
    try:
        return value / count if type(value) is int else float(fraction(value) / count)
    except OverflowError:
        return None


def fraction(value: Sum) -> Fraction:
    """The sum as a fraction, still exact."""
    whole, rest = _parts(value)
    return sum(map(Fraction, rest), Fraction(whole))


def square(value: int | float) -> Squares:
    """The square of a finite number."""
    if type(value) is int:
        return value * value
    numerator, denominator = value.as_integer_ratio()
    return [numerator * numerator, 2 * (denominator.bit_length() - 1)]


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
    return add_squares(left, -numerator if type(right) is int else [-numerator, exponent])


def squares_fraction(value: Squares) -> Fraction:
    """The sum of squares as a fraction."""
    numerator, exponent = _over_power(value)
    return Fraction(numerator, 1 << exponent)


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


def _over_power(value: Squares) -> tuple[int, int]:
    if type(value) is int:
        return value, 0
    numerator, exponent = value  # type: ignore[misc] # mypy keeps int here
    return numerator, exponent
