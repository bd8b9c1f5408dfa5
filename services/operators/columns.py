"""The columns that an accumulator collects: for each record its group, the value of the argument, its event time.

What several accumulators of one argument need (its numbers, its values that are not null) is picked out once.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from math import isfinite
from typing import Any

from services.operators.exact import WHOLE


@dataclass(frozen=True)
class Columns:
    """Parallel columns of one batch for one argument; without an argument the values are null."""

    groups: list[Any]
    values: list[Any]
    times: list[int]

    @cached_property
    def present(self) -> "Columns":
        """The records whose value is not null."""
        return self._where([value is not None for value in self.values]) if None in self.values else self

    @cached_property
    def numeric(self) -> "Columns":
        """The records whose value a sum can take."""
        return self if self.are_integers else self._where(list(map(is_number, self.values)))

    @cached_property
    def by_group(self) -> dict[Any, list[Any]]:
        """The values of each group, in order."""
        values_of: dict[Any, list[Any]] = defaultdict(list)
        for group, value in zip(self.groups, self.values, strict=True):
            values_of[group].append(value)
        return values_of

    @cached_property
    def are_integers(self) -> bool:
        """Whether all values are integers, as most arguments of sums are."""
        return {int}.issuperset(self._kinds)

    @cached_property
    def are_small_floats(self) -> bool:
        """Whether all values are floats that need no care in sums."""
        return {float}.issuperset(self._kinds) and min(self.values) > -WHOLE and max(self.values) < WHOLE

    @cached_property
    def _kinds(self) -> set[type]:
        return set(map(type, self.values))

    def _where(self, mask: list[bool]) -> "Columns":
        if all(mask):
            return self
        return Columns(
            list(compress(self.groups, mask)), list(compress(self.values, mask)), list(compress(self.times, mask))
        )


def is_number(value: Any) -> bool:
    """Whether a sum can take it: an integer, a finite float, or true for 1 and false for 0, as in expressions."""
    return isinstance(value, int) or (type(value) is float and isfinite(value))
