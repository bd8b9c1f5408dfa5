"""Functions on numbers. `round` goes to the even neighbour at exactly one half, as IEEE 754 and Python do."""

import math

from topics.expressions.functions.signature import Function
from topics.expressions.kinds import FLOAT, INT, NUMBER, ORDERED, WHOLE

_MAX_DIGITS = 15


def _round(value: float, *digits: int) -> float:
    # Unbounded digits would let round(1, -1000000000) compute a power of ten with as many digits.
    if digits and not -_MAX_DIGITS <= digits[0] <= _MAX_DIGITS:
        raise ValueError(digits)
    return round(value, *digits)


NUMBER_FUNCTIONS = (
    Function("abs", (NUMBER,), INT | FLOAT, abs, "abs(number)", wide=True),
    Function("round", (NUMBER, WHOLE), INT | FLOAT, _round, "round(number, digits)", optional=1, wide=True),
    Function("floor", (NUMBER,), INT, math.floor, "floor(number)", wide=True),
    Function("ceil", (NUMBER,), INT, math.ceil, "ceil(number)", wide=True),
    Function("min", (ORDERED, ORDERED), None, min, "min(a, b, ...)", repeats=True, wide=True),
    Function("max", (ORDERED, ORDERED), None, max, "max(a, b, ...)", repeats=True, wide=True),
    Function("sqrt", (NUMBER,), FLOAT, math.sqrt, "sqrt(number)"),
    Function("power", (NUMBER, NUMBER), FLOAT, math.pow, "power(base, exponent): always a float"),
    Function("exp", (NUMBER,), FLOAT, math.exp, "exp(number)"),
    Function("log", (NUMBER, NUMBER), FLOAT, math.log, "log(number) or log(number, base)", optional=1),
)
