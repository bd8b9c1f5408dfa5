"""Dedupe: the first record of each `by`; others of the same `by` within `within` of it are dropped.

First is first in the order of arrival. A record is dropped if one with equal `by` was kept whose event time is at
most `within` away, before or after (a copy may come out of order). A copy of a dropped record counts from the kept
one, so an endless row of copies lets one through every now and then. Key, time, value and order of kept records stay
as they are.
"""

from collections.abc import Iterator
from typing import Any

from services.operators.batch import Batch
from services.operators.due import Due
from services.operators.horizon import Horizon
from services.operators.keys import group_reader
from services.operators.operator import Operator
from services.operators.table import GONE, Entries, Table
from topics.flow import specs


class Dedupe(Operator):
    """Table `kept`: group -> event times of kept records. Derived: `_due`, when each of them can be forgotten."""

    disk_tables = ("kept",)

    def __init__(self, spec: specs.Dedupe) -> None:
        self._within_ms = spec.within_ms
        self._group = group_reader(spec.by)
        self._horizon = Horizon()
        self._kept = Table()
        self._due = Due()
        self.tables = {"kept": self._kept, "watermark": self._horizon.table}

    def restore(self, name: str, entries: Entries) -> None:
        known = [self._kept.data.get(group, ()) for group in entries] if name == "kept" else []
        super().restore(name, entries)
        for (group, times), before in zip(entries.items(), known, strict=False):
            for time in times if times is not GONE else ():
                if time not in before:
                    self._due.add(self._forgotten_ms(time), group)
        self._due.drop(self._horizon.watermark_ms)

    def forget(self) -> Iterator[None]:
        yield from super().forget()
        yield from self._due.forget()

    def process(self, batch: Batch, port: int) -> Batch:
        current = self._horizon.admit(batch)
        kept = current.select(list(map(self._keep, self._group(current.values), current.times)))
        watermark_ms = self._horizon.advance(port, batch.watermark_ms)
        self._forget(watermark_ms)
        return kept.with_watermark(watermark_ms)

    def _keep(self, group: Any, time: int) -> bool:
        times = self._kept.data.get(group)
        if times is None:
            self._kept.data[group] = [time]
        else:
            if any(abs(time - kept) <= self._within_ms for kept in times):
                return False
            times.append(time)
        self._kept.changed.add(group)
        self._due.add(self._forgotten_ms(time), group)
        return True

    def _forgotten_ms(self, time: int) -> int:
        """The watermark from which on every record is more than `within` after this one."""
        return time + self._within_ms + 1

    def _forget(self, watermark_ms: int) -> None:
        for _, groups in self._due.take(watermark_ms):
            for group in groups:
                times = [time for time in self._kept.data.get(group, ()) if self._forgotten_ms(time) > watermark_ms]
                if times:
                    self._kept.put(group, times)
                else:
                    self._kept.remove(group)
