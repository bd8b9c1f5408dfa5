"""Aggregates against an oracle that sees all records at once and looks for each window's records one by one."""

import math
import statistics
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.aggregate import Aggregate
from topics import expressions
from topics.flow import specs

Record = tuple[int, dict[str, Any]]
Bounds = tuple[int, int]
Names = tuple[str, ...]

# Groups and arguments: missing, null, wrong types, equal numbers of two types, sums that rounding would spoil.
VALUES: list[dict[str, Any]] = [
    {"k": "a", "x": 1},
    {"k": "a", "x": 0.1},
    {"k": "b", "x": 0.2},
    {"k": "b", "x": -3},
    {"k": "a", "x": None},
    {"k": "a"},
    {"k": "b", "x": "text"},
    {"k": "a", "x": 1.0},
    {"k": "a", "x": 2**53},
    {"k": "b", "x": 1e16},
    {"x": 7},
    {"k": None, "x": 2**62},
    {"k": 1, "x": [1]},
    {"k": 1.0, "x": {"y": 2}},
    {"k": True, "x": True},
    {"k": "1", "x": "tent"},
]

FUNCTIONS = ("sum", "mean", "min", "max", "first", "last", "stddev", "distinct", "count")
EMIT = {"n": specs.Aggregation("n", "count")} | {
    function: specs.Aggregation(function, function, expressions.parse("x")) for function in FUNCTIONS
}

entropy = st.binary(max_size=60)
names = st.one_of(
    st.sampled_from([("n",), ("n", "sum"), tuple(EMIT)]),
    st.lists(st.sampled_from(sorted(EMIT)), min_size=1, max_size=3, unique=True).map(tuple),
)
sizes = st.sampled_from([(5, 5), (1, 1), (10, 5), (10, 4), (9, 6), (12, 3), (7, 6), (12, 5), (40, 10)])
emit_on = st.sampled_from(["close", "change"])


def identity(value: Any) -> str:
    """Equal numbers are equal, true is not 1."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return repr(value)


def place(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def result(function: str, records: list[Record]) -> Any:  # noqa: PLR0911 - one case for each function
    """What `function(x)` is for these records, which are in the order of arrival."""
    if function == "n":
        return len(records)
    present = [(time, record["x"]) for time, record in records if record.get("x") is not None]
    match function:
        case "count":
            return len(present)
        case "sum" | "mean" | "stddev":
            return of_numbers(function, [x for _, x in present if isinstance(x, int | float)])
        case "min" | "max":
            ordered = sorted((x for _, x in present if isinstance(x, int | float | str)), key=place)
            return None if not ordered else ordered[0] if function == "min" else ordered[-1]
        case "first":
            return min(present, key=lambda each: each[0])[1] if present else None
        case "last":
            return max(reversed(present), key=lambda each: each[0])[1] if present else None
    return len({identity(x) for _, x in present})


def of_numbers(function: str, numbers: list[int | float]) -> Any:
    """Sum, mean and stddev in fractions; a sum with floats in it is a float, however round."""
    exact = sum(map(Fraction, numbers))
    is_whole = 0 == sum(Fraction(x) for x in numbers if isinstance(x, float) and abs(x) < 2**53)
    total = int(exact) if is_whole and abs(exact) < 2**63 else float(exact)
    match function:
        case "sum":
            return total
        case "mean":
            return total / len(numbers) if numbers else None
    return float(statistics.stdev(map(Fraction, numbers))) if len(numbers) > 1 else None


def group_of(record: dict[str, Any]) -> Any:
    key = record.get("k")
    return 1 if key == 1.0 and not isinstance(key, bool) else key


def same(expected: dict[str, Any], found: dict[str, Any]) -> bool:
    """Equal, but for the last digit of a square root."""
    if expected.get("stddev") is not None and found["stddev"] is not None:
        if not math.isclose(expected["stddev"], found["stddev"], rel_tol=1e-14):
            return False
        found = found | {"stddev": expected["stddev"]}
    return expected == found and [type(v) is bool for v in expected.values()] == [
        type(v) is bool for v in found.values()
    ]


def fixed_windows(time: int, size: int, hop: int) -> list[Bounds]:
    return [(start, start + size) for start in range(time - size + 1, time + 1) if start % hop == 0]


def sessions(times: list[int], gap: int) -> list[Bounds]:
    bounds: list[Bounds] = []
    for time in sorted(times):
        if bounds and time < bounds[-1][1]:
            bounds[-1] = (bounds[-1][0], time + gap)
        else:
            bounds.append((time, time + gap))
    return bounds


def row(group: Any, names: Names, records: list[Record], bounds: Bounds | None) -> dict[str, Any]:
    marks = {} if bounds is None else {"window_start": bounds[0], "window_end": bounds[1]}
    return {"k": group, **{name: result(name, records) for name in names}, **marks}


def windows_of(records: list[Record], group: Any, window: specs.Window) -> set[Bounds]:
    times = [time for time, value in records if same_group(group_of(value), group)]
    if window.gap_ms is not None:
        return set(sessions(times, window.gap_ms))
    assert window.size_ms is not None
    return {each for time in times for each in fixed_windows(time, window.size_ms, window.hop_ms or window.size_ms)}


def same_group(left: Any, right: Any) -> bool:
    return left == right and type(left) is type(right)


def members(records: list[Record], group: Any, bounds: Bounds) -> list[Record]:
    return [each for each in records if same_group(group_of(each[1]), group) and bounds[0] <= each[0] < bounds[1]]


def closed(records: list[Record], names: Names, window: specs.Window) -> list[dict[str, Any]]:
    """The rows of all windows, by end; the order within is left open here."""
    groups = {(type(group_of(value)), group_of(value)) for _, value in records}
    rows = [
        row(group, names, members(records, group, bounds), bounds)
        for _, group in groups
        for bounds in windows_of(records, group, window)
    ]
    return sorted(rows, key=by_end)


def changes(records: list[Record], names: Names, window: specs.Window | None) -> list[dict[str, Any]]:
    """For each record the rows of its windows, of the records up to it."""
    rows = []
    for i, (time, value) in enumerate(records):
        so_far, group = records[: i + 1], group_of(value)
        if window is None:
            rows.append(row(group, names, [each for each in so_far if same_group(group_of(each[1]), group)], None))
            continue
        for bounds in sorted(windows_of(so_far, group, window)):
            if bounds[0] <= time < bounds[1]:
                rows.append(row(group, names, members(so_far, group, bounds), bounds))
    return rows


def by_end(found: dict[str, Any]) -> tuple[int, int, str, str]:
    return found["window_end"], found["window_start"], type(found["k"]).__name__, repr(found["k"])


def check(streams: SimpleNamespace, drawn: bytes, names: Names, window: specs.Window | None) -> None:
    stream = streams.stream(drawn, VALUES)
    records = [(each.time, each.value) for each in stream.arrivals]
    spec = specs.Aggregate("in", ("k",), tuple(EMIT[name] for name in names), window)
    rows = streams.run(lambda: Aggregate(spec), stream, forgets=window is not None)
    found = [value for value, _, _ in rows]
    if window is not None and window.emit == "close":
        assert [value["window_end"] - 1 for value in found] == [time for _, _, time in rows]
        assert sorted(time for _, _, time in rows) == [time for _, _, time in rows], "windows close in order"
        assert streams.run(lambda: Aggregate(spec), streams.uncut(stream)) == rows, "the order is that of one batch"
        expected, found = closed(records, names, window), sorted(found, key=by_end)
    else:
        expected = changes(records, names, window)
    assert len(expected) == len(found), (expected, found)
    for want, have in zip(expected, found, strict=True):
        assert same(want, have), (want, have)


@settings(max_examples=1200)
@given(drawn=entropy, names=names, size_and_hop=sizes, on=emit_on)
def test_tumbling_and_hopping_aggregates_give_what_their_windows_hold(
    streams: SimpleNamespace, drawn: bytes, names: Names, size_and_hop: tuple[int, int], on: Any
) -> None:
    """Panes, batches, restarts and the order of arrival are our business; a user sees windows and their records."""
    check(streams, drawn, names, specs.Window(size_ms=size_and_hop[0], hop_ms=size_and_hop[1], emit=on))


@settings(max_examples=800)
@given(drawn=entropy, names=names, gap_ms=st.sampled_from([1, 2, 5, 9]), on=emit_on)
def test_session_aggregates_give_chains_of_records_less_than_the_gap_apart(
    streams: SimpleNamespace, drawn: bytes, names: Names, gap_ms: int, on: Any
) -> None:
    """A record out of order may grow a session at its front or join two; the end must look as if it came in order."""
    check(streams, drawn, names, specs.Window(gap_ms=gap_ms, emit=on))


@settings(max_examples=400)
@given(drawn=entropy, names=names)
def test_running_aggregates_give_the_result_so_far_for_each_record(
    streams: SimpleNamespace, drawn: bytes, names: Names
) -> None:
    """Without a window nothing is forgotten, so a restart must bring all of it back."""
    check(streams, drawn, names, None)
