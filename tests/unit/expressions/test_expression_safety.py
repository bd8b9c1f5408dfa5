"""Nothing that a flow's author or a record's author writes reaches Python, runs long or grows large."""

import time
from typing import Any

import pytest

from topics.expressions import ExpressionError, compile_column, compile_mask, compile_record, parse
from topics.expressions.emitter import NAMESPACE
from topics.expressions.limits import MAX_DEPTH, MAX_LENGTH, MAX_PARTS, MAX_PRODUCTS, MAX_TEXT

NOT_IN_THE_LANGUAGE = [
    "__import__('os').system('true')",
    "eval('1')",
    "exec('x = 1')",
    "open('/etc/passwd')",
    "getattr(a, 'b')",
    "globals()",
    "a.lower()",
    "a.b(1)",
    "(lower)(a)",
    "[x for x in a]",
    "[1][lambda: 1]",
    "lambda x: x",
    "(a := 1)",
    "f'{a}'",
    "f'{__import__(\"os\")}'",
    "b'bytes'",
    "r'raw'",
    "{'a': 1}",
    "{1, 2}",
    "a[1:2]",
    "a[...]",
    "*a",
    "a @ b",
    "a ** 9",
    "a << 9",
    "a | b",
    "~a",
    "a; b",
    "a # comment",
    "a if b else c",
    "a is b",
    "yield a",
    "await a",
    "import os",
    "raw_lower(a)",
    "safe_lower(a)",
    "narrowed(a)",
    "0x10",
    "0b1",
    "1j",
    "\uff41 + 1",  # full-width letter
    "\uff11 + 1",  # full-width digit
    "\u0430 == 1",  # Cyrillic letter
    "a\u200b == 1",  # zero-width space
    "a\u00a0== 1",  # no-break space
    "a == \u2018x\u2019",  # typographic quotes
    "\u202ea == 1",  # right-to-left override
    "a\x00b",
    "'\ud800'",
]


@pytest.mark.parametrize("text", NOT_IN_THE_LANGUAGE)
def test_python_is_out_of_reach(text: str) -> None:
    """A flow file is data from a stranger."""
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize("name", ["__class__", "__dict__", "__globals__", "get", "record", "records", "kept_1"])
def test_attributes_and_our_own_names_are_just_fields_that_are_not_there(name: str) -> None:
    """A dot reads a record's field, never a Python attribute or a variable of the generated code."""
    for text in (name, f"a.{name}", f"a.b.{name}[0]", f"a['{name}']"):
        assert [None] == compile_column(parse(text))([{"a": {"b": "text"}}]), text
    assert [1] == compile_column(parse(name))([{name: 1}])


def test_generated_code_sees_no_builtins() -> None:
    """Should a name ever slip through, it finds nothing."""
    assert {} == NAMESPACE["__builtins__"]
    assert not {"eval", "exec", "open", "getattr", "__import__", "compile", "type"} & set(NAMESPACE)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 2000,
        "(" * 500 + "a" + ")" * 500,
        "[" * 500 + "]" * 500,
        "-" * 1900 + "a",
        "not " * 400 + "a",
        "a" + "[0]" * 500,
        "a" + ".b" * 900,
        "lower(" * 200 + "a" + ")" * 200,
        "a" + " + a" * 400,
        "a" + " < a" * 400,
        "if(a, " * 150 + "1" + ", 2)" * 150,
    ],
    ids=lambda text: text[:8],
)
def test_deep_nesting_is_refused_quickly(text: str) -> None:
    """Python's own parser and compiler would crash or crawl; the limits hold while the tree grows."""
    started = time.process_time()
    with pytest.raises(ExpressionError, match="too large: at most"):
        parse(text)
    assert time.process_time() - started < 1


def test_chained_comparisons_cannot_double_the_tree_at_each_level() -> None:
    """The middle of a chain stands in the tree twice: nested 60 deep that would be 2 to the 60."""
    text = "a"
    for _ in range(20):
        text = f"(0 < {text} < 1)"
    with pytest.raises(ExpressionError, match="at most 1000 parts"):
        parse(text)


def test_the_limits_leave_room_for_people() -> None:
    """What is just inside a limit parses, compiles and runs."""
    wide = " or ".join(f"a == {i}" for i in range(140))
    assert len(wide) < MAX_LENGTH
    assert [True] == compile_mask(parse(wide))([{"a": 139}])
    deep = "(" * (MAX_DEPTH - 1) + "a" + ")" * (MAX_DEPTH - 1)
    assert [1] == compile_column(parse(deep))([{"a": 1}])
    tall = "-" + "+".join(["a"] * (MAX_DEPTH - 2))
    assert [(MAX_DEPTH - 4)] == compile_column(parse(tall))([{"a": 1}])


@pytest.mark.parametrize(
    ("opening", "middle", "closing"),
    [
        ("if(a, ", "a", ", 2)"),
        ("if(", "a", ", a, b)"),
        ("coalesce(c, ", "a", ")"),
        ("[", "a", "]"),
        ("not ", "a", ""),
        ("(a or not ", "a", ")"),
        ("a[", "0", "]"),
        ("min(1, ", "b", ")"),
        ("(b - ", "b", ")"),
        ("(", "a", " is null)"),
    ],
)
def test_the_deepest_tree_of_each_kind_compiles(opening: str, middle: str, closing: str) -> None:
    """Our limits must lie below those of Python's compiler."""
    levels = 30 if "or not" in opening else 60  # a bracket and a not are two levels
    expression = parse(opening * levels + middle + closing * levels)
    assert 1 == len(compile_column(expression)([{"a": True, "b": 1}]))
    assert 1 == len(compile_mask(expression)([{"a": True, "b": 1}]))


def test_a_long_text_is_refused_before_it_is_read() -> None:
    """A gigabyte of text costs no more than its length."""
    with pytest.raises(ExpressionError, match=f"at most {MAX_LENGTH} characters are allowed"):
        parse("a" * 10_000_000)


def test_products_are_counted() -> None:
    """Integers are exact, so each multiplication may add a factor's digits."""
    assert parse("*".join(["a"] * (MAX_PRODUCTS + 1)))
    with pytest.raises(ExpressionError, match=f"at most {MAX_PRODUCTS} multiplications"):
        parse("*".join(["a"] * (MAX_PRODUCTS + 2)))


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("*".join(["a"] * (MAX_PRODUCTS + 1)), {"a": 10**4000}),
        ("round(a, b)", {"a": 1, "b": -(10**9)}),
        ("power(a, a)", {"a": 10**4000}),
        ("concat(a, a, a, a, a, a)", {"a": "x" * (MAX_TEXT // 4)}),
        ("replace(replace(replace(a, 'x', a), 'x', a), 'x', a)", {"a": "x" * 1000}),
        ("format_time(a, b)", {"a": 1, "b": "%999999999Y"}),
        ("int(a)", {"a": "9" * 100_000}),
        ("float(a)", {"a": "9" * 100_000 + "x"}),
        ("parse_time(a)", {"a": "2" * 1_000_000}),
        ("a * b", {"a": "x" * 1000, "b": 10**9}),
        ("a % b", {"a": "%0999999999d", "b": 1}),
        ("string(a * a)", {"a": 10**4000}),
        ("truncate(a, b)", {"a": 1, "b": "9" * 100_000 + "s"}),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_hostile_record_gives_null_in_no_time(text: str, record: dict[str, Any]) -> None:
    """What could fill the memory or take minutes in Python is null here."""
    started = time.process_time()
    assert compile_record(parse(text))(record) is None
    assert time.process_time() - started < 2


def test_split_keeps_the_rest_in_its_last_part() -> None:
    """A record of commas alone must not become a million texts."""
    (parts,) = compile_column(parse("split(a, ',')"))([{"a": "x," * 5_000}])
    assert MAX_PARTS == len(parts)
    assert parts[-1].startswith("x,x,")


def test_values_nested_too_deeply_to_compare_give_null() -> None:
    """Python raises RecursionError there, which must not end a segment."""
    records = []
    for _ in range(2):
        nested: list[Any] = []
        for _ in range(50_000):
            nested = [nested]
        records.append(nested)
    record = {"a": records[0], "b": records[1]}
    assert [None] == compile_column(parse("a == b"))([record])
    assert [None] == compile_column(parse("a < b"))([record])
    assert [False] == compile_mask(parse("a in [b]"))([record])
