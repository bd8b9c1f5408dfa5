"""The oracle: what an expression means, one rule after the other, by walking the tree with explicit checks of types.

It shares the tree with the product and nothing else: no operation, no function, no kind. Slow and obvious on purpose.
"""

import math
import operator
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from topics.expressions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Field,
    IsNull,
    Item,
    ListOf,
    Literal,
    Logic,
    Membership,
    Negative,
    Not,
    Tree,
)

Record = dict[str, Any]
ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)  # a bool is an int: true counts as 1


def arithmetic(op: str, left: Any, right: Any) -> Any:
    if not is_number(left) or not is_number(right):
        return None
    try:
        return ARITHMETIC[op](left, right)
    except (ZeroDivisionError, OverflowError):
        return None


def order(op: str, left: Any, right: Any) -> bool | None:
    if isinstance(left, list) and isinstance(right, list):
        for a, b in zip(left, right, strict=False):
            if not (a is b or a == b):
                return order(op, a, b)
        return ORDER[op](len(left), len(right))
    if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return ORDER[op](left, right)
    return None


def member(item: Any, container: Any) -> bool | None:
    if isinstance(container, list):
        return any(item is element or item == element for element in container)
    if isinstance(container, str):
        return container.find(item) >= 0 if isinstance(item, str) else None
    if isinstance(container, dict):
        return None if isinstance(item, list | dict) else any(item == key for key in container)
    return None


def element(base: Any, key: Any) -> Any:
    if isinstance(base, dict):
        return base.get(key) if isinstance(key, str) else None
    if isinstance(base, list | str) and isinstance(key, int) and -len(base) <= key < len(base):
        return base[key]
    return None


def negation(value: Any) -> bool | None:
    return {True: False, False: True}[value] if isinstance(value, bool) else None


def logic(op: str, values: list[Any]) -> bool | None:
    deciding = op == "or"
    if any(value is deciding for value in values):
        return deciding
    return (not deciding) if all(value is (not deciding) for value in values) else None


def narrow(value: Any) -> Any:
    if isinstance(value, int) and abs(value) >= 2**63:
        return float(value) if abs(value) <= sys.float_info.max else None
    return value


def leaving(tree: Tree, record: Record) -> Any:
    """The value as it leaves the expression: what was computed is narrowed, what was only read is not."""
    match tree:
        case Call(name="if", arguments=arguments):
            return leaving(chosen(arguments, record), record)
        case Call(name="coalesce", arguments=arguments):
            return next((v for v in (leaving(argument, record) for argument in arguments) if v is not None), None)
        case Field() | Item():
            return evaluate(tree, record)
    return narrow(evaluate(tree, record))


def chosen(arguments: tuple[Tree, ...], record: Record) -> Tree:
    for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        if evaluate(condition, record) is True:
            return value
    return arguments[-1]


def evaluate(tree: Tree, record: Record) -> Any:  # noqa: PLR0911, PLR0912 - one case for each kind of part
    """The value of `tree` for a record."""
    match tree:
        case Literal(value=value):
            return value
        case Field(name=name):
            return record.get(name)
        case Item(base=base, key=key):
            return element(evaluate(base, record), evaluate(key, record))
        case ListOf(items=items):
            return [leaving(item, record) for item in items]
        case Negative(operand=operand):
            value = evaluate(operand, record)
            return -value if is_number(value) else None
        case Arithmetic(op=op, left=left, right=right):
            return arithmetic(op, evaluate(left, record), evaluate(right, record))
        case Comparison(op="==", left=left, right=right):
            return evaluate(left, record) == evaluate(right, record)
        case Comparison(op="!=", left=left, right=right):
            return evaluate(left, record) != evaluate(right, record)
        case Comparison(op=op, left=left, right=right):
            return order(op, evaluate(left, record), evaluate(right, record))
        case Membership(item=item, container=container):
            return member(evaluate(item, record), evaluate(container, record))
        case IsNull(operand=operand):
            return evaluate(operand, record) is None
        case Not(operand=operand):
            return negation(evaluate(operand, record))
        case Logic(op=op, operands=operands):
            return logic(op, [evaluate(operand, record) for operand in operands])
        case Call(name="if", arguments=arguments):
            return evaluate(chosen(arguments, record), record)
        case Call(name="coalesce", arguments=arguments):
            return next((v for v in (evaluate(argument, record) for argument in arguments) if v is not None), None)
        case Call(name=name, arguments=arguments):
            return called(name, [evaluate(argument, record) for argument in arguments])


def called(name: str, values: list[Any]) -> Any:
    if any(value is None for value in values):
        return None
    kinds = "".join("s" if isinstance(v, str) else "n" if is_number(v) else "o" for v in values)
    for accepted, function in FUNCTIONS[name]:
        if accepted == kinds or (accepted == "*" and "o" not in kinds):
            try:
                return function(*values)
            except (ValueError, ZeroDivisionError, OverflowError):
                return None
    return length(values[0]) if name == "length" else extreme(name, values) if name in ("min", "max") else None


def length(value: Any) -> int | None:
    return len(value) if isinstance(value, list | dict) else None


def extreme(name: str, values: list[Any]) -> Any:
    best = values[0]
    for value in values[1:]:
        better = order("<" if name == "min" else ">", value, best)
        if better is None:
            return None
        best = value if better else best
    return best


def spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def whole(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(value)
    return value


def substring(text: str, start: Any, count: Any = 10**9) -> str | None:
    end = (first := whole(start) if start >= 0 else max(len(text) + whole(start), 0)) + whole(count)
    return "".join(letter for i, letter in enumerate(text) if first <= i < end) if count >= 0 else None


def replaced(text: str, old: str, new: str) -> str | None:
    return new.join(text.split(old)) if old else None


def rounded(value: Any, digits: Any) -> Any:
    return round(value, whole(digits)) if -15 <= digits <= 15 else None


def as_int(value: Any) -> int | None:
    if not isinstance(value, str):
        return math.trunc(value)
    digits = value.strip(" ")
    unsigned = digits[1:] if digits[:1] in ("+", "-") else digits
    plain = unsigned.isascii() and unsigned.isdigit() and len(unsigned) < 20 and abs(int(digits)) < 2**63
    return int(digits) if plain else None


def as_float(value: Any) -> float | None:
    if isinstance(value, str) and not set(value.strip(" ")) <= set("0123456789+-.eE"):
        return None
    return float(value.strip(" ") if isinstance(value, str) else value)


def as_bool(value: Any) -> bool | None:
    return {"true": True, "false": False}.get(value.strip(" ").lower()) if isinstance(value, str) else value != 0


def ms_of(time: Any) -> int:
    return math.floor(time)


def moment(time: Any) -> datetime:
    # Only the date part can leave the calendar; whole days first, so that the last day of year 9999 is still there.
    days, ms = divmod(ms_of(time), 86_400_000)
    day = date(1970, 1, 1) + timedelta(days=days)
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(milliseconds=ms)


def truncated(time: Any, step: Any) -> int | None:
    step_ms = ms_of(step)
    return ms_of(time) // step_ms * step_ms if step_ms > 0 else None


def parsed(text: str) -> int:
    given = datetime.fromisoformat(text)
    at = given if given.tzinfo else given.replace(tzinfo=UTC)
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


FUNCTIONS: dict[str, list[tuple[str, Callable[..., Any]]]] = {
    "lower": [("s", lambda s: s.lower())],
    "upper": [("s", lambda s: s.upper())],
    "trim": [("s", lambda s: s.strip())],
    "length": [("s", len)],
    "contains": [("ss", lambda s, part: s.find(part) >= 0)],
    "starts_with": [("ss", lambda s, start: s[: len(start)] == start)],
    "ends_with": [("ss", lambda s, end: s[max(len(s) - len(end), 0) :] == end)],
    "substring": [("sn", substring), ("snn", substring)],
    "replace": [("sss", replaced)],
    "split": [("ss", lambda s, by: s.split(by))],
    "concat": [("*", lambda *values: "".join(map(spelled, values)))],
    "abs": [("n", lambda n: -n if n < 0 else abs(n))],
    "round": [("n", round), ("nn", rounded)],
    "floor": [("n", math.floor)],
    "ceil": [("n", lambda n: -math.floor(-n))],
    "min": [],
    "max": [],
    "sqrt": [("n", math.sqrt)],
    "power": [("nn", math.pow)],
    "exp": [("n", math.exp)],
    "log": [("n", math.log), ("nn", math.log)],
    "year": [("n", lambda t: moment(t).year)],
    "month": [("n", lambda t: moment(t).month)],
    "day": [("n", lambda t: moment(t).day)],
    "weekday": [("n", lambda t: (ms_of(t) // 86_400_000 - 4) % 7 + 1)],  # 5 January 1970 was a Monday
    "hour": [("n", lambda t: ms_of(t) % 86_400_000 // 3_600_000)],
    "minute": [("n", lambda t: ms_of(t) % 3_600_000 // 60_000)],
    "second": [("n", lambda t: ms_of(t) % 60_000 // 1_000)],
    "truncate": [("nn", truncated)],
    "parse_time": [("s", parsed)],
    "format_time": [("n", lambda t: moment(t).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z")],
    "int": [("*", as_int)],
    "float": [("*", as_float)],
    "string": [("*", spelled)],
    "bool": [("*", as_bool)],
}


@pytest.fixture(scope="session")
def oracle() -> Callable[[Tree, Record], Any]:
    """What an expression's tree gives for a record."""
    return leaving
