"""The safe form: null wherever the fast form raises. Operations are calls, except where a bare operator can't fail."""

import ast

from topics.expressions.emitter import Emitter, call_of, compare, constant_of
from topics.expressions.fast import COMPARISONS, constants
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

_OPERATIONS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "==": "equal",
    "!=": "unequal",
    "<": "less",
    "<=": "less_or_equal",
    ">": "greater",
    ">=": "greater_or_equal",
    "and": "conjunction",
    "or": "disjunction",
}


class SafeEmitter(Emitter):
    """Emits the safe form."""

    def operation(self, tree: Tree) -> ast.expr:  # noqa: PLR0911 - one case for each kind of part
        match tree:
            case Field(name=name):
                return self.field_or_null(name)
            case Item(base=base, key=key):
                return call_of("item", self.value(base), self.value(key))
            case Negative(operand=operand):
                return call_of("negative", self.value(operand))
            case Comparison(op=op, left=left, right=right) if _compares_with_constant(tree):
                return compare(self.value(left), COMPARISONS[op](), self.value(right))
            case Arithmetic(op=op, left=left, right=right) | Comparison(op=op, left=left, right=right):
                return call_of(_OPERATIONS[op], self.value(left), self.value(right))
            case Membership(item=item, container=container):
                listed = constants(container)
                within = self.value(container) if listed is None else constant_of(listed)
                return call_of("member", self.value(item), within)
            case Not(operand=operand):
                return call_of("negation", self.value(operand))
            case Logic(op=op, operands=operands):
                return call_of(_OPERATIONS[op], *map(self.value, operands))
            case Call(name=name, arguments=arguments):
                return call_of(f"safe_{name}", *map(self.value, arguments))
        raise AssertionError(tree)

    def nullable(self, tree: Tree) -> ast.expr:
        return self.value(tree)

    def surely_bool(self, tree: Tree) -> bool:
        return isinstance(tree, IsNull) or (isinstance(tree, Comparison) and _compares_with_constant(tree))

    def surely_not_null(self, tree: Tree) -> bool:
        return self.surely_bool(tree) or isinstance(tree, ListOf)

    def narrowed(self, tree: Tree) -> ast.expr:
        return call_of("narrowed", self.value(tree))


def _compares_with_constant(tree: Comparison) -> bool:
    """Whether this is == or != with a constant, which can't fail: only values nested too deeply can't be compared."""
    return tree.op in ("==", "!=") and (isinstance(tree.left, Literal) or isinstance(tree.right, Literal))
