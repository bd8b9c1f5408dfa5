"""What expressions mean, by example: the table a user could read as the manual."""

import math
from typing import Any

import pytest

from topics.expressions import compile_column, compile_mask, compile_object, compile_record, compile_tuples, parse

RECORD: dict[str, Any] = {
    "proto": "tcp",
    "bytes": 1500,
    "ratio": 0.5,
    "flag": True,
    "nothing": None,
    "tags": ["web", "edge"],
    "user": {"name": "Ada", "odd name": 7, "in": 1, "visits": [{"page": "/"}]},
    "odd name": "odd",
    "é": "accent",
    "ts": 1_769_860_859_123,  # 2026-01-31T12:00:59.123Z, a Saturday
    "huge": 2**62,
    "giant": 10**400,
    "null": "a field called null",
}

MEANINGS: list[tuple[str, Any]] = [
    # arithmetic: exact on integers, null on anything that is no number
    ("1 + 2 * 3 - 4", 3),
    ("(1 + 2) * 3", 9),
    ("7 / 2", 3.5),
    ("7 // 2", 3),
    ("-7 // 2", -4),
    ("-7 % 3", 2),
    ("7.5 % 2", 1.5),
    ("--bytes", 1500),
    ("bytes / 0", None),
    ("bytes // 0", None),
    ("bytes % 0", None),
    ("ratio % 0.0", None),
    ("bytes + nothing", None),
    ("bytes + missing", None),
    ("bytes + proto", None),
    ("proto + proto", None),
    ("tags + tags", None),
    ("proto * 3", None),
    ("3 * tags", None),
    ("proto % bytes", None),
    ("flag + 1", 2),
    ("huge * huge / huge", 2.0**62),
    ("huge * huge // huge", 2**62),
    ("huge * 4", 2.0**64),
    ("[huge * 4, huge]", [2.0**64, 2**62]),
    ("giant * 1", None),
    ("giant", 10**400),
    ("giant + 0.5", None),
    ("coalesce(giant * 1, 'none')", "none"),
    ("giant * giant > giant", True),
    # comparison: equality of anything, order within numbers, texts and lists
    ("proto == 'tcp'", True),
    ("proto == 1", False),
    ("1 == 1.0", True),
    ("flag == 1", True),
    ("tags == ['web', 'edge']", True),
    ("nothing == null", True),
    ("missing == null", True),
    ("missing == nothing", True),
    ("missing != 1", True),
    ("missing > 1", None),
    ("proto > 1", None),
    ("proto < 'udp'", True),
    ("tags < ['x']", True),
    ("tags < [1]", None),
    ("1000 < bytes <= 1500", True),
    ("1000 < bytes < 1500", False),
    ("1 < missing < 3", None),
    # logic with three values
    ("flag and proto == 'tcp'", True),
    ("flag and missing", None),
    ("not flag and missing", False),
    ("missing and not flag", False),
    ("flag or missing", True),
    ("missing or flag", True),
    ("missing or not flag", None),
    ("not missing", None),
    ("not (flag and missing)", None),
    ("not (missing and not flag)", True),
    ("not (missing or flag)", False),
    ("not (missing or not flag)", None),
    ("not bytes", None),
    ("bytes and flag", None),
    # null
    ("missing is null", True),
    ("nothing is null", True),
    ("bytes is not null", True),
    ("bytes / 0 is null", True),
    ("coalesce(missing, nothing, bytes, 1)", 1500),
    ("coalesce(missing, nothing)", None),
    ("coalesce(bytes / 0, -1)", -1),
    ("coalesce(coalesce(missing, null), 5)", 5),
    ("coalesce(user.name, 'nobody')", "Ada"),
    ("coalesce(user.age, 'unknown')", "unknown"),
    # membership
    ("proto in ['tcp', 'udp']", True),
    ("proto not in ['tcp', 'udp']", False),
    ("missing in ['tcp', null]", True),
    ("missing in ['tcp']", False),
    ("tags in ['web']", False),
    ("'web' in tags", True),
    ("'we' in tags[0]", True),
    ("'name' in user", True),
    ("1 in bytes", None),
    ("1 in missing", None),
    ("bytes in [proto, bytes]", True),
    # choice: only true chooses
    ("if(bytes > 1000, 'big', 'small')", "big"),
    ("if(missing, 'yes', 'no')", "no"),
    ("if(bytes > 9000, 'jumbo', bytes > 1000, 'big', 'small')", "big"),
    # fields
    ("user.name", "Ada"),
    ("user.visits[0].page", "/"),
    ("user['name']", "Ada"),
    ("user.`odd name`", 7),
    ("user.in", 1),
    ("`odd name`", "odd"),
    ("`é`", "accent"),
    ("`null`", "a field called null"),
    ("tags[-1]", "edge"),
    ("tags[2]", None),
    ("tags[ratio]", None),
    ("tags.name", None),
    ("proto.name", None),
    ("proto[0]", "t"),
    ("user[0]", None),
    ("missing.name[0].x", None),
    # literals
    ("10s + 5m + 2h + 1d + 1w + 3ms", 10_000 + 300_000 + 7_200_000 + 86_400_000 + 604_800_000 + 3),
    ("1_000_000", 1_000_000),
    ("1.5e3", 1500.0),
    (".5", 0.5),
    ("'it\\'s'", "it's"),
    ('"tab\\t\\u00e9"', "tab\té"),
    ("[1, 'a', null, true,]", [1, "a", None, True]),
    # text
    ("lower('AbC')", "abc"),
    ("upper('ß')", "SS"),
    ("trim('  a ')", "a"),
    ("length(proto)", 3),
    ("length(tags)", 2),
    ("length(bytes)", None),
    ("contains(proto, 'c')", True),
    ("contains(tags, 'web')", None),
    ("starts_with(proto, 'tc')", True),
    ("ends_with(proto, 'tc')", False),
    ("substring('abcdef', 2)", "cdef"),
    ("substring('abcdef', 2, 3)", "cde"),
    ("substring('abcdef', -2)", "ef"),
    ("substring('abcdef', 9)", ""),
    ("substring('abcdef', 0, -1)", None),
    ("replace('a-b-c', '-', '')", "abc"),
    ("replace('abc', '', 'x')", None),
    ("split('10.0.0.1', '.')[0]", "10"),
    ("split('abc', '')", None),
    ("concat(proto, ':', bytes, ' ', flag, ' ', ratio)", "tcp:1500 true 0.5"),
    ("concat(proto, missing)", None),
    # numbers
    ("abs(-3)", 3),
    ("round(2.5)", 2),
    ("round(3.14159, 2)", 3.14),
    ("round(1, -1000000000)", None),
    ("floor(-0.5)", -1),
    ("ceil(0.5)", 1),
    ("floor(1e300)", 1e300),
    ("min(3, 1.5, 2)", 1.5),
    ("max('a', 'b')", "b"),
    ("max(bytes, proto)", None),
    ("min(bytes, missing)", None),
    ("sqrt(9)", 3.0),
    ("sqrt(-1)", None),
    ("log(0)", None),
    ("log(8, 2)", 3.0),
    ("power(2, 10)", 1024.0),
    ("power(10, 1000)", None),
    ("exp(0)", 1.0),
    # time
    ("year(ts)", 2026),
    ("month(ts)", 1),
    ("day(ts)", 31),
    ("weekday(ts)", 6),
    ("hour(ts)", 12),
    ("minute(ts)", 0),
    ("second(ts)", 59),
    ("hour(-1)", 23),
    ("year(1e300)", None),
    ("truncate(ts, 1m)", 1_769_860_800_000),
    ("truncate(ts, '1m')", 1_769_860_800_000),
    ("truncate(-1, 1s)", -1000),
    ("truncate(ts, nothing)", None),
    ("parse_time('2026-01-31T12:00:59.123Z')", 1_769_860_859_123),
    ("parse_time('2026-01-31T13:00:59.123+01:00')", 1_769_860_859_123),
    ("parse_time('2026-01-31')", 1_769_817_600_000),
    ("parse_time('yesterday')", None),
    ("format_time(ts)", "2026-01-31T12:00:59.123Z"),
    ("format_time(ts, '%a %d %b %Y, %H:%M (day %j) 100%%')", "Sat 31 Jan 2026, 12:00 (day 031) 100%"),
    # conversion
    ("int(' -12 ')", -12),
    ("int(3.9)", 3),
    ("int('3.9')", None),
    ("int('1_000')", None),
    ("int('99999999999999999999')", None),
    ("int(true)", 1),
    ("int(proto)", None),
    ("float('2.5e1')", 25.0),
    ("float('nan')", None),
    ("string(1.0)", "1.0"),
    ("string(flag)", "true"),
    ("string(tags)", None),
    ("bool('True')", True),
    ("bool(0)", False),
    ("bool('yes')", None),
]


@pytest.mark.parametrize(("text", "expected"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_an_expression_means(text: str, expected: Any) -> None:
    """The same value, of the same type, in every compiled form; a mask is true only where the value is true."""
    expression = parse(text)
    results = [
        compile_record(expression)(RECORD),
        compile_column(expression)([RECORD])[0],
        compile_object([("v", expression)])([RECORD])[0]["v"],
        compile_tuples([expression])([RECORD])[0][0],
    ]
    assert [(type(expected), expected)] * 4 == [(type(result), result) for result in results]
    assert [expected is True] == compile_mask(expression)([RECORD])


def test_nan_is_never_equal_and_never_raises() -> None:
    """Floats follow IEEE 754: the codec decides what a NaN looks like outside."""
    record = {"x": math.nan}
    assert [[False], [True], [False]] == [compile_column(parse(t))([record]) for t in ("x == x", "x != x", "x < 1")]
    assert [None] == compile_column(parse("round(x)"))([record])


def test_inputs_are_never_changed() -> None:
    """Operators share the records of a batch."""
    record = {"a": [1], "b": {"c": 1}}
    compile_object([("x", parse("a")), ("y", parse("b.c + 1"))])([record])
    assert {"a": [1], "b": {"c": 1}} == record


def test_an_empty_batch_gives_an_empty_result() -> None:
    """A poll may bring nothing."""
    assert [] == compile_mask(parse("a > 1"))([])
