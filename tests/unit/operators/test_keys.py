"""Group keys and Kafka keys."""

from typing import Any

import pytest

from services.operators.keys import field_reader, group_reader, group_values, key_bytes

DIFFERENT: list[Any] = [1, True, 0, False, None, "1", "", "true", 1.5, [1], ["1"], [], {}, {"a": 1}, {"a": [1]}, "null"]


def test_different_values_are_different_groups() -> None:
    """Python takes True for 1; a user who groups by such a field does not."""
    keys = group_reader(["f"])([{"f": value} for value in DIFFERENT])
    assert len(DIFFERENT) == len(set(keys))
    assert [(value,) for value in DIFFERENT] == [group_values(key) for key in keys]


def test_a_whole_float_is_the_same_group_as_its_integer() -> None:
    """JSON producers write 1 and 1.0 for the same number, and expressions say they are equal."""
    (one, other) = group_reader(["f"])([{"f": 1}, {"f": 1.0}])
    assert one == other
    assert (1,) == group_values(other)


def test_equal_objects_are_one_group_whatever_the_order_of_their_fields() -> None:
    """Two producers need not agree on an order."""
    one, other = group_reader(["f"])([{"f": {"a": 1, "b": 2}}, {"f": {"b": 2, "a": 1}}])
    assert one == other


def test_several_fields_give_tuples_and_no_field_gives_one_group() -> None:
    """`by: []` puts everything together."""
    values = [{"a": 1, "b": {"c": "x"}}, {"a": True}]
    assert [(1, "x"), (b"true", None)] == group_reader(["a", "b.c"])(values)
    assert [(), ()] == group_reader([])(values)
    assert (True, None) == group_values((b"true", None))


def test_a_dotted_field_is_null_where_the_way_ends_early() -> None:
    """A record with another shape is not an error."""
    values = [{"a": {"b": {"c": 1}}}, {"a": {"b": 2}}, {"a": [1]}, {}, {"a.b.c": 3}]
    assert [1, None, None, None, None] == field_reader("a.b.c")(values)


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        (b"10.0.0.1", ("10.0.0.1",)),
        ("zürich".encode(), ("zürich",)),
        (b"5", (5,)),
        (b"null", (None,)),
        (b'["a",5]', ("a", 5)),
        (b"[]", ()),
    ],
)
def test_kafka_keys_are_what_other_producers_would_send(expected: bytes, values: tuple[Any, ...]) -> None:
    """One string is its plain UTF-8, so that equal keys of others meet ours in one partition."""
    assert expected == key_bytes(values)
