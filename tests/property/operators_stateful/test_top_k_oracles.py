"""Top_k against an oracle that sorts all records of a window."""

import json
from types import SimpleNamespace
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.top_k import TopK
from topics import expressions
from topics.flow import specs

Record = tuple[int, dict[str, Any]]
Order = Literal["desc", "asc"]

VALUES: list[dict[str, Any]] = [
    {"k": "a", "x": 1},
    {"k": "a", "x": 5},
    {"k": "b", "x": 5},
    {"k": "b", "x": 5, "more": "z"},
    {"more": "a", "x": 5, "k": "b"},
    {"k": "b", "x": 2.5},
    {"k": "a", "x": "five"},
    {"k": "a", "x": "four"},
    {"k": "a"},
    {"k": "b", "x": None},
    {"k": "b", "x": [1]},
    {"x": 2**70},
]


def ranked(records: list[dict[str, Any]], k: int, order: Order) -> list[dict[str, Any]]:
    """Sorted by the record first and then, keeping that order among equals, by its value."""
    usable = [record for record in records if isinstance(record.get("x"), int | float | str)]
    usable.sort(key=lambda record: json.dumps(record, sort_keys=True, separators=(",", ":")))
    usable.sort(key=lambda record: (isinstance(record["x"], str), record["x"]), reverse=order == "desc")
    return [record | {"rank": rank} for rank, record in enumerate(usable[:k], start=1)]


def per(record: dict[str, Any], fields: tuple[str, ...]) -> list[Any]:
    return [record.get(field) for field in fields]


def rankings(
    records: list[Record], fields: tuple[str, ...], k: int, order: Order, windows: list[tuple[int, int]]
) -> list[tuple[int, list[dict[str, Any]]]]:
    """Window end and ranking for each window and `per` that has one."""
    found = []
    for start, end in windows:
        inside = [record for time, record in records if start <= time < end]
        groups: list[list[Any]] = []
        for record in inside:
            if per(record, fields) not in groups:
                groups.append(per(record, fields))
        for group in groups:
            ranking = ranked([record for record in inside if per(record, fields) == group], k, order)
            if ranking:
                found.append((end, ranking))
    return found


def split(rows: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, list[dict[str, Any]]]]:
    """Rows in order, cut where a ranking begins."""
    found: list[tuple[int, list[dict[str, Any]]]] = []
    for end, row in rows:
        if row["rank"] == 1:
            found.append((end, []))
        assert found[-1][0] == end
        found[-1][1].append(row)
    return found


def as_bag(found: list[tuple[int, list[dict[str, Any]]]]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in found)


entropy = st.binary(max_size=75)
k_values = st.sampled_from([1, 2, 3, 100])
pers = st.sampled_from([(), ("k",), ("k", "more")])
orders = st.sampled_from(["desc", "asc"])
sizes = st.sampled_from([(5, 5), (12, 4), (9, 6), (7, 3)])


@settings(max_examples=700)
@given(drawn=entropy, fields=pers, order=orders, shape=st.tuples(k_values, sizes))
def test_top_k_ranks_the_records_of_each_window(
    streams: SimpleNamespace, drawn: bytes, fields: tuple[str, ...], order: Order, shape: tuple[int, tuple[int, int]]
) -> None:
    """Only the best of each pane are kept, and ties must not depend on who came first."""
    k, (size, hop) = shape
    stream = streams.stream(drawn, VALUES)
    spec = specs.TopK("in", k, expressions.parse("x"), fields, order, specs.Window(size_ms=size, hop_ms=hop))
    rows = streams.run(lambda: TopK(spec), stream)
    for row, _, time in rows:
        assert (row["window_start"] + size, row["window_end"] - 1) == (row["window_end"], time)
    bare = [
        (row["window_end"], {name: row[name] for name in row if name not in ("window_start", "window_end")})
        for row, _, _ in rows
    ]
    records = [(each.time, each.value) for each in stream.arrivals]
    windows = [(start, start + size) for start in range(-100, 160) if start % hop == 0]
    assert as_bag(rankings(records, fields, k, order, windows)) == as_bag(split(bare))
    assert streams.run(lambda: TopK(spec), streams.uncut(stream)) == rows, "the order is that of one batch"
    assert sorted(end for end, _ in bare) == [end for end, _ in bare], "windows close in order"


@settings(max_examples=500)
@given(drawn=entropy, k=k_values, fields=pers, order=orders)
def test_top_k_without_a_window_ranks_the_rows_of_one_event_time(
    streams: SimpleNamespace, drawn: bytes, k: int, fields: tuple[str, ...], order: Order
) -> None:
    """The rows of a closed window before it all have the event time end - 1, in whatever batches they come."""
    stream = streams.stream(drawn, VALUES)
    spec = specs.TopK("in", k, expressions.parse("x"), fields, order)
    rows = streams.run(lambda: TopK(spec), stream)
    records = [(each.time, each.value) for each in stream.arrivals]
    windows = [(time, time + 1) for time in sorted({time for time, _ in records})]
    found = split([(time + 1, row) for row, _, time in rows])
    assert as_bag(rankings(records, fields, k, order, windows)) == as_bag(found)


@settings(max_examples=400)
@given(drawn=entropy, k=k_values, size=st.sampled_from([4, 15]), order=orders)
def test_top_k_on_change_gives_the_new_ranking_for_each_record_that_changes_it(
    streams: SimpleNamespace, drawn: bytes, k: int, size: int, order: Order
) -> None:
    """A record that is not among the best says nothing; one that is brings the whole list: readers need no memory."""
    stream = streams.stream(drawn, VALUES)
    spec = specs.TopK("in", k, expressions.parse("x"), (), order, specs.Window(size_ms=size, emit="change"))
    rows = streams.run(lambda: TopK(spec), stream)
    expected: list[tuple[int, dict[str, Any]]] = []
    for i, each in enumerate(stream.arrivals):
        start = each.time // size * size
        inside = [other.value for other in stream.arrivals[:i] if start <= other.time < start + size]
        new = ranked([*inside, each.value], k, order)
        if new != ranked(inside, k, order):
            expected += [(each.time, row | {"window_start": start, "window_end": start + size}) for row in new]
    assert expected == [(time, row) for row, _, time in rows]
