"""Rows put together by name: the same as one would find by hand, whatever the order and the sizes."""

import numpy as np
import pytest

from services.modelling.groups import Groups

NAMES = ["b", "a", "c", "b", "b", "a"]
VALUES = np.array([[1.0, 9.0], [2.0, 0.0], [3.0, 5.0], [4.0, 7.0], [5.0, 8.0], [6.0, np.nan]])


def test_rows_of_a_name_are_added_and_compared() -> None:
    """Names are sorted; what is not known of one stays with it."""
    groups = Groups(NAMES)
    assert (["a", "b", "c"], [1, 0, 2, 1, 1, 0]) == (groups.names, groups.of.tolist())
    np.testing.assert_array_equal([[8.0, np.nan], [10.0, 24.0], [3.0, 5.0]], groups.add(VALUES))
    np.testing.assert_array_equal([[6.0, np.nan], [5.0, 9.0], [3.0, 5.0]], groups.most(VALUES))
    np.testing.assert_array_equal([6, 5, 3], groups.most(np.array([1, 2, 3, 4, 5, 6])))


@pytest.mark.parametrize("names", [[], ["a"], ["b", "a"]])
def test_groups_of_one_row_are_that_row_and_none_are_nothing(names: list[str]) -> None:
    """Most operators run on one host; a service that has just begun knows of none."""
    values = np.arange(2.0 * len(names)).reshape(len(names), 2)
    groups = Groups(names)
    order = np.argsort(names)
    np.testing.assert_array_equal(values[order], groups.add(values))
    np.testing.assert_array_equal(values[order], groups.most(values))
