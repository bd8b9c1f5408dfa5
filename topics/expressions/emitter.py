"""From the tree to Python's own syntax tree: what the fast and the safe form have in common.

User text reaches the result only as constants, and as names of fields where records have slots (`slots`); every other
name in it comes from `NAMESPACE`. Conditions are emitted for
what they are needed for: `truth` is true exactly where the value is true, so null and false need not be told apart,
and `and`, `or` and `if` keep Python's own short circuits. This is right because in three-valued logic `false and x`
is false and `true or x` is true, whatever x is.
"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from topics.expressions import operations
from topics.expressions.checker import Checker
from topics.expressions.functions import FAULTS, FUNCTIONS
from topics.expressions.kinds import INT, TIME, Kinds
from topics.expressions.slots import is_slot
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

RECORD = "record"

NAMESPACE: dict[str, Any] = {
    "__builtins__": {},
    "FAULTS": FAULTS,
    **{name: operation for name, operation in vars(operations).items() if callable(operation) and name.islower()},
    **{f"raw_{name}": function.call for name, function in FUNCTIONS.items()},
    **{f"safe_{name}": operations.guarded(function.call) for name, function in FUNCTIONS.items()},
}


def name_of(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def call_of(name: str, *arguments: ast.expr) -> ast.expr:
    assert name in NAMESPACE, name
    return ast.Call(name_of(name), list(arguments), [])


def constant_of(value: Any) -> ast.expr:
    """A constant of any immutable type: Python's compiler takes tuples and frozen sets too."""
    return ast.Constant(value)


def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [op], [right])


class Emitter(ABC):
    """Emits one form of expressions. Kinds are inferred without a schema: a record need not obey it."""

    def __init__(self, *, of_slots: bool = False) -> None:
        """`of_slots`: records have slots; else they are objects."""
        self._checker = Checker()
        self._temporaries = 0
        self._of_slots = of_slots

    def kinds(self, tree: Tree) -> Kinds:
        return self._checker.kinds(tree)

    def field(self, name: str) -> ast.expr:
        """`record[name]`, a fault where there is none, or `record.name`, null where there is none."""
        if self._of_slots:
            assert is_slot(name), name
            return ast.Attribute(name_of(RECORD), name, ast.Load())
        return ast.Subscript(name_of(RECORD), ast.Constant(name), ast.Load())

    def field_or_null(self, name: str) -> ast.expr:
        """`record.get(name)`."""
        if self._of_slots:
            return self.field(name)
        return ast.Call(ast.Attribute(name_of(RECORD), "get", ast.Load()), [ast.Constant(name)], [])

    def value(self, tree: Tree) -> ast.expr:
        """The value of `tree`."""
        match tree:
            case Literal(value=value):
                return ast.Constant(value)
            case ListOf(items=items):
                return ast.List([self.leaving(item) for item in items], ast.Load())
            case IsNull(operand=operand):
                return self._is(self.nullable(operand), None)
            case Call(name="if", arguments=arguments):
                return self._if(arguments, self.value)
            case Call(name="coalesce", arguments=arguments):
                return self._coalesce(arguments, self.nullable)
            case Field() | Item() | Negative() | Arithmetic() | Comparison() | Membership() | Not() | Logic() | Call():
                return self.operation(tree)

    def leaving(self, tree: Tree) -> ast.expr:
        """The value of `tree` as it leaves the expression: a computed integer outside 64 bits becomes a float."""
        match tree:
            case Call(name="if", arguments=arguments):
                return self._if(arguments, self.leaving)
            case Call(name="coalesce", arguments=arguments):
                return self._coalesce(arguments, self.leaving)
            case Call(name=name) if FUNCTIONS[name].wide and self.kinds(tree) & (INT | TIME):
                return self.narrowed(tree)
            case Arithmetic() | Negative() if self.kinds(tree) & (INT | TIME):
                return self.narrowed(tree)
        return self.value(tree)

    def truth(self, tree: Tree) -> ast.expr:
        """Whether `tree` is true, as a real bool."""
        match tree:
            case Literal(value=value):
                return ast.Constant(value is True)
            case Not(operand=operand):
                return self.falsity(operand)
            case Logic(op=op, operands=operands):
                return ast.BoolOp(ast.And() if op == "and" else ast.Or(), [self.truth(operand) for operand in operands])
            case Call(name="if", arguments=arguments):
                return self._if(arguments, self.truth)
        return self.value(tree) if self.surely_bool(tree) else self._is(self.value(tree), True)

    def falsity(self, tree: Tree) -> ast.expr:
        """Whether `tree` is false (and not null), as a real bool."""
        match tree:
            case Literal(value=value):
                return ast.Constant(value is False)
            case Not(operand=operand):
                return self.truth(operand)
            case Logic(op=op, operands=operands):
                return ast.BoolOp(
                    ast.Or() if op == "and" else ast.And(), [self.falsity(operand) for operand in operands]
                )
            case Call(name="if", arguments=arguments):
                return self._if(arguments, self.falsity)
        if self.surely_bool(tree):
            return ast.UnaryOp(ast.Not(), self.value(tree))
        return self._is(self.value(tree), False)

    @abstractmethod
    def operation(self, tree: Tree) -> ast.expr:
        """The value of a part that this form has its own way to compute."""

    @abstractmethod
    def nullable(self, tree: Tree) -> ast.expr:
        """The value of `tree` in a place that is prepared for null."""

    @abstractmethod
    def surely_bool(self, tree: Tree) -> bool:
        """Whether what `value` emits for `tree` can only give true or false."""

    @abstractmethod
    def surely_not_null(self, tree: Tree) -> bool:
        """Whether what this form emits for `tree` can't give null."""

    @abstractmethod
    def narrowed(self, tree: Tree) -> ast.expr:
        """The value of `tree`, an integer outside 64 bits as a float."""

    def kept(self, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """An expression that computes `value` and keeps it, and one that reads it again."""
        self._temporaries += 1
        name = f"kept_{self._temporaries}"
        return ast.NamedExpr(ast.Name(name, ast.Store()), value), name_of(name)

    def _is(self, value: ast.expr, constant: bool | None) -> ast.expr:
        """Whether the value is this constant."""
        if not any(isinstance(part, ast.Name) for part in ast.walk(value)):  # a constant itself: Python would warn
            value, _ = self.kept(value)
        return compare(value, ast.Is(), ast.Constant(constant))

    def _if(self, arguments: tuple[Tree, ...], emit: Callable[[Tree], ast.expr]) -> ast.expr:
        *pairs, otherwise = arguments
        outcome = emit(otherwise)
        for condition, value in zip(pairs[-2::-2], pairs[::-2], strict=True):
            outcome = ast.IfExp(self.truth(condition), emit(value), outcome)
        return outcome

    def _coalesce(self, arguments: tuple[Tree, ...], emit: Callable[[Tree], ast.expr]) -> ast.expr:
        outcome = emit(arguments[-1])
        for argument in reversed(arguments[:-1]):
            if isinstance(argument, Literal):
                outcome = outcome if argument.value is None else emit(argument)
            elif self.surely_not_null(argument):
                outcome = emit(argument)
            else:
                keep, read = self.kept(emit(argument))
                outcome = ast.IfExp(compare(keep, ast.IsNot(), ast.Constant(None)), read, outcome)
        return outcome
