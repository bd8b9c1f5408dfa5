"""Joins against an oracle that tries every left record with every right record."""

from collections import Counter
from types import SimpleNamespace
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.join import Join
from topics import expressions
from topics.flow import specs

Record = tuple[int, dict[str, Any]]
Kind = Literal["inner", "left", "outer"]

# `id` of the left meets `ref` of the right; null and missing meet nothing, 1 meets 1.0 but not true.
VALUES: list[dict[str, Any]] = [
    {"id": "a", "ref": "a", "v": 1},
    {"id": "b", "ref": "a", "v": 2},
    {"id": "a", "ref": "b", "v": 3},
    {"id": 1, "ref": 1.0},
    {"id": True, "ref": 1},
    {"id": None, "ref": None},
    {},
    {"id": [1, {"x": 2}], "ref": [1, {"x": 2}]},
    {"id": "a", "ref": "a", "v": 1},
]


def meet(left: dict[str, Any], right: dict[str, Any]) -> bool:
    one, other = left.get("id"), right.get("ref")
    return one is not None and one == other and (one is True) == (other is True)


def pairs(lefts: list[Record], rights: list[Record], within_ms: int, kind: Kind) -> list[tuple[int, Any, Any]]:
    """Event time, left record, right record of every row."""
    rows: list[tuple[int, Any, Any]] = []
    lonely_rights = list(range(len(rights)))
    for time, left in lefts:
        is_lonely = True
        for i, (other_time, right) in enumerate(rights):
            if meet(left, right) and abs(time - other_time) <= within_ms:
                rows.append((max(time, other_time), left, right))
                is_lonely = False
                if i in lonely_rights:
                    lonely_rights.remove(i)
        if is_lonely and kind in ("left", "outer"):
            rows.append((time, left, None))
    if kind == "outer":
        rows += [(rights[i][0], None, rights[i][1]) for i in lonely_rights]
    return rows


def counted(rows: list[tuple[int, Any, Any]]) -> Counter[str]:
    return Counter(map(repr, rows))


@settings(max_examples=1000)
@given(
    drawn=st.binary(max_size=75),
    within_ms=st.sampled_from([0, 1, 4, 15, 60]),
    kind=st.sampled_from(["inner", "left", "outer"]),
)
def test_a_join_gives_every_pair_once_and_every_lonely_record_once(
    streams: SimpleNamespace, drawn: bytes, within_ms: int, kind: Kind
) -> None:
    """Whichever side comes first, however late within lateness, and wherever the state moved in between."""
    stream = streams.stream(drawn, VALUES, ports=2)
    spec = specs.Join("l", "r", (("id", "ref"),), within_ms, kind)
    rows = streams.run(lambda: Join(spec), stream, ports=2)
    lefts, rights = ([(each.time, each.value) for each in stream.arrivals if each.port == port] for port in (0, 1))
    found = [(time, value["left"], value["right"]) for value, _, time in rows]
    assert counted(pairs(lefts, rights, within_ms, kind)) == counted(found)
    for value, _, _ in rows:
        side, name = (value["left"], "id") if value["left"] is not None else (value["right"], "ref")
        assert side.get(name) == value["id"], "the `on` field has its left name, also where only the right one is there"


@settings(max_examples=150)
@given(drawn=st.binary(max_size=60))
def test_a_join_with_emit_gives_the_fields_it_computes(streams: SimpleNamespace, drawn: bytes) -> None:
    """A row without a partner has null on the other side, which expressions pass on as null."""
    stream = streams.stream(drawn, VALUES, ports=2)
    emit = (("sum", expressions.parse("left.v + right.v")), ("left", expressions.parse("left.v")))
    spec = specs.Join("l", "r", (("id", "ref"),), 10, "left", emit)
    lefts, rights = ([(each.time, each.value) for each in stream.arrivals if each.port == port] for port in (0, 1))
    expected = []
    for _, left, right in pairs(lefts, rights, 10, "left"):
        numbers = [left.get("v"), (right or {}).get("v")]
        expected.append({"sum": None if None in numbers else sum(numbers), "left": left.get("v")})
    found = [value for value, _, _ in streams.run(lambda: Join(spec), stream, ports=2)]
    assert Counter(map(repr, expected)) == Counter(map(repr, found))
