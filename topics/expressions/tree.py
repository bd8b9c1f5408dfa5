"""The tree of an expression: twelve kinds of parts. What is not among them can't be expressed, compiled or run.

A part knows where it stood in the text (`column`), which is no part of its value. Sugar is gone at this point: `a < b
< c` is `a < b and b < c`, `x not in y` is `not (x in y)`, `a.b` is `a['b']`, and a duration is its milliseconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Literal as OneOf

ArithmeticOp = OneOf["+", "-", "*", "/", "//", "%"]
ComparisonOp = OneOf["==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Part:
    """What all parts have in common."""

    column: int = field(compare=False, kw_only=True)

    @property
    def children(self) -> "tuple[Tree, ...]":
        """The parts directly below, in the order of the text: what its fields hold, alone or in tuples."""
        held = [getattr(self, each.name) for each in fields(self)]
        listed = [each if isinstance(each, tuple) else (each,) for each in held]
        return tuple(part for parts in listed for part in parts if isinstance(part, Tree))


@dataclass(frozen=True, slots=True)
class Literal(Part):
    """A constant: null, a truth value, a number or a text."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Field(Part):
    """A field of the record by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Item(Part):
    """What `base` holds at `key`: a field of an object, an element of a list, a character of a text."""

    base: "Tree"
    key: "Tree"


@dataclass(frozen=True, slots=True)
class ListOf(Part):
    """A list written out."""

    items: "tuple[Tree, ...]"


@dataclass(frozen=True, slots=True)
class Negative(Part):
    """`-operand`."""

    operand: "Tree"


@dataclass(frozen=True, slots=True)
class Arithmetic(Part):
    """`left op right` on numbers."""

    op: ArithmeticOp
    left: "Tree"
    right: "Tree"


@dataclass(frozen=True, slots=True)
class Comparison(Part):
    """`left op right`, true or false; null where two things have no order."""

    op: ComparisonOp
    left: "Tree"
    right: "Tree"


@dataclass(frozen=True, slots=True)
class Membership(Part):
    """`item in container`."""

    item: "Tree"
    container: "Tree"


@dataclass(frozen=True, slots=True)
class IsNull(Part):
    """`operand is null`."""

    operand: "Tree"


@dataclass(frozen=True, slots=True)
class Not(Part):
    """`not operand`."""

    operand: "Tree"


@dataclass(frozen=True, slots=True)
class Logic(Part):
    """`and` or `or` over two or more operands."""

    op: OneOf["and", "or"]
    operands: "tuple[Tree, ...]"


@dataclass(frozen=True, slots=True)
class Call(Part):
    """A function of our own table, applied. `if` and `coalesce` are calls too, though they leave arguments unread."""

    name: str
    arguments: "tuple[Tree, ...]"


Tree = Literal | Field | Item | ListOf | Negative | Arithmetic | Comparison | Membership | IsNull | Not | Logic | Call


def walk(tree: Tree) -> Iterator[Tree]:
    """The tree and all parts below it, parents first, from left to right."""
    yield tree
    for child in tree.children:
        yield from walk(child)


def path_of(tree: Tree) -> tuple[str, ...] | None:
    """The names of a plain field access such as `a.b.c`; None for anything else."""
    match tree:
        case Field(name=name):
            return (name,)
        case Item(base=base, key=Literal(value=str(name))) if name:
            above = path_of(base)
            return None if above is None else (*above, name)
    return None


def paths_read(tree: Tree) -> frozenset[tuple[str, ...]]:
    """The paths of all fields that the tree reads, each as far as it is plain: `tags[0].name` reads `tags`."""
    path = path_of(tree)
    return frozenset({path}) if path else frozenset().union(*map(paths_read, tree.children))
