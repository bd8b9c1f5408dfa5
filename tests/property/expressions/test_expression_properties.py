"""Compiled expressions agree with the oracle, never raise, and have one canonical text, whatever the records hold."""

import contextlib
import itertools
import math
import random
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topics.expressions import (
    Expression,
    ExpressionError,
    compile_column,
    compile_mask,
    compile_object,
    compile_record,
    compile_tuples,
    compile_update,
    parse,
)
from topics.expressions.assembly import batch_function
from topics.expressions.fast import FastEmitter
from topics.expressions.functions import FAULTS, FUNCTIONS
from topics.expressions.safe import SafeEmitter
from topics.expressions.tree import Tree

Record = dict[str, Any]
Oracle = Callable[[Tree, Record], Any]
pytestmark = pytest.mark.filterwarnings("error::SyntaxWarning")  # Python's compiler finds the generated code odd
quick = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

# Records: every JSON-like value in every field, or no field at all.
NUMBERS = (0, 1, -2, 3, 2**53 + 1, 2**63 - 1, -(2**63), 2**64, 10**400, 1_700_000_000_123, 253_402_300_799_999)
FLOATS = (0.0, -0.0, 0.5, 2.5, -1.5, 1e308, math.inf, -math.inf, math.nan, 1.7e12)
TIMES = ("2026-01-31T12:00:00+01:00", "2026-01-31", "2026-01-31T12:00:00.123456Z")
TEXTS = ("", "a", "A", "ab", "b a", " 12 ", "-7", "2.5e1", "true", "1_0", "nan", "²", "ß", *TIMES)
OBJECTS = ({}, {"x": 1}, {"x": None}, {"y": {"x": "a"}}, {"odd name": 2.5}, {"x": [1], "y": {"x": 2}})
LISTS = ([], [1], [None], ["a", 1], [[1], {"x": 1}], [2.5, True], [math.nan])
VALUES = (None, True, False, *NUMBERS, *FLOATS, *TEXTS, *OBJECTS, *LISTS)


def made_records(seed: int) -> list[Record]:
    """Twenty records in which any field may be absent or anything. One draw each would take most of the test's time."""
    rng = random.Random(seed)
    return [{name: rng.choice(VALUES) for name in "abcd" if rng.random() < 0.8} for _ in range(20)]


Slots = msgspec.defstruct("Slots", [(name, Any, None) for name in ("a", "b", "c", "d", "missing")])


def with_slots(records: list[Record]) -> list[Any]:
    """The same records as a decoder makes them for who reads them by name."""
    return [Slots(**record) for record in records]


RECORDS = st.integers(0, 2**32).map(made_records)

# Texts of expressions, built by the kind that a place asks for, because the parser refuses what can only be null:
# n number, t text, c condition, f field, v any value.
SCRAPS = st.text("ab1s()[],.+-*/%<=!'`\\ ", max_size=30)
LEAVES = {
    "f": ["a", "b", "c", "d", "a.x", "b.y.x", "c[0]", "d[-1]", "a.`odd name`", "c[b]", "missing"],
    "n": ["0", "1", "2", "-1", "0.5", "1e300", "10s", "9223372036854775807", *["{f}"] * 6],
    "t": ["''", "'a'", '"A"', "'it\\'s'", "' '", "'\\u00df'", "'12'", *["{f}"] * 6],
    "c": ["true", "false", *["{f}"] * 3],
    "v": ["{f}", "null"],
}
MATHS = ("abs", "round", "floor", "ceil", "sqrt", "exp", "log", "int", "float")
CLOCK = ("year", "month", "day", "weekday", "hour", "minute", "second")
BRANCHES = {
    "f": ["{f}"],
    "n": [
        *(f"({{n}} {op} {{n}})" for op in ("+", "-", "*", "/", "//", "%")),
        *(f"{name}({{n}})" for name in (*MATHS, *CLOCK)),
        *(f"{name}({{n}}, {{n}})" for name in ("min", "max", "log", "power", "round", "coalesce", "truncate")),
        *(f"{name}({{t}})" for name in ("length", "parse_time", "int", "float")),
        *("-{n}", "round({n}, 1)", "truncate({n}, 60000)", "if({c}, {n}, {n})"),
    ],
    "t": [
        *(f"{name}({{t}})" for name in ("lower", "upper", "trim", "string")),
        *("string({n})", "format_time({n})", "substring({t}, {n})", "substring({t}, {n}, 2)", "substring({t}, 1, {n})"),
        *("concat({t}, {n})", "concat({t}, {t})", "replace({t}, {t}, {t})", "split({t}, {t})[0]", "min({t}, {t})"),
        *("if({c}, {t}, {t})", "if({c}, {t}, {c}, {t}, null)", "coalesce({t}, {t})"),
    ],
    "c": [
        *(f"({{n}} {op} {{n}})" for op in ("<", "<=", ">", ">=", "==", "!=")),
        *(f"({{t}} {op} {{t}})" for op in ("<", "<=", ">", ">=", "==", "!=")),
        *("({f} == {f})", "({f} < {f})", "({n} < {n} <= {n})", "(not {c})", "({c} and {c} and {c})", "({c} or {c})"),
        *("({v} is null)", "({v} is not null)", "({v} == null)", "({f} in {f})", "({f} not in [{n}, {t}])"),
        *("({f} in [1, 'a', null, true, 2.5])", "({t} in {t})", "bool({n})", "bool({t})", "if({c}, {c}, {c})"),
        *("contains({t}, {t})", "starts_with({t}, {t})", "ends_with({t}, {t})", "coalesce({c}, {c})"),
    ],
    "v": ["{n}", "{t}", "{c}", "[{n}, {t}]", "if({c}, {n}, {t})", "coalesce({f}, {v})", "max({f}, {f})"],
}


@st.composite
def expression_texts(draw: st.DrawFn, kind: str = "v", depth: int = 3) -> str:
    """A text of this kind, at most so deep."""
    templates = LEAVES[kind] + (BRANCHES[kind] * 3 if depth else [])
    pieces = re.split(r"\{(\w)\}", draw(st.sampled_from(templates[::-1])))
    inner = [draw(expression_texts(kind, depth - (depth > 0))) for kind in pieces[1::2]]
    return "".join(piece + text for piece, text in zip(pieces[::2], [*inner, ""], strict=True))


EXPRESSIONS = expression_texts()


def same(left: Any, right: Any) -> bool:
    """Equal in type and value, all the way down; NaN is NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return repr(left) == repr(right)


def accepted(text: str) -> Expression | None:
    """The expression, or None if some part of it was found to be null for ever."""
    try:
        return parse(text)
    except ExpressionError:
        return None


@settings(quick, max_examples=250)
@given(EXPRESSIONS, RECORDS)
def test_every_compiled_form_agrees_with_the_oracle(oracle: Oracle, text: str, records: list[Record]) -> None:
    """One meaning: whichever form an operator uses, a record gives the same value, and no record can break a batch."""
    expression = accepted(text)
    if expression is None:
        return
    expected = [oracle(expression.tree, record) for record in records]
    column = compile_column(expression)
    for _ in range(4):  # the fast form at first; after a fault the careful and the safe one
        assert same(expected, column(records))
        assert same(expected, column(with_slots(records)))
    assert same(expected, list(map(compile_record(expression), records)))
    for form in (records, with_slots(records)):
        assert same([value is True for value in expected], compile_mask(expression)(form))


SHAPES = [
    *(
        f"a {op} b"
        for op in ("+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or")
    ),
    *("not (a and b)", "not (a or b)", "a is null or b", "-a", "a[b]", "a[0]", "a.x", "if(a, b, 1)", "coalesce(a, b)"),
    *("[a * 2, b]", "a * 2.0", "2 * a", "a + 1", "coalesce(a * b, 'none')", "coalesce(coalesce(a, null), b)"),
    *(f"{name}(a)" for name, function in FUNCTIONS.items() if function.accepts(1)),
    *(f"{name}(a, b)" for name, function in FUNCTIONS.items() if function.accepts(2) and name != "format_time"),
    *("replace(a, b, a)", "substring(a, 1, b)", "min(a, b, 2)", "truncate(a, 1m)"),
]


@pytest.mark.parametrize("text", SHAPES)
def test_every_operation_agrees_with_the_oracle_on_every_pair_of_values(oracle: Oracle, text: str) -> None:
    """Random trees seldom bring two texts to one plus; here every operation meets every two kinds of value."""
    expression = parse(text)
    records: list[Record] = [{"a": a, "b": b} for a in VALUES for b in VALUES]
    expected = [oracle(expression.tree, record) for record in records]
    column = compile_column(expression)
    assert same(expected, column(records)), "careful form"
    assert same(expected, column(records)), "careful or safe form"
    for form in (records, with_slots(records)):
        assert same([value is True for value in expected], compile_mask(expression)(form))


@settings(quick, max_examples=40)
@given(EXPRESSIONS, EXPRESSIONS, RECORDS)
def test_forms_over_several_expressions_agree_with_columns(text: str, other: str, records: list[Record]) -> None:
    """Keys, projections and maps are columns side by side: compiling them into one loop must not change a value."""
    first, second = accepted(text), accepted(other)
    if first is None or second is None:
        return
    pairs = list(zip(compile_column(first)(records), compile_column(second)(records), strict=True))
    named = [("v", first), ("a", second)]
    assert same(pairs, compile_tuples([first, second])(records))
    for form in (records, with_slots(records)):
        assert same([{"v": v, "a": a} for v, a in pairs], compile_object(named)(form))
    updated = [{**record, "v": v, "a": a} for record, (v, a) in zip(records, pairs, strict=True)]
    assert same(updated, compile_update(named)(records))
    without = [{name: value for name, value in record.items() if name != "b"} for record in updated]
    assert same(without, compile_update(named, drop=["b", "v"])(records))


@settings(quick, max_examples=100)
@given(EXPRESSIONS, RECORDS)
def test_the_fast_form_equals_the_safe_form_wherever_it_does_not_raise(text: str, records: list[Record]) -> None:
    """Which form ran depends on the other records of a batch; results must not."""
    expression = accepted(text)
    if expression is None:
        return
    for emitted in ("leaving", "truth"):
        fast = batch_function(getattr(FastEmitter(), emitted)(expression.tree))
        safe = batch_function(getattr(SafeEmitter(), emitted)(expression.tree))
        for record in records:
            try:
                result = fast([record])
            except FAULTS:
                continue
            assert same(safe([record]), result)


@settings(quick, max_examples=100)
@given(EXPRESSIONS)
def test_canonical_text_is_a_fixed_point_with_the_same_tree(text: str) -> None:
    """Identities are hashes of this text: one meaning must not have two, nor one text two meanings."""
    expression = accepted(text)
    if expression is None:
        return
    again = parse(expression.text)
    assert expression.text == again.text
    assert expression.tree == again.tree
    assert (expression.fields, expression.type) == (again.fields, again.type)


@settings(quick, max_examples=100)
@given(st.text(max_size=40) | SCRAPS)
def test_any_text_gives_an_expression_or_an_expression_error(text: str) -> None:
    """A user's typing mistake must end in a message with a column inside the text, never in a traceback."""
    try:
        problems = parse(text) and ()
    except ExpressionError as error:
        problems = error.problems
    assert all(0 <= problem.column <= len(text) for problem in problems)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_gives_a_value_or_a_fault_and_never_null(name: str) -> None:
    """Anything else raised would stop a segment, and the fast form leaves out tests for null behind a function."""
    for arguments in (arguments for count in (1, 2) for arguments in itertools.product(VALUES, repeat=count)):
        if FUNCTIONS[name].accepts(len(arguments)):
            with contextlib.suppress(*FAULTS):
                assert FUNCTIONS[name].call(*arguments) is not None
