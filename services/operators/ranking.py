"""Ranking: the fold of a top_k. It keeps the `k` best records of a group.

A record whose `by` has no place in the order (`ordering`: null, true, a list, ...) is not ranked. Of records with
equal `by` the one whose canonical JSON (fields sorted by name) is smaller comes first, so a ranking depends on the
records alone and not on the order in which they came.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from typing import Any, Literal

import msgspec

from services.operators.batch import Value
from services.operators.fold import Fold, Group, GroupStates, Partials
from services.operators.ordering import SortKey, sort_key
from topics.expressions import Expression, compile_column

# A ranked record: the value of `by`, and the record.
Entry = list[Any]

_canonical = msgspec.json.Encoder(order="deterministic").encode


class Ranking(Fold):
    """States: the best entries, best first. Rows: their records with `rank` from 1."""

    def __init__(self, *, k: int, by: Expression, order: Literal["desc", "asc"]) -> None:
        assert k > 0, k
        self._k = k
        self._read = compile_column(by)
        self._descending = order == "desc"

    def zeros(self) -> GroupStates:
        return []

    def collect(self, groups: list[Group], values: list[Value], times: list[int]) -> tuple[Iterable[Group], Partials]:
        entries: dict[Group, list[Entry]] = defaultdict(list)
        for group, entry in zip(groups, self.arguments(values), strict=True):
            if sort_key(entry[0]) is not None:
                entries[group].append(entry)
        return entries, [entries]

    def absorb(self, partials: Partials, targets: dict[Group, GroupStates]) -> None:
        (entries,) = partials
        for group, added in entries.items():
            self.merge(targets[group], added)

    def arguments(self, values: list[Value]) -> list[Entry]:
        return list(map(list, zip(self._read(values), values, strict=True)))

    def add(self, states: GroupStates, arguments: Entry, time_ms: int) -> bool:
        if sort_key(arguments[0]) is None:
            return False
        before = states.copy()
        self.merge(states, [arguments])
        return states != before

    def merge(self, left: GroupStates, right: GroupStates) -> None:
        left[:] = self._best([*left, *right])

    def rows(self, group: Group, states: GroupStates) -> list[Value]:
        return [{**record, "rank": rank} for rank, (_, record) in enumerate(states, start=1)]

    def _best(self, entries: list[Entry]) -> list[Entry]:
        entries.sort(key=_place, reverse=self._descending)
        best: list[Entry] = []
        for _, equal in groupby(entries, key=_place):
            best += _by_record(list(equal))
            if len(best) >= self._k:
                break
        return best[: self._k]


def _place(entry: Entry) -> SortKey:
    place = sort_key(entry[0])
    assert place is not None, entry
    return place


def _by_record(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: _canonical(entry[1])) if len(entries) > 1 else entries
