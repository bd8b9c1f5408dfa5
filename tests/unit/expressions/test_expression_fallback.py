"""Which form of a compiled function runs: a clean stream gets the fast one, any other one soon stops paying for it."""

from collections.abc import Sequence
from typing import Any

import pytest

from topics.expressions import compile_column, compile_mask, parse
from topics.expressions.fallback import Record, with_fallback


class Forms:
    """Three forms that write down who was called; the fast one fails on a batch that holds a None."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.run = with_fallback(self.fast, self.careful, self.safe)

    def fast(self, records: Sequence[Any]) -> list[Any]:
        self.calls.append("fast")
        if None in records:
            raise KeyError(records)
        return list(records)

    def careful(self, records: Sequence[Any]) -> tuple[list[Any], int]:
        self.calls.append("careful")
        return list(records), list(records).count(None)

    def safe(self, records: Sequence[Any]) -> list[Any]:
        self.calls.append("safe")
        return list(records)


CLEAN: list[Any] = [1] * 20
FEW: list[Any] = [None] + [1] * 19
MANY: list[Any] = [None] * 20


def calls(batches: list[list[Any]]) -> str:
    """The forms that ran, by their first letters."""
    forms = Forms()
    for batch in batches:
        assert batch == forms.run(batch)
    return "".join(call[0] for call in forms.calls)


def test_a_clean_stream_runs_on_the_fast_form_alone() -> None:
    """The inner loop of the product."""
    assert "fffff" == calls([CLEAN] * 5)


def test_after_a_fault_the_fast_form_waits_twice_as_long_each_time() -> None:
    """A stream with a null in each batch must not run nearly everything twice."""
    assert "fccfcccfcccccfc" == calls([FEW] * 11)


def test_where_most_records_fail_the_safe_form_takes_over() -> None:
    """An exception for each record is slower than asking first."""
    assert "fcsfcssfcssssfc" == calls([MANY] * 11)


def test_a_stream_that_gets_clean_returns_to_the_fast_form() -> None:
    """One bad minute must not slow a flow for good."""
    assert "fccfff" == calls([FEW, *[CLEAN] * 4])
    assert "fccfcccffccf" == calls([FEW, FEW, FEW, *[CLEAN] * 3, FEW, CLEAN, CLEAN])


def test_other_exceptions_are_not_swallowed() -> None:
    """A bug of ours must be seen, not turned into nulls."""

    def broken(records: Sequence[Record]) -> list[Any]:
        raise AssertionError

    with pytest.raises(AssertionError):
        with_fallback(broken, lambda records: ([], 0), lambda records: [])([])


def test_results_do_not_depend_on_the_neighbours_in_a_batch() -> None:
    """Batches are cut by chance: how they are cut must not show."""
    records: list[Record] = [{"a": 2, "b": 1}, {}, {"a": "x", "b": 1}, {"a": None}, {"a": 3, "b": 0}, {"a": 4, "b": 2}]
    for text in ("a / b", "a > b and b > 0", "coalesce(a, b)", "not (a > 2)", "[a * b, a]", "lower(a)"):
        column, mask = compile_column(parse(text)), compile_mask(parse(text))
        one_by_one = [compile_column(parse(text))([record])[0] for record in records]
        for size in range(1, len(records) + 1):
            batches = [records[start : start + size] for start in range(0, len(records), size)]
            assert one_by_one == [value for batch in batches for value in column(batch)], (text, size)
            assert [v is True for v in one_by_one] == [value for batch in batches for value in mask(batch)], (
                text,
                size,
            )
