"""What operators keep, for how long, and what they write to their changelogs: the costs a user pays without seeing."""

from typing import Any

import pytest

from services.operators.aggregate import Aggregate
from services.operators.batch import BEGINNING_MS, END_MS, Batch
from services.operators.dedupe import Dedupe
from services.operators.join import Join
from services.operators.operator import Operator
from services.operators.rolling import Rolling
from services.operators.summary import Summary
from services.operators.table import entries_of
from services.operators.top_k import TopK
from topics import expressions
from topics.flow import specs

COUNT = (specs.Aggregation("n", "count"),)
SUM = specs.Aggregation("s", "sum", expressions.parse("x"))
TUMBLING = specs.Window(size_ms=10)
HOPPING = specs.Window(size_ms=10, hop_ms=2)
SESSION = specs.Window(gap_ms=10)


def aggregate(window: specs.Window | None, emit: tuple[specs.Aggregation, ...] = COUNT) -> Aggregate:
    return Aggregate(specs.Aggregate("in", ("k",), emit, window))


def batch(*records: tuple[int, Any], watermark_ms: int = BEGINNING_MS) -> Batch:
    values = [{"k": key, "x": 1} for _, key in records]
    return Batch(values, [None] * len(records), [time for time, _ in records], range(len(records)), watermark_ms)


def moved(operator: Operator, fresh: Operator) -> Operator:
    for name, table in operator.tables.items():
        fresh.restore(name, entries_of(table.drain()))
    return fresh


@pytest.mark.parametrize("window", [TUMBLING, HOPPING, SESSION])
def test_a_closed_window_stays_closed_for_replayed_records_after_a_restart(window: specs.Window) -> None:
    """At-least-once repeats records; without the watermark in the state a window would come again, nearly empty."""
    operator = aggregate(window)
    assert operator.process(batch((3, "a"), (4, "a"), watermark_ms=30), 0).values
    restarted = moved(operator, aggregate(window))
    out = restarted.process(batch((3, "a"), (4, "a"), watermark_ms=30), 0)
    assert ([], 30) == (out.values, out.watermark_ms)
    assert restarted.process(Batch.empty(END_MS), 0).values == []


@pytest.mark.parametrize("window", [TUMBLING, HOPPING, SESSION])
def test_a_changelog_gets_only_the_groups_that_a_batch_touched(window: specs.Window) -> None:
    """A thousand open groups must not be written again because one of them counted a record."""
    operator = aggregate(window)
    operator.process(batch(*[(1, f"k{i}") for i in range(1000)]), 0)
    (table,) = [table for name, table in operator.tables.items() if name != "watermark"]
    assert 1000 == len(table.drain())
    operator.process(batch((1, "k7"), (1, "k7")), 0)
    assert 1 == len(table.drain())
    operator.process(Batch.empty(0), 0)
    assert [] == table.drain()


def test_a_record_changes_one_pane_however_many_windows_it_is_in() -> None:
    """20 minutes by 10 seconds are 120 windows: with a state for each, a record would cost 120 updates."""
    operator = aggregate(specs.Window(size_ms=1_200_000, hop_ms=10_000))
    operator.process(batch((5_000, "a")), 0)
    assert 1 == len(operator.tables["panes"].data)
    assert 120 == len(operator.process(Batch.empty(END_MS), 0))


def test_closing_looks_at_nothing_that_stays_open() -> None:
    """A watermark that closes nothing must cost the same with a million open groups as with none."""
    operators: list[Operator] = [
        aggregate(TUMBLING),
        aggregate(SESSION),
        aggregate(specs.Window(size_ms=10, emit="change")),
        Dedupe(specs.Dedupe("in", ("k",), 10)),
        TopK(specs.TopK("in", 1, expressions.parse("x"), ("k",), "desc", TUMBLING)),
    ]
    for operator in operators:
        operator.process(batch(*[(5, f"k{i}") for i in range(1000)]), 0)
        for name, table in operator.tables.items():
            if name != "watermark":
                table.data = Untouchable(table.data)
        assert [] == operator.process(Batch.empty(9), 0).values


class Untouchable(dict[Any, Any]):
    """A dictionary in which nobody may look around."""

    def _forbidden(self, *_: Any) -> Any:
        raise AssertionError("looked at what stays open")

    __iter__ = items = keys = values = __getitem__ = get = _forbidden


def test_state_that_came_and_went_between_two_drains_leaves_a_tombstone() -> None:
    """The last drain may have written an earlier value, which must not come back."""
    operator = aggregate(TUMBLING)
    operator.process(batch((1, "a")), 0)
    panes = operator.tables["panes"]
    ((key, value),) = panes.drain()
    assert value is not None
    operator.process(batch((2, "a"), watermark_ms=10), 0)
    assert [(key, None)] == panes.drain()


def test_a_lonely_record_waits_until_no_partner_can_come() -> None:
    """At watermark 15 a right record at 15 may still come; at 16 none that is within 10 of 5 can."""
    join = Join(specs.Join("l", "r", (("k", "k"),), 10, "left"))
    join.process(batch((5, "a"), watermark_ms=5), 0)
    join.process(Batch.empty(15), 0)
    assert [] == join.process(Batch.empty(15), 1).values
    join.process(Batch.empty(16), 0)
    out = join.process(Batch.empty(16), 1)
    assert ([{"k": "a", "left": {"k": "a", "x": 1}, "right": None}], [5], 6) == (
        out.values,
        out.times,
        out.watermark_ms,
    )
    assert {} == join.tables["left"].data


def test_a_join_waits_for_the_slower_input() -> None:
    """The faster one's watermark says nothing about what the other may still bring."""
    join = Join(specs.Join("l", "r", (("k", "k"),), 10, "inner"))
    join.process(batch((5, "a"), watermark_ms=1_000), 0)
    (row,) = join.process(batch((8, "a"), watermark_ms=8), 1).values
    assert {"k": "a", "left": {"k": "a", "x": 1}, "right": {"k": "a", "x": 1}} == row


def window_at(rolling: Rolling, starts: list[int], panes: dict[int, Any]) -> Any:
    """The groups of the window that has these panes."""
    list(rolling.move_to(starts, panes))
    return rolling.merged


def test_rolling_windows_subtract_what_they_lose() -> None:
    """Merging all panes again for each window would cost size / hop times as much."""
    summary = Summary(("k",), (*COUNT, SUM))
    rolling = Rolling(summary)
    panes = {start: {"a": [1, 10 + start]} for start in range(5)}
    merges: list[Any] = []
    merge = summary.merge

    def counted(left: Any, right: Any) -> None:
        merges.append(right)
        merge(left, right)

    summary.merge = counted  # type: ignore[method-assign]
    assert {"a": [3, 33]} == window_at(rolling, [0, 1, 2], panes)
    assert {"a": [3, 36]} == window_at(rolling, [1, 2, 3], panes)
    assert {"a": [3, 39]} == window_at(rolling, [2, 3, 4], panes)
    assert 5 == len(merges)


def test_a_ranking_keeps_no_more_than_k_records() -> None:
    """Memory is bounded by k, not by the number of records."""
    top = TopK(specs.TopK("in", 3, expressions.parse("x"), (), "desc", TUMBLING))
    values = [{"x": i} for i in range(100)]
    top.process(Batch(values, [None] * 100, [1] * 100, range(100), 0), 0)
    ((_, states),) = top.tables["panes"].data.items()
    assert [99, 98, 97] == [record["x"] for _, record in states]


def test_dedupe_remembers_a_record_for_as_long_as_a_copy_can_come() -> None:
    """At watermark 15 a copy at 15 may still come, 10 after the record at 5; at 16 none can."""
    once = Dedupe(specs.Dedupe("in", ("k",), 10))
    once.process(batch((5, "a"), watermark_ms=15), 0)
    assert [] == once.process(batch((15, "a"), watermark_ms=15), 0).values
    once.process(Batch.empty(16), 0)
    assert {} == once.tables["kept"].data
    assert [16] == once.process(batch((16, "a"), watermark_ms=16), 0).times
