"""Canonical text, equality, fields and paths of expressions: what identities, pruning and plain keys are built on."""

import pytest

from topics.expressions import parse

SPELLINGS = [
    ("a", ["a", " a ", "(a)", "((a))", "`a`"]),
    ("a == 'x' and b > 0", ['a=="x" and b>0', "(a == 'x') and (b > 0)", "( a == '\\u0078' ) and b>0"]),
    ("a and b and c", ["a and (b and c)", "(a and b) and c"]),
    ("a or b and c", ["a or (b and c)"]),
    ("(a or b) and c", ["( a or b ) and c"]),
    ("not a and b", ["(not a) and b"]),
    ("not (a and b)", ["not(a and b)"]),
    ("not a == b", ["not (a == b)"]),
    ("a - b - c", ["(a - b) - c"]),
    ("a - (b - c)", ["a-(b-c)"]),
    ("a * (b + c) % d", ["(a * (b + c)) % d"]),
    ("-a * b", ["(-a) * b"]),
    ("-(a * b)", ["-(a*b)"]),
    ("2 - -5", ["2--5", "2 - (-5)"]),
    ("--a", ["-(-a)"]),
    ("0 < a and a < 9", ["0 < a < 9"]),
    ("a is not null", ["not a is null", "not (a is null)", "a  is  not  null"]),
    ("a not in [1, 2]", ["not a in [1,2,]"]),
    ("(a == b) == c", ["(a == b) == c"]),
    ("a.b.c", ["a['b'].c", "a . b . c", "a.`b`['c']"]),
    ("a.`odd name`", ["a['odd name']", 'a["odd name"]']),
    ("a.in", ["a['in']", "a.`in`"]),
    ("`in`", ["`in`"]),
    ("`it's`", ["`it\\'s`"]),
    ("a['']", ['a[""]']),
    ("60000", ["1m", "60s", "60_000"]),
    ("1500.0", ["1.5e3", "1500.0"]),
    ("1e+16", ["1e16", "10000000000000000.0"]),
    ("'it\\'s'", ['"it\'s"', "'it\\'s'"]),
    ("'\\n\\\\'", ['"\\n\\\\"']),
    ("if(a, 1, 2)", ["if (a,1,2,)"]),
]


@pytest.mark.parametrize(("canonical", "spellings"), SPELLINGS, ids=[canonical for canonical, _ in SPELLINGS])
def test_one_meaning_has_one_text(canonical: str, spellings: list[str]) -> None:
    """Equal operators of different flows are found by their identities, whoever typed them."""
    assert {canonical} == {parse(spelling).text for spelling in [canonical, *spellings]}
    assert 1 == len({parse(spelling) for spelling in spellings})


def test_different_meanings_are_different_values() -> None:
    """1, 1.0, true and '1' print alike in places but don't compute alike."""
    assert 4 == len({parse(text) for text in ("1", "1.0", "true", "'1'")})
    assert parse("a.b") != parse("`a.b`")


@pytest.mark.parametrize(
    ("text", "fields", "paths"),
    [
        ("1 + 2", set(), set()),
        ("a + b.c", {"a", "b.c"}, {("a",), ("b", "c")}),
        ("tags[0].name", {"tags"}, {("tags",)}),
        ("tags[i] in user.groups", {"tags", "i", "user.groups"}, {("tags",), ("i",), ("user", "groups")}),
        ("coalesce(a, lower(b)) == if(c, d, e)", set("abcde"), {("a",), ("b",), ("c",), ("d",), ("e",)}),
        ("`odd name`.x", {"odd name.x"}, {("odd name", "x")}),
        ("`a.b` > a.b", {"a.b"}, {("a.b",), ("a", "b")}),
    ],
)
def test_an_expression_tells_what_it_reads(text: str, fields: set[str], paths: set[tuple[str, ...]]) -> None:
    """What nobody reads need not be decoded."""
    assert (fields, paths) == (parse(text).fields, parse(text).paths)


def test_a_plain_field_has_a_path() -> None:
    """A projection of plain fields keeps their partitioning."""
    assert ("a", "b", "c d") == parse("a.b.`c d`").path
    assert None is parse("a[0]").path
    assert None is parse("a + 1").path
