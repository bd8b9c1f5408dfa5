"""A table that also knows what belongs to each flow."""

from types import SimpleNamespace
from typing import Any

from services.registry.flow_table import FlowTable


def of(flow: str) -> Any:
    return SimpleNamespace(flow=flow)


def test_what_belongs_to_a_flow_follows_every_change() -> None:
    """Else somebody would go on with a partition that the registry has no longer, or has given to another flow."""
    first, second, third = of("f"), of("f"), of("g")
    table: FlowTable[int, Any] = FlowTable({1: first, 2: second})
    assert {1: first, 2: second} == table.of("f")
    table[2] = third
    assert {1: first} == table.of("f")
    assert {2: third} == table.of("g")
    table[1] = second
    assert {1: second} == table.of("f")
    assert [1, 2] == list(table), "in the order in which they came"
    assert second is table.pop(1)
    assert table.pop(1, None) is None
    assert {} == table.of("f")
    table.clear()
    assert {} == table == table.of("g")
