"""YAML as flows use it: plain values with places, nothing that grows or runs."""

import pytest

from topics.flow.document import character_columns, read_document, resolve
from topics.flow.problems import Place, Problem, Problems


def read(text: str):
    problems = Problems()
    document = read_document(text.encode(), problems)
    assert [] == problems.found
    return document


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("7", 7),
        ("-7", -7),
        ("007", 7),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("on", "on"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("2026-11-16", "2026-11-16"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("9" * 31, "9" * 31),
    ],
)
def test_plain_scalars_mean_what_yaml_1_2_says(plain: str, expected: object):
    """`on` is a key of joins and `no` a country: YAML 1.1 would make them truth values."""
    assert (type(expected), expected) == (type(resolve(plain)), resolve(plain))


def test_every_key_and_value_has_its_line_and_column():
    """This is what all messages point with."""
    document = read("a:\n  b: [x, {c: 1}]\n")

    assert (Place(2, 3), Place(2, 6)) == (document.spots["a", "b"].key, document.spots["a", "b"].value)
    assert Place(2, 7) == document.spots["a", "b", 0].value
    assert (Place(2, 11), Place(2, 14)) == (
        document.spots["a", "b", 1, "c"].key,
        document.spots["a", "b", 1, "c"].value,
    )


def test_a_byte_order_mark_is_no_part_of_the_text():
    """Editors on some systems write one."""
    problems = Problems()

    assert {"flow": "demo"} == read_document(b"\xef\xbb\xbfflow: demo\n", problems).value
    assert [] == problems.found


def test_a_problem_inside_something_unknown_points_to_what_is_around_it():
    """A path may go deeper than the file does."""
    document = read("operators:\n  tcp: {op: filter}\n")

    assert Place(2, 3) == document.locate(Problem(("operators", "tcp", "where"), "")).place


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("abc", [0, 1, 2, 3]),
        ("'abc'", [1, 2, 3, 4]),
        ("'a''b'", [1, 2, 4, 5]),
        ('"a\\"b"', [1, 2, 4, 5]),
        ('"\\u00e9x"', [1, 7, 8]),
        ('"\\x41\\n"', [1, 5, 7]),
        ("''", [1]),
    ],
)
def test_characters_of_a_scalar_are_found_in_the_text_as_written(raw: str, expected: list[int]):
    """So an error inside an expression has its caret at the right place, quotes and escapes aside."""
    assert expected == character_columns(raw)


@pytest.mark.parametrize("style", ["|", ">"])
def test_a_problem_in_a_text_of_several_lines_points_to_its_start(style: str):
    """There is no one line to count columns in."""
    document = read(f"where: {style}\n  a >\n  b\n")

    assert Place(1, 8) == document.locate(Problem(("where",), "", offset=4)).place


def test_the_second_of_two_equal_keys_is_noted_and_the_first_one_kept():
    """The rest of the file is still read and checked."""
    problems = Problems()
    document = read_document(b"a: {x: 1}\na: {y: 2}\nb: 3\n", problems)

    assert {"a": {"x": 1}, "b": 3} == document.value
    assert ["key 'a' is given twice (first on line 1); keep one"] == [problem.message for problem in problems.found]
    assert Place(1, 8) == document.locate(Problem(("a", "x"), "")).place
