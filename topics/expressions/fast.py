"""The fast form: bare Python operators on `record['field']` or, of records with slots, on `record.field`.

It raises where the safe form would give null, and never differs otherwise.
"""

import ast
from typing import Any

from topics.expressions.emitter import Emitter, call_of, compare, constant_of
from topics.expressions.kinds import BOOL, FLOAT, NULL, NUMBER
from topics.expressions.limits import INT_MAX
from topics.expressions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Field,
    Item,
    ListOf,
    Literal,
    Logic,
    Membership,
    Negative,
    Not,
    Tree,
    path_of,
)

_ARITHMETIC: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
}
COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}


class FastEmitter(Emitter):
    """Emits the fast form."""

    def operation(self, tree: Tree) -> ast.expr:  # noqa: PLR0911 - one case for each kind of part
        match tree:
            case Field(name=name):
                return self.field(name)
            case Item(base=base, key=key):
                return ast.Subscript(self.value(base), self.value(key), ast.Load())
            case Negative(operand=operand):
                return ast.UnaryOp(ast.USub(), self.value(operand))
            case Arithmetic():
                return self._arithmetic(tree)
            case Comparison(op=op, left=left, right=right):
                return compare(self.value(left), COMPARISONS[op](), self.value(right))
            case Membership(item=item, container=container):
                listed = constants(container)
                within = self.value(container) if listed is None else constant_of(frozenset(listed))
                return compare(self.value(item), ast.In(), within)
            case Not(operand=operand):
                return ast.UnaryOp(ast.Not(), self._boolean(operand))
            case Logic(op=op, operands=operands):
                return ast.BoolOp(
                    ast.And() if op == "and" else ast.Or(), [self._boolean(operand) for operand in operands]
                )
            case Call(name=name, arguments=arguments):
                return call_of(f"raw_{name}", *map(self.value, arguments))
        raise AssertionError(tree)

    def nullable(self, tree: Tree) -> ast.expr:
        path = path_of(tree)
        if path is None:
            return self.value(tree)
        value = self.field_or_null(path[0])
        for name in path[1:]:
            value = call_of("item", value, ast.Constant(name))
        return value

    def surely_bool(self, tree: Tree) -> bool:
        return self.kinds(tree) <= BOOL

    def surely_not_null(self, tree: Tree) -> bool:
        return not self.kinds(tree) & NULL

    def narrowed(self, tree: Tree) -> ast.expr:
        value = self.value(tree)
        if not self.kinds(tree) <= NUMBER:
            return call_of("narrowed_or_fault", value)
        keep, read = self.kept(value)
        inside = ast.Compare(ast.Constant(-INT_MAX), [ast.LtE(), ast.LtE()], [keep, ast.Constant(INT_MAX)])
        return ast.IfExp(inside, read, call_of("narrowed_or_fault", read))

    def _boolean(self, tree: Tree) -> ast.expr:
        """The value of an operand of logic: true, false, or a fault."""
        return self.value(tree) if self.surely_bool(tree) else call_of("boolean_or_fault", self.value(tree))

    def _arithmetic(self, tree: Arithmetic) -> ast.expr:
        """Bare arithmetic, with a unary plus before a text or list that Python would join, repeat or format."""
        left, right = self.value(tree.left), self.value(tree.right)
        left_sure, right_sure = self.kinds(tree.left) <= NUMBER, self.kinds(tree.right) <= NUMBER
        # For + a number on the other side is guard enough; for * it must be a float, as an integer repeats.
        if tree.op == "%" and not left_sure:
            left = _number(left)
        if tree.op == "+" and not (left_sure or right_sure):
            left = _number(left)
        if tree.op == "*" and not left_sure and not self.kinds(tree.right) <= FLOAT:
            left = _number(left)
        if tree.op == "*" and not right_sure and not self.kinds(tree.left) <= FLOAT:
            right = _number(right)
        return ast.BinOp(left, _ARITHMETIC[tree.op](), right)


def constants(container: Tree) -> tuple[Any, ...] | None:
    """The elements of a list of nothing but constants; None for any other container."""
    if not isinstance(container, ListOf):
        return None
    found = tuple(item.value for item in container.items if isinstance(item, Literal))
    return found if len(found) == len(container.items) else None


def _number(value: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.UAdd(), value)
