"""Bad expressions and the message, column and nearest word that each of them gets."""

import pytest

from topics.expressions import ExpressionError, FieldType, parse, parse_aggregation

SCHEMA: dict[str, FieldType] = {
    "proto": "string",
    "bytes": "int",
    "ratio": "float",
    "flag": "bool",
    "ts": "time",
    "tags": "list",
    "user": "object",
    "left": "object",
    "left.id": "string",
    "left.amount": "float",
    "extra": "any",
}

SYNTAX = [
    ("", 0, "expected a value, found the end", None),
    ("   ", 3, "expected a value, found the end", None),
    ("a +", 3, "expected a value, found the end", None),
    ("(a", 2, "expected ')', found the end", None),
    ("a)", 1, "expected an operator or the end, found ')'", None),
    ("lower(a", 7, "expected ',' or ')', found the end", None),
    ("lower(a b)", 8, "expected ',' or ')', found 'b'", None),
    ("[1, 2", 5, "expected ',' or ']', found the end", None),
    ("a[1", 3, "expected ']', found the end", None),
    ("a.", 2, "expected a field's name, found the end", None),
    ("a.1", 1, "expected an operator or the end, found 0.1", None),
    ("proto = 'tcp'", 6, "expected an operator or the end, found '='; did you mean ==?", "=="),
    ("a === b", 2, "expected an operator or the end, found '==='; did you mean ==?", "=="),
    ("a <> b", 2, "expected an operator or the end, found '<>'; did you mean !=?", "!="),
    ("a && b", 2, "expected an operator or the end, found '&&'; did you mean and?", "and"),
    ("a || b", 2, "expected an operator or the end, found '||'; did you mean or?", "or"),
    ("!a", 0, "expected a value, found '!'; did you mean not?", "not"),
    ("a ** 2", 2, "expected an operator or the end, found '**'; did you mean power(a, b)?", "power(a, b)"),
    ("a ? b", 2, "expected an operator or the end, found '?'; did you mean if(condition, then, else)?", None),
    ("a if b else c", 2, "expected an operator or the end, found 'if'; did you mean if(condition, then, else)?", None),
    ("a nad b", 2, "expected an operator or the end, found 'nad'; did you mean and?", "and"),
    ("a AND b", 2, "write and instead of AND (a field of this name: `AND`)", "and"),
    ("a == None", 5, "write null instead of None (a field of this name: `None`)", "null"),
    ("a == True", 5, "write true instead of True (a field of this name: `True`)", "true"),
    ("a is 1", 5, "expected 'null', found 1", None),
    ("a is not", 8, "expected 'null', found the end", None),
    ("a in", 4, "expected a value, found the end", None),
    ("a not b", 2, "expected an operator or the end, found 'not'", None),
    ("'open", 0, "the text is not closed: a ' is missing at its end", None),
    ("``", 0, "a field's name can't be empty", None),
    (r"'\x41'", 1, r"""unknown escape \x; known are \n \t \r \\ \' \" \` \uXXXX""", None),
    (r"'\ud800'", 0, "half of a surrogate pair is no character", None),
    ("5 apples", 2, "expected an operator or the end, found 'apples'", None),
    ("5x", 0, "'5x' is neither a number nor a duration (whole number and unit: ms, s, m, h, d, w)", None),
    ("1.5s", 0, "'1.5s' is neither a number nor a duration (whole number and unit: ms, s, m, h, d, w)", None),
    ("9223372036854775808", 0, "the number is too large; whole numbers go to 9223372036854775807", None),
    ("1e999", 0, "the number is too large; whole numbers go to 9223372036854775807", None),
    ("größe > 1", 2, "'\\xf6' has no meaning here; a name with such letters goes in `backticks`", None),
    ("a; b", 1, "';' has no meaning here; a name with such letters goes in `backticks`", None),
]


@pytest.mark.parametrize(("text", "column", "message", "nearest"), SYNTAX, ids=[text for text, *_ in SYNTAX])
def test_bad_syntax_says_where_and_what(text: str, column: int, message: str, nearest: str | None) -> None:
    """The user sees the column and what would have been right there."""
    with pytest.raises(ExpressionError) as raised:
        parse(text)
    assert [(column, message)] == [(problem.column, problem.message) for problem in raised.value.problems]
    assert nearest is None or nearest == raised.value.nearest


CERTAIN_FAULTS = [
    # fields
    ("byts > 0", [(0, "there is no field byts; did you mean bytes?")]),
    ("left.amont > 0", [(5, "there is no field left.amont; did you mean amount?")]),
    ("left.zzz", [(5, "there is no field left.zzz (expected one of amount, id)")]),
    ("proto.name", [(0, "field access .name needs object, found string")]),
    ("proto['x']", [(0, "field access .x needs object, found string")]),
    ("bytes[0]", [(0, "[...] needs list or object or string, found int")]),
    ("tags[ratio / 2]", [(11, "the index of a list needs whole number, found float")]),
    # arithmetic
    ("bytes + proto", [(8, "+ needs number, found string; join text with concat(a, b)")]),
    ("-proto", [(1, "- needs number, found string")]),
    ("tags * 2", [(0, "* needs number, found list")]),
    ("bytes - null", [(8, "- needs number, found null")]),
    # comparison
    ("bytes > '5'", [(6, "> compares int with string, which have no order; convert one of them")]),
    ("proto == 5", [(6, "== compares string with int, which are never equal; convert one of them")]),
    ("bytes > null", [(8, "> needs number or list or string, found null; use 'is null'")]),
    (
        "user < user",
        [(0, "< needs number or list or string, found object"), (7, "< needs number or list or string, found object")],
    ),
    ("0 < user < 9", [(4, "< needs number or list or string, found object")]),
    # logic
    ("bytes and flag", [(0, "and needs bool, found int")]),
    ("not proto", [(4, "not needs bool, found string")]),
    ("if(bytes, 1, 2)", [(3, "the condition of if() needs bool, found int")]),
    # membership
    ("proto in 5", [(9, "in needs list or object or string, found int")]),
    ("proto in [1, 2]", [(6, "string is never in a list of int; convert one of them")]),
    ("5 in proto", [(0, "in a string needs string, found int")]),
    # functions
    ("lenght(proto)", [(0, "there is no function lenght; did you mean length?")]),
    ("LOWER(proto)", [(0, "there is no function LOWER; did you mean lower?")]),
    ("lower(bytes)", [(6, "lower() needs string, found int")]),
    ("lower()", [(0, "lower() does not take 0 arguments: lower(text)")]),
    ("replace(proto, 'a')", [(0, "replace() does not take 2 arguments: replace(text, old, new)")]),
    ("min(1)", [(0, "min() does not take 1 arguments: min(a, b, ...)")]),
    ("if(flag, 1)", [(0, "if() does not take 2 arguments: if(condition, then, else) or if(a, x, b, y, else)")]),
    ("coalesce(1)", [(0, "coalesce() does not take 1 arguments: coalesce(a, b, ...)")]),
    (
        "truncate(ts, 'month')",
        [(13, "truncate() needs a duration such as '10s' (units ms, s, m, h, d, w), found 'month'")],
    ),
    ("truncate(ts, 0)", [(13, "truncate() needs a duration above 0 such as 1m, found 0")]),
    (
        "format_time(ts, '%Q')",
        [(16, "format_time() needs a layout of text and %Y %m %d %j %H %M %S %L %a %b %%, found '%Q'")],
    ),
    ("sum(bytes)", [(0, "there is no function sum")]),
    # all in one go
    (
        "byts > 0 and lowr(proto) == 'a' and proto + 1 > 2",
        [
            (0, "there is no field byts; did you mean bytes?"),
            (13, "there is no function lowr; did you mean lower?"),
            (36, "+ needs number, found string; join text with concat(a, b)"),
        ],
    ),
]


@pytest.mark.parametrize(("text", "problems"), CERTAIN_FAULTS, ids=[text for text, _ in CERTAIN_FAULTS])
def test_a_certain_fault_is_an_error_before_the_flow_runs(text: str, problems: list[tuple[int, str]]) -> None:
    """A filter that can only be null would drop every record in silence."""
    with pytest.raises(ExpressionError) as raised:
        parse(text, schema=SCHEMA)
    assert problems == [(problem.column, problem.message) for problem in raised.value.problems]


FINE = [
    ("extra + 1", "float"),
    ("extra.deep[0]", "any"),
    ("user.anything > 1", "bool"),
    ("left.amount * 2", "float"),
    ("bytes * 2", "int"),
    ("bytes / 2", "float"),
    ("ts + 5m", "time"),
    ("ts - ts", "int"),
    ("truncate(ts, 1h)", "time"),
    ("flag + 1", "int"),
    ("if(flag, 1, null)", "int"),
    ("if(flag, 1, 'a')", "any"),
    ("coalesce(proto, 'none')", "string"),
    ("proto == null", "bool"),
    ("flag == 1", "bool"),
    ("bytes in [1, 'a']", "bool"),
    ("max(bytes, ratio)", "float"),
    ("split(proto, '.')", "list"),
    ("left", "object"),
    ("null", "any"),
]


@pytest.mark.parametrize(("text", "expected"), FINE, ids=[text for text, _ in FINE])
def test_what_may_be_right_passes_with_its_type(text: str, expected: FieldType) -> None:
    """The checker refuses only what is certain, and hands the type on to the next operator's schema."""
    assert expected == parse(text, schema=SCHEMA).type


def test_without_a_schema_any_field_may_be_anything() -> None:
    """Most topics have no schema."""
    assert "bool" == parse("whatever.it[0].is > 1").type


def test_a_wanted_type_is_checked() -> None:
    """A `where` that is a number can't be meant."""
    assert "bool" == parse("bytes > 1", schema=SCHEMA, want="bool").type
    assert "any" == parse("extra", schema=SCHEMA, want="bool").type
    with pytest.raises(ExpressionError, match="the result needs bool, found int"):
        parse("bytes + 1", schema=SCHEMA, want="bool")


def test_aggregations_have_a_function_and_an_argument() -> None:
    """`emit` of an aggregate is read here, so that its errors have columns too."""
    function, argument = parse_aggregation("sum(bytes * 8)", schema=SCHEMA)
    assert argument is not None
    assert ("sum", "bytes * 8", frozenset({"bytes"}), "int") == (
        function,
        argument.text,
        argument.fields,
        argument.type,
    )
    assert ("count", None) == parse_aggregation("count()")
    assert ("count", parse("proto")) == parse_aggregation("count(proto)", schema=SCHEMA)
    assert "min" == parse_aggregation("min(proto)", schema=SCHEMA)[0]


BAD_AGGREGATIONS = [
    ("bytes", 0, r"expected an aggregation such as count\(\) or sum\(field\)"),
    ("summ(bytes)", 0, r"summ\(\) is no aggregation; did you mean sum\?"),
    ("lower(proto)", 0, r"lower\(\) is no aggregation"),
    ("sum()", 0, r"sum\(\) does not take 0 arguments: sum\(expression\)"),
    ("count(bytes, proto)", 0, r"count\(\) does not take 2 arguments: count\(\) or count\(expression\)"),
    ("count(byts)", 6, "there is no field byts; did you mean bytes"),
    ("sum(bytes) + 1", 11, "expected an aggregation"),
    ("sum(proto)", 4, r"sum\(\) needs number, found string"),
    ("sum(max(byts))", 4, r"max\(\) does not take 1 arguments"),
    ("sum(byts)", 4, "there is no field byts; did you mean bytes"),
]


@pytest.mark.parametrize(("text", "column", "message"), BAD_AGGREGATIONS, ids=[text for text, *_ in BAD_AGGREGATIONS])
def test_a_bad_aggregation_says_where_and_what(text: str, column: int, message: str) -> None:
    """Columns count in the whole text, also inside the argument."""
    with pytest.raises(ExpressionError, match=message) as raised:
        parse_aggregation(text, schema=SCHEMA)
    assert column == raised.value.column
