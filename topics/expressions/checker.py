"""Finds what is certain to go wrong: unknown functions and fields, operands of a kind that can only give null.

It reports what is certain for every record that obeys the schema, and stays silent about what merely might happen: that
becomes null at run time. The kinds it infers (without a schema, because records need not obey it) also tell the
compiler where a guard can be left out.
"""

from topics.expressions.errors import Problem, did_you_mean, nearest_word
from topics.expressions.functions import FUNCTIONS, Function
from topics.expressions.kinds import (
    ANY,
    BOOL,
    CONTAINER,
    FLOAT,
    INT,
    LIST,
    NULL,
    NUMBER,
    OBJECT,
    ORDERED,
    STRING,
    TIME,
    WHOLE,
    Kinds,
    Schema,
    comparable,
    kinds_of_value,
    shown,
)
from topics.expressions.schema import SchemaIndex
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
    path_of,
)

FORMS = {"if": "if(condition, then, else) or if(a, x, b, y, else)", "coalesce": "coalesce(a, b, ...)"}
"""Calls that leave arguments unread, with their usage."""


class Checker:
    """Infers the kinds of a tree's parts, once each, and collects the problems on the way."""

    def __init__(self, schema: Schema | None = None) -> None:
        self._schema = SchemaIndex(schema)
        self._known: dict[int, Kinds] = {}
        self.problems: list[Problem] = []

    def kinds(self, tree: Tree) -> Kinds:
        """What `tree` can be, null aside."""
        if id(tree) not in self._known:
            self._known[id(tree)] = self._infer(tree)
        return self._known[id(tree)]

    def need(self, tree: Tree, accepted: Kinds, place: str, remedy: str = "") -> Kinds:
        """The kinds of `tree`, which must share one with `accepted`; `place` names what asks for it."""
        found = self.kinds(tree)
        if not found & accepted:
            message = f"{place} needs {shown(accepted)}, found {shown(found)}" + (f"; {remedy}" if remedy else "")
            self.problems.append(Problem(message, tree.column, shown(accepted), shown(found)))
        return found

    def _infer(self, tree: Tree) -> Kinds:  # noqa: PLR0911, PLR0912 - one case for each kind of part
        match tree:
            case Literal(value=value):
                return kinds_of_value(value)
            case Field(name=name):
                return self._looked_up((name,), tree.column) or ANY
            case Item():
                return self._item(tree)
            case ListOf(items=items):
                for item in items:
                    self.kinds(item)
                return LIST
            case Negative(operand=operand):
                return INT if self.need(operand, NUMBER, "-") <= WHOLE else INT | FLOAT
            case Arithmetic():
                return self._arithmetic(tree)
            case Comparison():
                self._comparison(tree)
            case Membership():
                self._membership(tree)
            case IsNull(operand=operand):
                self.kinds(operand)
            case Not(operand=operand):
                self.need(operand, BOOL, "not")
            case Logic(op=op, operands=operands):
                for operand in operands:
                    self.need(operand, BOOL, op)
            case Call():
                return self._call(tree)
        return BOOL

    def _looked_up(self, path: tuple[str, ...], column: int) -> Kinds | None:
        found = self._schema.kinds(path, column=column)
        if isinstance(found, Problem):
            self.problems.append(found)
            return ANY
        return found

    def _item(self, tree: Item) -> Kinds:
        base, key = self.kinds(tree.base), self.kinds(tree.key)
        path = path_of(tree)
        declared = None if path is None else self._looked_up(path, tree.key.column)
        if declared is not None:
            return declared
        if isinstance(tree.key, Literal) and isinstance(tree.key.value, str):
            self.need(tree.base, OBJECT, f"field access .{tree.key.value}")
            return ANY
        self.need(tree.base, CONTAINER, "[...]")
        if base <= LIST | STRING:
            self.need(tree.key, WHOLE, "the index of a " + shown(base))
        elif not key & (WHOLE | STRING):
            self.need(tree.key, WHOLE | STRING, "[...]")
        return STRING if base <= STRING else ANY

    def _arithmetic(self, tree: Arithmetic) -> Kinds:
        remedy = "join text with concat(a, b)" if tree.op == "+" else ""
        left = self.need(tree.left, NUMBER, tree.op, remedy)
        right = self.need(tree.right, NUMBER, tree.op, remedy)
        if tree.op == "/":
            return FLOAT
        if tree.op == "-" and left <= TIME and right <= TIME:
            return INT
        if tree.op in ("+", "-") and left | right <= TIME | INT and left | right >= TIME:
            return TIME
        return INT if left | right <= WHOLE else FLOAT if left <= FLOAT or right <= FLOAT else INT | FLOAT

    def _comparison(self, tree: Comparison) -> None:
        left, right = self.kinds(tree.left), self.kinds(tree.right)
        equality = tree.op in ("==", "!=")
        if equality and (NULL & (left | right)):
            return
        if not equality:
            remedy = "use 'is null'" if NULL in (left, right) else ""
            before = len(self.problems)
            self.need(tree.left, ORDERED, tree.op, remedy)
            self.need(tree.right, ORDERED, tree.op, remedy)
            if len(self.problems) > before:
                return
        if not comparable(left, right):
            outcome = "are never equal" if equality else "have no order"
            message = f"{tree.op} compares {shown(left)} with {shown(right)}, which {outcome}; convert one of them"
            self.problems.append(Problem(message, tree.column, shown(left), shown(right)))

    def _membership(self, tree: Membership) -> None:
        item, container = self.kinds(tree.item), self.need(tree.container, CONTAINER, "in")
        if container <= STRING or container <= OBJECT:
            self.need(tree.item, STRING, f"in a {shown(container)}")
        elif isinstance(tree.container, ListOf) and tree.container.items and not item & NULL:
            elements: Kinds = frozenset().union(*(self.kinds(element) for element in tree.container.items))
            if not comparable(item, elements) and not elements & NULL:
                message = f"{shown(item)} is never in a list of {shown(elements)}; convert one of them"
                self.problems.append(Problem(message, tree.column, shown(elements), shown(item)))

    def _call(self, tree: Call) -> Kinds:
        if tree.name == "if":
            return self._if(tree)
        if tree.name == "coalesce":
            return self._coalesce(tree)
        function = FUNCTIONS.get(tree.name)
        if function is None:
            nearest = nearest_word(tree.name, (*FUNCTIONS, *FORMS))
            message = f"there is no function {tree.name}{did_you_mean(nearest)}"
            self.problems.append(Problem(message, tree.column, "a function", tree.name, nearest))
            for argument in tree.arguments:
                self.kinds(argument)
            return ANY
        if not function.accepts(len(tree.arguments)):
            self._wrong_count(tree, function.usage)
        found = [self._argument(function, tree, position) for position in range(len(tree.arguments))]
        either: Kinds = frozenset().union(*found)
        return either - NULL if function.returns is None else function.returns

    def _argument(self, function: Function, tree: Call, position: int) -> Kinds:
        argument = tree.arguments[position]
        found = self.need(argument, function.parameter(position), f"{tree.name}()")
        check = function.literals.get(position)
        if check is not None and isinstance(argument, Literal) and found & function.parameter(position):
            try:
                check(argument.value)
            except ValueError as error:
                message = f"{tree.name}() needs {error}, found {argument.value!r}"
                self.problems.append(Problem(message, argument.column, str(error), repr(argument.value)))
        return found

    def _if(self, tree: Call) -> Kinds:
        arguments = tree.arguments
        if len(arguments) < 3 or len(arguments) % 2 == 0:
            self._wrong_count(tree, FORMS["if"])
            return ANY
        for condition in arguments[:-1:2]:
            self.need(condition, BOOL, "the condition of if()")
        return frozenset().union(*(self.kinds(value) for value in (*arguments[1::2], arguments[-1])))

    def _coalesce(self, tree: Call) -> Kinds:
        if len(tree.arguments) < 2:
            self._wrong_count(tree, FORMS["coalesce"])
            return ANY
        found: list[Kinds] = [self.kinds(argument) for argument in tree.arguments]
        return frozenset().union(*(kinds - NULL for kinds in found[:-1]), found[-1])

    def _wrong_count(self, tree: Call, usage: str) -> None:
        count = f"{len(tree.arguments)} arguments"
        self.problems.append(Problem(f"{tree.name}() does not take {count}: {usage}", tree.column, usage, count))
