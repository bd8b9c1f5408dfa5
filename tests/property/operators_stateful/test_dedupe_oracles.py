"""Dedupe against an oracle that looks back at every record that was kept."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.dedupe import Dedupe
from topics.flow import specs

VALUES: list[dict[str, Any]] = [
    {"id": "a", "n": 1},
    {"id": "b", "n": 2},
    {"id": "a", "n": 3},
    {"id": 1},
    {"id": 1.0},
    {"id": True},
    {"id": None},
    {"other": 1},
    {"id": {"deep": [1]}},
]


def key(value: dict[str, Any]) -> tuple[bool, Any]:
    return value.get("id") is True, value.get("id")


def kept(records: list[tuple[int, dict[str, Any]]], within_ms: int) -> list[tuple[int, dict[str, Any]]]:
    result: list[tuple[int, dict[str, Any]]] = []
    for time, value in records:
        if not any(key(value) == key(other) and abs(time - at) <= within_ms for at, other in result):
            result.append((time, value))
    return result


@settings(max_examples=900)
@given(drawn=st.binary(max_size=75), within_ms=st.sampled_from([0, 1, 5, 20, 500]))
def test_dedupe_keeps_the_first_of_each_key_within_its_time(
    streams: SimpleNamespace, drawn: bytes, within_ms: int
) -> None:
    """What was forgotten too early lets a copy through, what is forgotten too late swallows a new record."""
    stream = streams.stream(drawn, VALUES)
    spec = specs.Dedupe("in", ("id",), within_ms)
    found = [(time, value) for value, _, time in streams.run(lambda: Dedupe(spec), stream)]
    assert kept([(each.time, each.value) for each in stream.arrivals], within_ms) == found
