"""From a group back to the fields and the key that a reader sees."""

from typing import Any

import pytest

from services.operators.keys import group_reader
from services.operators.rows import Rows, group_key


def group(paths: list[str], value: dict[str, Any]) -> Any:
    (found,) = group_reader(paths)([value])
    return found


@pytest.mark.parametrize("value", ["text", 7, 1.5, True, None, [1, {"x": None}], {"deep": {"er": 1}}, 2**70, ""])
def test_a_field_comes_out_as_it_went_in(value: Any) -> None:
    """Groups are made of what can be hashed and stored; a reader must not see that."""
    for paths in (["a"], ["a", "b"]):
        row = Rows(paths).fields(group(paths, {"a": value}))
        assert value == row["a"]
        assert type(value) is type(row["a"])


def test_a_dotted_field_comes_out_nested_so_that_its_name_reads_it_again() -> None:
    """The next operator may be grouped by the same name."""
    paths = ["user.id", "user.home.city", "n"]
    record = {"user": {"id": 7, "home": {"city": "Bern"}, "other": 1}, "n": 2}
    row = Rows(paths).fields(group(paths, record))
    assert {"user": {"id": 7, "home": {"city": "Bern"}}, "n": 2} == row
    assert group(paths, record) == group(paths, row)


@pytest.mark.parametrize("value", [None, 5, "text", {"b": 2}])
def test_a_field_and_a_field_inside_it_may_both_be_asked_for(value: Any) -> None:
    """Odd, and no reason to fail where the outer one is no object."""
    for paths in (["a", "a.b"], ["a.b", "a"]):
        record = {"a": value}
        assert group(paths, record) == group(paths, Rows(paths).fields(group(paths, record)))


def test_the_key_of_one_string_is_its_text_and_of_several_fields_their_json() -> None:
    """A plain key is what other producers would send for the same thing."""
    assert "Zürich".encode() == group_key(group(["a"], {"a": "Zürich"}))
    assert b'["x",null,1.5]' == group_key(group(["a", "b", "c"], {"a": "x", "c": 1.5}))
    assert b"[]" == group_key(group([], {}))
