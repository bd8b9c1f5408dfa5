"""The order of values, for min, max and ranking: one that every pair of values agrees on, whatever their types.

Numbers are ordered among themselves (true counts as 1, false as 0, as in expressions) and come before strings. Nothing
else has an order: null, lists, objects and NaN take part in no comparison and are left out.
"""

from math import isnan
from typing import Any

SortKey = tuple[int, Any]


def sort_key(value: Any) -> SortKey | None:
    """What to compare instead of the value, or None if it has no place in the order."""
    kind = type(value)
    if kind is int or kind is bool:
        return 0, value
    if kind is float:
        return None if isnan(value) else (0, value)
    if kind is str:
        return 1, value
    return None
