"""The fields and types that flow out of each operator, and what is certain to go wrong with those that flow in.

Only certain faults are problems: reading a field that cannot exist, or an operation on a type that can only give null.
Records that do not keep to their source's schema are no concern of this file; at run time a wrong type is null.
"""

from collections.abc import Callable, Sequence

from topics.expressions import Expression, ExpressionError, FieldType, parse, parse_aggregation
from topics.flow.graph import Stream
from topics.flow.problems import Path, Problems
from topics.flow.read_operators import WINDOW_FIELDS, note_faults
from topics.flow.schema import Schema, merged_schemas
from topics.flow.specs import (
    Aggregate,
    Aggregation,
    Dedupe,
    Filter,
    FlatMap,
    Join,
    Map,
    OperatorSpec,
    Project,
    Python,
    Sink,
    Source,
    Split,
    TopK,
    Union,
)

OPEN = Schema(open_below=frozenset({""}))
"""Nothing is known of the fields."""

TextAt = Callable[[Path], str | None]
"""The text that the user wrote at a path, so that a fault is shown in the user's spelling; None if it is not known."""


def source_schema(source: Source, problems: Problems) -> Schema:
    schema = Schema.of(dict(source.schema), open_below={""})
    path = ("sources", source.name)
    if source.key is not None:
        _Checks(path, schema, problems).field(("key",), source.key)
    if source.event_time is not None:
        _Checks(path, schema, problems).field(("event_time",), source.event_time)
        wanted = ("string", "any") if source.time_unit == "iso" else ("int", "float", "time", "any")
        found = schema.type_of(source.event_time)
        if found is not None and found not in wanted:
            message = f"{source.event_time!r} is {found}; with time_unit {source.time_unit} a time is {wanted[0]}"
            problems.add((*path, "event_time"), message)
    return schema


def check_sink(sink: Sink, schema: Schema, problems: Problems) -> None:
    if sink.key is not None:
        _Checks(("sinks", sink.name), schema, problems).field(("key",), sink.key)


def check_ranking(name: str, spec: OperatorSpec, given: Stream, problems: Problems) -> None:
    """A top_k without a window of its own needs results of windows that are final and close together."""
    if not isinstance(spec, TopK) or spec.window is not None or (given.window is None and not given.identity):
        return
    path = ("operators", name)
    remedy = "a window of its own, such as window: {size: 1m}"
    if given.window is None:
        message = f"top_k would never be done: {spec.input!r} has no windows to rank"
        problems.add(path, message, expected=remedy, at="key")
    elif given.window.emit == "change" or given.window.gap_ms is not None:
        what = "is a session" if given.window.gap_ms is not None else "gives its results again on every change"
        problems.add(path, f"top_k cannot rank the windows of {spec.input!r}: each {what}", expected=remedy, at="key")


def output_schema(  # noqa: PLR0911, PLR0912 - a table of operators
    name: str, spec: OperatorSpec, inputs: Sequence[Schema], problems: Problems, text_at: TextAt
) -> Schema:
    """Of a split: of each of its routes."""
    path: Path = ("operators", name)
    first = inputs[0]
    checks = _Checks(path, first, problems, text_at)
    match spec:
        case Filter():
            checks.expression(("where",), spec.where, want="bool")
            return first
        case Project():
            return Schema.of(checks.expressions("fields", spec.fields))
        case Map():
            for position, dropped in enumerate(spec.drop):
                checks.field(("drop", position), dropped)
            return first.without(spec.drop).plus(checks.expressions("set", spec.set))
        case FlatMap():
            checks.expression(("each",), spec.each, want="list")
            return first.plus({spec.into: "any"})
        case Split():
            for route, condition in spec.routes:
                checks.expression(("routes", route), condition, want="bool")
            return first
        case Union():
            return merged_schemas(inputs)
        case Dedupe():
            checks.fields("by", spec.by)
            return first
        case Aggregate():
            return _aggregate_schema(spec, checks)
        case Join():
            return _join_schema(spec, path, inputs, problems, text_at)
        case TopK():
            checks.expression(("by",), spec.by)
            checks.fields("per", spec.per)
            if "rank" in dict(first.fields):
                problems.add(
                    path, f"{spec.input!r} has a field 'rank' already, which top_k would replace; rename it first"
                )
            added: dict[str, FieldType] = dict.fromkeys(WINDOW_FIELDS, "time") if spec.window else {}
            return first.plus({**added, "rank": "int"})
        case Python():
            checks.fields("by", spec.by)
            return OPEN


def _aggregate_schema(spec: Aggregate, checks: "_Checks") -> Schema:
    fields = checks.fields("by", spec.by)
    for aggregation in spec.emit:
        fields[aggregation.name] = checks.aggregation(("emit", aggregation.name), aggregation)
    if spec.window is not None:
        fields.update(dict.fromkeys(WINDOW_FIELDS, "time"))
    return Schema.of(fields)


def _join_schema(spec: Join, path: Path, inputs: Sequence[Schema], problems: Problems, text_at: TextAt) -> Schema:
    left, right = inputs
    keys: dict[str, FieldType] = {}
    left_checks, right_checks = _Checks(path, left, problems), _Checks(path, right, problems)
    for position, (left_name, right_name) in enumerate(spec.on):
        # `on: [id]` names both sides at one place, `on: {id: order}` has the left name as its key.
        as_list = text_at((*path, "on", position)) is not None
        place: Path = ("on", position) if as_list else ("on", left_name)
        left_type = left_checks.field(place, left_name, side="left", at_key=not as_list)
        right_type = right_checks.field(place, right_name, side="right")
        if not _may_be_equal(left_type, right_type):
            message = f"left {left_name!r} is {left_type}, right {right_name!r} is {right_type}; they are never equal"
            problems.add((*path, *place), message)
        keys[left_name] = left_type
    sides = {**dict(left.below("left").fields), **dict(right.below("right").fields)}
    both = Schema.of(sides, open_below=left.below("left").open_below | right.below("right").open_below)
    if spec.emit:
        return Schema.of(_Checks(path, both, problems, text_at).expressions("emit", spec.emit))
    return both.plus(keys)


def _may_be_equal(one: FieldType, other: FieldType) -> bool:
    numbers = {"int", "float", "time", "bool"}
    return one == other or "any" in (one, other) or {one, other} <= numbers


class _Checks:
    """Names and expressions of one operator against the schema of its input."""

    def __init__(self, path: Path, schema: Schema, problems: Problems, text_at: TextAt = lambda path: None) -> None:
        self.path = path
        self.schema = schema
        self.problems = problems
        self.text_at = text_at

    def field(self, place: Path, name: str, *, side: str | None = None, at_key: bool = False) -> FieldType:
        found = self.schema.type_of(name)
        if found is None and not self.problems.at((*self.path, *place)):
            where = f"{side} input" if side else "input"
            self.problems.add(
                (*self.path, *place),
                f"the {where} has no field {name!r}",
                expected=self.schema.names(),
                nearest=self.schema.nearest(name),
                at="key" if at_key else "value",
            )
        return found or "any"

    def fields(self, key: str, names: Sequence[str]) -> dict[str, FieldType]:
        return {name: self.field((key, position), name) for position, name in enumerate(names)}

    def expression(self, place: Path, expression: Expression, *, want: FieldType = "any") -> FieldType:
        path = (*self.path, *place)
        text = self.text_at(path) or expression.text
        if self.problems.at(path):
            return "any"
        try:
            return parse(text, schema=self.schema.for_reading(expression.paths), want=want).type
        except ExpressionError as error:
            note_faults(error, path, self.problems)
            return "any"

    def expressions(self, key: str, named: Sequence[tuple[str, Expression]]) -> dict[str, FieldType]:
        listed = self.text_at((*self.path, key, 0)) is not None  # `fields: [src, dst]`
        places: list[Path] = [(key, position if listed else name) for position, (name, _) in enumerate(named)]
        return {name: self.expression(place, value) for place, (name, value) in zip(places, named, strict=True)}

    def aggregation(self, place: Path, aggregation: Aggregation) -> FieldType:
        path = (*self.path, *place)
        argument = aggregation.argument
        if self.problems.at(path):
            return "any"
        text = self.text_at(path) or f"{aggregation.function}({argument.text if argument else ''})"
        try:
            _, checked = parse_aggregation(text, schema=self.schema.for_reading(argument.paths if argument else ()))
        except ExpressionError as error:
            note_faults(error, path, self.problems)
            return "any"
        return _result_type(aggregation.function, checked.type if checked else "any")


def _result_type(function: str, argument: FieldType) -> FieldType:
    match function:
        case "count" | "distinct":
            return "int"
        case "mean" | "stddev":
            return "float"
        case "sum":
            return "int" if argument in ("int", "time", "bool") else "float"
    return argument
