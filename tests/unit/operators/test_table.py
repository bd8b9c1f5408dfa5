"""Tables: what goes into the changelog comes back equal."""

from typing import Any

import pytest
from msgspec.msgpack import Ext

from services.operators.table import Table, encode_key, entries_of


@pytest.mark.parametrize(
    "key",
    ["", "text", 0, -1, 2**70, None, b"\x00", (), ("a",), ("a", 1), (("a", None), (2, (3, b"x"))), (5, (b"a", 2**70))],
)
def test_a_key_comes_back_equal_and_hashable(key: Any) -> None:
    """A key that came back as a list, or as another number, would lose its state in a move."""
    table, other = Table(), Table()
    table.put(key, 1)
    other.restore(entries_of(table.drain()))
    assert {key: 1} == other.data


@pytest.mark.parametrize(
    "value",
    [
        0,
        1.5,
        "x",
        None,
        [1, [2, {"a": None}]],
        {"big": [-(2**80), b"raw"]},
        {"a": {"b": [True]}},
        b"raw",
        {"a function's own": [Ext(5, b"12"), Ext(1, b"no number"), 2**80]},
    ],
)
def test_a_value_comes_back_equal(value: Any) -> None:
    """State is rebuilt from these bytes alone."""
    table, other = Table(), Table()
    table.put("k", value)
    other.restore(entries_of(table.drain()))
    assert {"k": value} == other.data
    assert set() == other.changed


def test_a_drain_tells_each_touched_key_once_with_its_last_value() -> None:
    """A changelog grows with keys, not with records."""
    table = Table()
    table.put("a", 1)
    table.put("a", 2)
    table.put("b", 1)
    table.remove("b")
    assert {encode_key("a"): b"\x02", encode_key("b"): None} == dict(table.drain())
    assert [] == table.drain()


def test_a_tombstone_removes_what_was_restored() -> None:
    """Otherwise closed windows would open again on another host."""
    table = Table()
    table.restore(entries_of([(encode_key("a"), b"\x01")]))
    table.restore(entries_of([(encode_key("b"), b"\x01"), (encode_key("b"), None), (encode_key("never there"), None)]))
    assert {"a": 1} == table.data
    table.restore(entries_of([(encode_key("a"), None)]))
    assert {} == table.data


def test_removing_what_is_not_there_changes_nothing() -> None:
    """A tombstone for an unknown key would be a record for nothing."""
    table = Table()
    table.remove("a")
    assert [] == table.drain()
