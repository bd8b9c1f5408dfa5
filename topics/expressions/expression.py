"""Parsing, from outside: text in, a checked `Expression` out, or one `ExpressionError` with all that is wrong."""

from dataclasses import dataclass, field
from typing import Final, get_args
from typing import Literal as OneOf

from topics.expressions.canonical import canonical
from topics.expressions.checker import Checker
from topics.expressions.errors import ExpressionError, Problem, did_you_mean, nearest_word
from topics.expressions.kinds import ANY, NUMBER, FieldType, Kinds, Schema, field_type, kinds_of_type
from topics.expressions.parser import parse_tree
from topics.expressions.tree import Call, Tree, path_of, paths_read

AggregateFunction = OneOf["count", "sum", "mean", "min", "max", "first", "last", "stddev", "distinct"]
AGGREGATE_FUNCTIONS: Final[tuple[AggregateFunction, ...]] = get_args(AggregateFunction)


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression. Two with the same canonical text compute the same and are equal."""

    text: str
    """Canonical: one spelling for each tree, part of an operator's identity."""
    tree: Tree = field(compare=False, repr=False)
    fields: frozenset[str] = field(compare=False, repr=False)
    """The dotted paths of the fields that it reads, for people and schemas. A name may hold a dot: see `paths`."""
    type: FieldType = field(compare=False)
    """The narrowest type known for its value; any value may also be null."""

    @property
    def paths(self) -> frozenset[tuple[str, ...]]:
        """The fields that it reads, each as the exact names on the way to it."""
        return paths_read(self.tree)

    @property
    def path(self) -> tuple[str, ...] | None:
        """The names of a plain field such as `a.b`; None for a computed value."""
        return path_of(self.tree)


def parse(text: str, *, schema: Schema | None = None, want: FieldType = "any") -> Expression:
    """The expression that `text` says. With a `schema`, fields and types are checked; with `want`, the result too."""
    return _checked(text, parse_tree(text), schema, kinds_of_type(want))


def parse_aggregation(text: str, *, schema: Schema | None = None) -> tuple[AggregateFunction, Expression | None]:
    """The aggregate function and its argument, from a text such as `sum(bytes)`; `count()` alone has none."""
    tree = parse_tree(text)
    expected = "an aggregation such as count() or sum(field)"
    if not isinstance(tree, Call):
        message = f"expected {expected}; the functions are {', '.join(AGGREGATE_FUNCTIONS)}"
        raise ExpressionError(text, [Problem(message, tree.column, expected)])
    for function in AGGREGATE_FUNCTIONS:
        if function == tree.name:
            break
    else:
        nearest = nearest_word(tree.name, AGGREGATE_FUNCTIONS)
        message = f"{tree.name}() is no aggregation{did_you_mean(nearest)} (known are {', '.join(AGGREGATE_FUNCTIONS)})"
        raise ExpressionError(text, [Problem(message, tree.column, expected, tree.name, nearest)])
    if function == "count" and not tree.arguments:
        return function, None
    if len(tree.arguments) != 1:
        usage = "count() or count(expression)" if function == "count" else f"{function}(expression)"
        count = f"{len(tree.arguments)} arguments"
        raise ExpressionError(
            text, [Problem(f"{function}() does not take {count}: {usage}", tree.column, usage, count)]
        )
    accepted = NUMBER if function in ("sum", "mean", "stddev") else ANY
    return function, _checked(text, tree.arguments[0], schema, accepted, place=f"{function}()")


def _checked(text: str, tree: Tree, schema: Schema | None, accepted: Kinds, *, place: str = "the result") -> Expression:
    checker = Checker(schema)
    kinds = checker.need(tree, accepted, place)
    if checker.problems:
        raise ExpressionError(text, checker.problems)
    fields = frozenset(".".join(path) for path in paths_read(tree))
    return Expression(text=canonical(tree), tree=tree, fields=fields, type=field_type(kinds))
