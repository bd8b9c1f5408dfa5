"""Waiting: the records of one input of a join that may still find a partner.

Each record has a number in the order of arrival, so that equal records are different keys and partners have an order.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any

from services.operators.batch import Value
from services.operators.emptying import emptied
from services.operators.fold import Group
from services.operators.table import GONE, Entries, Table

Key = tuple[Group, int, int]
# The value in the table: the record, and whether it has found a partner.
Entry = list[Any]


class Waiting:
    """Table: (group, event time, number) -> [record, is matched]. Derived: the same entries by group, sorted."""

    def __init__(self) -> None:
        self.table = Table()
        self._by_group: dict[Group, list[tuple[int, int, Entry]]] = {}

    def restore(self, entries: Entries) -> list[Key]:
        """Bring these in; returns the keys of those that did not wait before."""
        known = self.table.data
        fresh = [key for key, entry in entries.items() if entry is not GONE and key not in known]
        for key in [key for key in entries if key in known]:
            self._unindex(key)
        self.table.restore(entries)
        for key, entry in entries.items():
            if entry is not GONE:
                self._index(key, entry)
        return fresh

    def forget(self) -> Iterator[None]:
        """Forget the derived entries, a portion with each step; the table is emptied apart."""
        yield from emptied(self._by_group)

    def put(self, key: Key, record: Value, *, is_matched: bool) -> None:
        """Let a record wait."""
        entry = [record, is_matched]
        self.table.put(key, entry)
        self._index(key, entry)

    def partners(self, group: Group, time: int, within_ms: int) -> Iterator[tuple[int, Value]]:
        """Event time and record of those at most `within_ms` from a time, in order; from now on they are matched."""
        waiting = self._by_group.get(group)
        if waiting is None:
            return
        first = bisect_left(waiting, (time - within_ms,))
        last = bisect_left(waiting, (time + within_ms + 1,))
        for partner_time, number, entry in waiting[first:last]:
            record, was_matched = entry
            if not was_matched:
                entry[1] = True
                self.table.changed.add((group, partner_time, number))
            yield partner_time, record

    def take(self, key: Key) -> Entry:
        """Forget a record; what there was of it."""
        entry: Entry = self.table.data[key]
        self.table.remove(key)
        self._unindex(key)
        return entry

    def _index(self, key: Key, entry: Entry) -> None:
        group, time, number = key
        insort(self._by_group.setdefault(group, []), (time, number, entry))

    def _unindex(self, key: Key) -> None:
        group, time, number = key
        waiting = self._by_group[group]
        del waiting[bisect_left(waiting, (time, number))]
        if not waiting:
            del self._by_group[group]
