"""Fold: what a window remembers of the records of a group, and the rows that it gives out for them.

The kinds of windows (`closed_windows`, `changes`, `session`) know when; a fold knows what: `summary` for aggregates,
`ranking` for top_k. A group's states are a list that MessagePack can carry, and its owner may change it in place.
Folding must not depend on how records are cut into batches: collecting and absorbing gives what adding one by one
gives.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from services.operators.batch import Value

Group = Any
GroupStates = list[Any]
GroupReader = Callable[[list[Value]], list[Group]]
Partials = list[dict[Group, Any]]


class Fold(ABC):
    """`can_subtract` says whether `subtract` may be called."""

    can_subtract = False

    @abstractmethod
    def zeros(self) -> GroupStates:
        """The states of a group without records."""

    @abstractmethod
    def collect(self, groups: list[Group], values: list[Value], times: list[int]) -> tuple[Iterable[Group], Partials]:
        """The different groups of a batch, and what `absorb` takes."""

    @abstractmethod
    def absorb(self, partials: Partials, targets: dict[Group, GroupStates]) -> None:
        """Merge what was collected into the states of the targets, which has all of the groups."""

    @abstractmethod
    def arguments(self, values: list[Value]) -> list[Any]:
        """For each record what `add` takes."""

    @abstractmethod
    def add(self, states: GroupStates, arguments: Any, time_ms: int) -> bool:
        """Count one record; whether that changes the rows."""

    def follow(
        self, groups: list[Group], states_of: list[GroupStates], values: list[Value], times: list[int]
    ) -> tuple[list[Value], list[int] | None]:
        """Count records one after the other, each in its own group's states, which follow records of equal groups.

        Returns the rows after each record that changes them, with the position of that record; None instead of
        positions where every record gives one row. The rows are new objects.
        """
        rows: list[Value] = []
        positions: list[int] = []
        for i, (group, states, arguments) in enumerate(zip(groups, states_of, self.arguments(values), strict=True)):
            if self.add(states, arguments, times[i]):
                rows += self.rows(group, states)
                positions += [i] * (len(rows) - len(positions))
        return rows, positions

    @abstractmethod
    def merge(self, left: GroupStates, right: GroupStates) -> None:
        """Count in `left` what `right` has counted, which came later; leave `right` as it is."""

    def subtract(self, left: GroupStates, right: GroupStates) -> None:
        """Take out of `left` what was merged into it before."""
        raise NotImplementedError

    @abstractmethod
    def rows(self, group: Group, states: GroupStates) -> list[Value]:
        """The rows of a group, as new objects."""
