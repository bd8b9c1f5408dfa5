"""The operations of the language on values of any kind. None of them raises: where Python would, the result is null.

Each does what the fast form of the compiled code does with bare operators, so the two can't differ where the bare
operator works. The unary plus is the guard that makes it so: it passes numbers and refuses text and lists, which `+`,
`*` and `%` would join, repeat or format. Null is looked for first, as it is common and an exception takes long.
"""

from collections.abc import Callable
from typing import Any

from topics.expressions.functions import FAULTS
from topics.expressions.limits import INT_MAX


def add(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    try:
        return +left + right
    except FAULTS:
        return None


def subtract(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    try:
        return left - right
    except FAULTS:
        return None


def multiply(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    try:
        return +left * +right
    except FAULTS:
        return None


def divide(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    try:
        return left / right
    except FAULTS:
        return None


def floor_divide(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    try:
        return left // right
    except FAULTS:
        return None


def remainder(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    try:
        return +left % right
    except FAULTS:
        return None


def negative(operand: Any) -> Any:
    if operand is None:
        return None
    try:
        return -operand
    except FAULTS:
        return None


def equal(left: Any, right: Any) -> bool | None:
    try:
        return bool(left == right)
    except FAULTS:  # two values nested so deeply that they can't be compared
        return None


def unequal(left: Any, right: Any) -> bool | None:
    try:
        return bool(left != right)
    except FAULTS:
        return None


def less(left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    try:
        return bool(left < right)
    except FAULTS:
        return None


def less_or_equal(left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    try:
        return bool(left <= right)
    except FAULTS:
        return None


def greater(left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    try:
        return bool(left > right)
    except FAULTS:
        return None


def greater_or_equal(left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    try:
        return bool(left >= right)
    except FAULTS:
        return None


def member(item: Any, container: Any) -> bool | None:
    try:
        return item in container
    except FAULTS:
        return None


def item(base: Any, key: Any) -> Any:
    if base is None:
        return None
    try:
        return base[key]
    except FAULTS:
        return None


def negation(operand: Any) -> bool | None:
    return (not operand) if isinstance(operand, bool) else None


def conjunction(*operands: Any) -> bool | None:
    """False if any operand is false, true if all are true, else null."""
    outcome: bool | None = True
    for operand in operands:
        if operand is False:
            return False
        if operand is not True:
            outcome = None
    return outcome


def disjunction(*operands: Any) -> bool | None:
    """True if any operand is true, false if all are false, else null."""
    outcome: bool | None = False
    for operand in operands:
        if operand is True:
            return True
        if operand is not False:
            outcome = None
    return outcome


def narrowed(value: Any) -> Any:
    """The value as it leaves an expression: an integer outside 64 bits is a float, or null if too large for one."""
    try:
        return narrowed_or_fault(value)
    except OverflowError:
        return None


# The fast form has two operations of its own, which raise to ask for the safe form.


def narrowed_or_fault(value: Any) -> Any:
    """The value as it leaves an expression; a fault if it is an integer too large for a float."""
    return float(value) if isinstance(value, int) and not -INT_MAX <= value <= INT_MAX else value


def boolean_or_fault(value: Any) -> bool:
    """True or false itself, a fault for anything else."""
    if isinstance(value, bool):
        return value
    raise TypeError(value)


def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
    """The function with null in place of its faults, and for null."""

    def guarded_call(*arguments: Any) -> Any:
        if None in arguments:
            return None
        try:
            return call(*arguments)
        except FAULTS:
            return None

    return guarded_call
