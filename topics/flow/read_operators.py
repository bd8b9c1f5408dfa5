"""From the mapping of one operator to its spec. One function for each `op`; keys and what they mean: docs/flows.md."""

import math
from collections.abc import Callable
from typing import cast

from topics.expressions import AGGREGATE_FUNCTIONS, Expression, ExpressionError, nearest_word, parse, parse_aggregation
from topics.flow.document import Value
from topics.flow.durations import format_duration
from topics.flow.limits import (
    BY_FIELDS_MAX,
    CHANGED_WINDOWS_MAX,
    FIELDS_MAX,
    K_MAX,
    PANES_MAX,
    ROUTES_MAX,
    SETTINGS_MAX,
    UNION_INPUTS_MAX,
)
from topics.flow.problems import Path, Problems, one_of
from topics.flow.section import Section, shown
from topics.flow.specs import (
    CALL_TIMEOUT_MS,
    Aggregate,
    Aggregation,
    Dedupe,
    Filter,
    FlatMap,
    Join,
    JoinKind,
    Map,
    OperatorSpec,
    Order,
    Project,
    Python,
    Split,
    TopK,
    Union,
    Window,
    WindowEmit,
)
from topics.flow.words import CALL, FIELD, FIELD_PATH, LISTED_FIELD, NAME, REFERENCE

WINDOW_FIELDS = ("window_start", "window_end")
"""What a window adds to its results; no field of one's own may have these names there."""


def read_operator(value: Value, path: Path, problems: Problems) -> OperatorSpec | None:
    """The spec, or None if it cannot be told which operator is meant."""
    if not isinstance(value, dict):
        Section(value, path, problems, what="an operator", keys=("op", "input"))
        return None
    if "python" in value and "op" in value:
        problems.add((*path, "op"), "an operator has either 'op' or 'python', not both; remove one", at="key")
        return None
    op = "python" if "python" in value else value.get("op")
    if op is None and "op" not in value:
        near = nearest_word("op", value)
        problems.add(path, "an operator needs the key 'op' or 'python'", expected=_one_of_ops(), at="key", nearest=near)
        return None
    if op == "python" and "op" in value:
        problems.add(
            (*path, "op"), "a function of your own goes under 'python' instead of 'op': python: 'module:function'"
        )
        return None
    if not isinstance(op, str) or op not in _READERS:
        near = nearest_word(op, _READERS) if isinstance(op, str) else None
        problems.add((*path, "op"), f"there is no operator {shown(op)}", expected=_one_of_ops(), nearest=near)
        return None
    keys, read = _READERS[op]
    article = "an" if op[0] in "aeio" else "a"
    return read(
        Section(value, path, problems, what=f"{article} {op}", keys=("python" if op == "python" else "op", *keys))
    )


def _one_of_ops() -> str:
    return f"one of {', '.join(op for op in _READERS if op != 'python')}, or python: 'module:function'"


def _filter(section: Section) -> OperatorSpec:
    return Filter(section.word("input", REFERENCE), expression_at(section, "where"))


def _project(section: Section) -> OperatorSpec:
    source = section.word("input", REFERENCE)
    if isinstance(section.values.get("fields"), list):
        names = section.names("fields", most=FIELDS_MAX, word=LISTED_FIELD)
        path = (*section.path, "fields")
        fields = [(n, read_expression(n, (*path, i), section.problems)) for i, n in enumerate(names) if FIELD.fits(n)]
        return Project(source, tuple(fields))
    return Project(source, _expressions(section, "fields", "field names and what each is computed from"))


def _map(section: Section) -> OperatorSpec:
    source = section.word("input", REFERENCE)
    if not section.has("set") and not section.has("drop"):
        section.missing("set", "fields to set, or 'drop' with fields to remove")
    new = _expressions(section, "set", "field names and what each is computed from", least=int(section.has("set")))
    drop = section.names("drop", most=FIELDS_MAX, least=int(section.has("drop")), word=FIELD)
    for position, name in enumerate(drop):
        if name in dict(new):
            section.problems.add((*section.path, "drop", position), f"{name!r} is set and dropped; do one of them")
    return Map(source, new, drop)


def _flat_map(section: Section) -> OperatorSpec:
    return FlatMap(section.word("input", REFERENCE), expression_at(section, "each"), section.word("into", FIELD))


def _split(section: Section) -> OperatorSpec:
    routes = section.entries("routes", "route names and the condition of each", most=ROUTES_MAX, word=NAME)
    path = (*section.path, "routes")
    read = tuple((name, read_expression(value, (*path, name), section.problems)) for name, value in routes)
    otherwise = section.optional_word("otherwise", NAME)
    if otherwise is not None and otherwise in dict(routes):
        section.wrong("otherwise", f"the route {otherwise!r} exists already; choose another name")
    return Split(section.word("input", REFERENCE), read, otherwise)


def _union(section: Section) -> OperatorSpec:
    return Union(section.names("inputs", most=UNION_INPUTS_MAX, least=2, word=REFERENCE))


def _dedupe(section: Section) -> OperatorSpec:
    by = section.names("by", most=BY_FIELDS_MAX)
    return Dedupe(section.word("input", REFERENCE), by, section.duration("within"))


def _aggregate(section: Section) -> OperatorSpec:
    source = section.word("input", REFERENCE)
    if not section.has("by"):
        section.missing("by", "a list of field names such as [src]; [] puts everything into one group")
    by = section.names("by", most=BY_FIELDS_MAX, least=0)
    window = _window(section)
    expected = "field names and an aggregation of each, such as {n: count()}"
    emit = section.entries("emit", expected, most=FIELDS_MAX, word=FIELD)
    taken = set(by) | (set(WINDOW_FIELDS) if window else set())
    aggregations = []
    for name, value in emit:
        path = (*section.path, "emit", name)
        if name in taken:
            section.problems.add(path, f"the result has a field {name!r} already; choose another name", at="key")
        aggregations.append(_read_aggregation(name, value, path, section.problems))
    return Aggregate(source, by, tuple(aggregations), window)


def _join(section: Section) -> OperatorSpec:
    left, right = section.word("left", REFERENCE), section.word("right", REFERENCE)
    within_ms = section.duration("within", minimum_ms=0)
    kind = cast(JoinKind, section.choice("kind", JoinKind, "inner"))
    emit = _expressions(section, "emit", "field names and what each is computed from, such as left.id", least=0)
    return Join(left, right, _on(section), within_ms, kind, emit)


def _on(section: Section) -> tuple[tuple[str, str], ...]:
    if not isinstance(section.values.get("on"), dict):
        return tuple((name, name) for name in section.names("on", most=BY_FIELDS_MAX))
    pairs = []
    for left, right in section.entries("on", "left and right field names", most=BY_FIELDS_MAX, word=FIELD_PATH):
        if isinstance(right, str) and FIELD_PATH.fits(right):
            pairs.append((left, right))
        else:
            section.problems.add((*section.path, "on", left), f"is {shown(right)}", expected=FIELD_PATH.rule)
    return tuple(pairs)


def _top_k(section: Section) -> OperatorSpec:
    return TopK(
        input=section.word("input", REFERENCE),
        k=section.whole("k", minimum=1, maximum=K_MAX),
        by=expression_at(section, "by"),
        per=section.names("per", most=BY_FIELDS_MAX, least=0),
        order=cast(Order, section.choice("order", Order, "desc")),
        window=_window(section),
    )


def _python(section: Section) -> OperatorSpec:
    state = section.flag("state")
    by = section.names("by", most=BY_FIELDS_MAX, least=0)
    if by and not state:
        section.wrong("by", "is only for an operator with state: true; add that, or remove 'by'")
    settings = []
    for name, value in section.entries("settings", "names and values", most=SETTINGS_MAX, word=FIELD, least=0):
        if isinstance(value, str) or (isinstance(value, int | float) and _fits_json(value)):
            settings.append((name, value))
        else:
            expected = "text, a number (whole ones below 2**63), true or false"
            section.problems.add((*section.path, "settings", name), f"is {shown(value)}", expected=expected)
    return Python(
        input=section.word("input", REFERENCE),
        call=section.word("python", CALL),
        state=state,
        by=by,
        blocking=section.flag("blocking"),
        timeout_ms=section.duration("timeout", default_ms=CALL_TIMEOUT_MS),
        settings=tuple(settings),
    )


def _fits_json(number: float) -> bool:
    return math.isfinite(number) if isinstance(number, float) else abs(number) < 2**63


def _window(section: Section) -> Window | None:
    if not section.has("window"):
        return None
    path = (*section.path, "window")
    keys = ("size", "hop", "gap", "emit")
    inner = Section(section.values["window"], path, section.problems, what="a window", keys=keys)
    emit = cast(WindowEmit, inner.choice("emit", WindowEmit, "close"))
    if inner.has("gap"):
        for key in ("size", "hop"):
            if inner.has(key):
                inner.wrong(key, f"a window has either 'gap' (session) or {key!r}; remove one")
        return Window(gap_ms=inner.duration("gap"), emit=emit)
    size_ms = inner.duration("size")
    hop_ms = inner.duration("hop", default_ms=size_ms)
    if not inner.problems.under(path):
        _check_hop(inner, size_ms, hop_ms, emit)
    return Window(size_ms=size_ms, hop_ms=None if hop_ms == size_ms else hop_ms, emit=emit)


def _check_hop(inner: Section, size_ms: int, hop_ms: int, emit: WindowEmit) -> None:
    size, hop = format_duration(size_ms), format_duration(hop_ms)
    if hop_ms > size_ms:
        inner.wrong("hop", f"is {hop}, longer than the size {size}: records between two windows would be lost")
    elif size_ms // math.gcd(size_ms, hop_ms) > PANES_MAX:
        panes = size_ms // math.gcd(size_ms, hop_ms)
        inner.wrong("hop", f"{hop} cuts the size {size} into {panes:,} panes", expected=f"at most {PANES_MAX:,}")
    elif emit == "change" and size_ms // hop_ms > CHANGED_WINDOWS_MAX:
        message = f"with emit: change every record would give {size_ms // hop_ms:,} results"
        inner.wrong("hop", message, expected=f"at most {CHANGED_WINDOWS_MAX}; take a longer hop or emit: close")


def expression_at(section: Section, key: str) -> Expression:
    if not section.has(key):
        section.missing(key, "an expression")
        return _NULL
    return read_expression(section.values[key], (*section.path, key), section.problems)


def expression_text(value: Value) -> str | None:
    """The text of an expression. Constants such as `5` and `true` need no quotes in the file."""
    if value is None or isinstance(value, bool):
        return str(value).lower().replace("none", "null")
    return str(value) if isinstance(value, str | int | float) else None


def read_expression(value: Value, path: Path, problems: Problems) -> Expression:
    text = expression_text(value)
    if text is None:
        problems.add(path, f"is {shown(value)}", expected="an expression")
        return _NULL
    try:
        return parse(text)
    except ExpressionError as error:
        note_faults(error, path, problems)
        return _NULL


def note_faults(error: ExpressionError, path: Path, problems: Problems) -> None:
    """An expression's own problems, as problems of the flow."""
    for fault in error.problems:
        # In braces YAML takes a comma for its own and cuts `f(a, b)` in two.
        is_cut = fault.column == len(error.text) and error.text.count("(") > error.text.count(")")
        message = fault.message + ("; put an expression with a comma in quotes" if is_cut else "")
        problems.add(path, message, expected=fault.expected, nearest=fault.nearest, offset=fault.column)


def _expressions(section: Section, key: str, expected: str, *, least: int = 1) -> tuple[tuple[str, Expression], ...]:
    entries = section.entries(key, expected, most=FIELDS_MAX, word=FIELD, least=least)
    path = (*section.path, key)
    return tuple((name, read_expression(value, (*path, name), section.problems)) for name, value in entries)


def _read_aggregation(name: str, value: Value, path: Path, problems: Problems) -> Aggregation:
    if not isinstance(value, str):
        problems.add(path, f"is {shown(value)}", expected=f"{one_of(AGGREGATE_FUNCTIONS)}, as in sum(bytes)")
        return Aggregation(name, "count")
    try:
        function, argument = parse_aggregation(value)
    except ExpressionError as error:
        note_faults(error, path, problems)
        return Aggregation(name, "count")
    return Aggregation(name, function, argument)


_READERS: dict[str, tuple[tuple[str, ...], Callable[[Section], OperatorSpec]]] = {
    "filter": (("input", "where"), _filter),
    "project": (("input", "fields"), _project),
    "map": (("input", "set", "drop"), _map),
    "flat_map": (("input", "each", "into"), _flat_map),
    "split": (("input", "routes", "otherwise"), _split),
    "union": (("inputs",), _union),
    "dedupe": (("input", "by", "within"), _dedupe),
    "aggregate": (("input", "by", "window", "emit"), _aggregate),
    "join": (("left", "right", "on", "within", "kind", "emit"), _join),
    "top_k": (("input", "k", "by", "per", "order", "window"), _top_k),
    "python": (("input", "state", "by", "blocking", "timeout", "settings"), _python),
}

_NULL = parse("null")
"""Stands in where an expression could not be read; a flow with problems never runs."""
