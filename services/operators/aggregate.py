"""Aggregate: one result for each group and window; the group is what the `by` fields say.

Windows (all in event time; see `windows` and `session`):
- `size` alone: tumbling; with `hop`: hopping, a record counts in every window that it is in; `gap`: sessions;
- none: a running result for each group, which is never forgotten.

When a result is given:
- `emit: close` (the default): once, when the watermark reaches the window's end. Its event time is end - 1. Results are
  ordered by window end, then by the group's encoding, so they do not depend on how the input is cut into batches.
- `emit: change`, and always without a window: one result for every record and window that it changes, in the order of
  the records (then of window starts), with the record's event time and offset.

A result has the `by` fields, the `emit` fields (`summary` says what each function gives) and, with a window,
`window_start` and `window_end` in ms. Its key is the `by` values. A group with a null in `by` is a group like any
other.
"""

from collections.abc import Iterator

from services.operators.batch import Batch
from services.operators.grouping import grouping
from services.operators.operator import Operator
from services.operators.summary import Summary
from services.operators.table import Entries
from topics.flow import specs


class Aggregate(Operator):
    """A `Summary` folded over the groups and windows of the spec."""

    def __init__(self, spec: specs.Aggregate) -> None:
        self._grouping = grouping(spec.by, spec.window, Summary(spec.by, spec.emit))
        self.tables = self._grouping.tables
        self.disk_tables = self._grouping.disk_tables
        self.rest = self._grouping.rest

    def process(self, batch: Batch, port: int) -> Batch:
        return self._grouping.process(batch, port)

    def restore(self, name: str, entries: Entries) -> None:
        self._grouping.restore(name, entries)

    def forget(self) -> Iterator[None]:
        return self._grouping.forget()
