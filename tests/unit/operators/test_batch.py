"""Batches: columns that stay in step."""

import pytest

from services.operators.batch import DERIVED, FEW, Batch, merge


def numbered(count: int, first: int = 0) -> Batch:
    numbers = range(first, first + count)
    return Batch([{"n": n} for n in numbers], [b"%d" % n for n in numbers], [n * 10 for n in numbers], numbers, 7)


def offsets(batch: Batch) -> list[int]:
    """The offsets, after a look that the other columns are still beside them."""
    assert [{"n": n} for n in batch.offsets] == batch.values
    assert [b"%d" % n for n in batch.offsets] == batch.keys
    assert [n * 10 for n in batch.offsets] == batch.times
    return list(batch.offsets)


def test_a_mask_selects_in_all_columns() -> None:
    """A key or time that slips by one row gives results that look right and are not."""
    assert [0, 2] == offsets(numbered(3).select([True, False, True]))
    assert [] == offsets(numbered(2).select([False, False]))


@pytest.mark.parametrize("gone", [[], [0], [1, 3], list(range(FEW + 5))])
def test_few_and_many_records_can_be_left_out(gone: list[int]) -> None:
    """Two ways for two sizes must agree."""
    assert [n for n in range(50) if n not in gone] == offsets(numbered(50).without(gone))


def test_records_that_went_different_ways_return_to_their_order() -> None:
    """The order after a split and a union must not depend on the batching."""
    assert [0, 1, 2, 3, 4] == offsets(merge([numbered(2, 3), numbered(3, 0)]))


def test_records_without_an_origin_follow_each_other() -> None:
    """There is nothing to sort by: results of windows have no offset."""
    derived = Batch.derived([{"n": 9}], [None], [90], 8)
    merged = merge([numbered(1), derived])
    assert ([{"n": 0}, {"n": 9}], [0, DERIVED], 8) == (merged.values, merged.offsets, merged.watermark_ms)


def test_a_merge_of_nothing_still_carries_the_last_watermark() -> None:
    """Time moves on also when every way was empty."""
    assert Batch.empty(9) == merge([Batch.empty(3), Batch.empty(9)])
    assert 9 == merge([numbered(1), Batch.empty(9)]).watermark_ms
