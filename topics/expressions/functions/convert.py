"""Conversions between texts, numbers and truth values.

Text is read strictly: decimal digits, optional sign, surrounding spaces; no `1_000`, no `nan`, no foreign digits.
"""

import re
from typing import Any

from topics.expressions.functions.signature import Function
from topics.expressions.kinds import BOOL, FLOAT, INT, SCALAR, STRING
from topics.expressions.limits import INT_MAX

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?")
_TRUTHS = {"true": True, "false": False}


def to_int(value: Any) -> int:
    """A number without its fraction, or the whole number that a text spells."""
    if not isinstance(value, str):
        return _number(value).__trunc__()
    spelled = value.strip(" ")
    if not _WHOLE.fullmatch(spelled) or abs(result := int(spelled)) > INT_MAX:
        raise ValueError(value)
    return result


def to_float(value: Any) -> float:
    """A number as a float, or the decimal number that a text spells."""
    if not isinstance(value, str):
        return float(_number(value))
    spelled = value.strip(" ")
    if not _DECIMAL.fullmatch(spelled):
        raise ValueError(value)
    return float(spelled)


def to_string(value: Any) -> str:
    """A text itself; a number or truth value as JSON writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(_number(value))


def to_bool(value: Any) -> bool:
    """A truth value itself, whether a number is not 0, or what the text true or false says."""
    if isinstance(value, str):
        return _TRUTHS[value.strip(" ").lower()]
    return _number(value) != 0


def _number(value: Any) -> int | float:
    if not isinstance(value, int | float):
        raise TypeError(value)
    return value


CONVERSIONS = (
    Function("int", (SCALAR,), INT, to_int, "int(value)", wide=True),
    Function("float", (SCALAR,), FLOAT, to_float, "float(value)"),
    Function("string", (SCALAR,), STRING, to_string, "string(value)"),
    Function("bool", (SCALAR,), BOOL, to_bool, "bool(value)"),
)
