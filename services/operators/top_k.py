"""Top_k: the `k` records with the largest (`order: asc`: smallest) `by`, for each `per` and window, with their `rank`.

Without a window of its own it ranks the windows of the aggregate before it. All results of a window have the event
time end - 1 and reach here before the watermark passes it, so records of equal event time are ranked together as soon
as the watermark is later than that. They keep their `window_start` and `window_end`, if nothing took them away.

With a window of its own (tumbling, hopping or session, in the event time of its input) it adds those two fields
itself. `emit: close` gives a window's ranking when it closes; `emit: change` gives the whole new ranking for every
record that changes it, with that record's event time.

A result is the ranked record and its `rank` from 1 (`ranking` says how ties are broken and what is not ranked). Its
key is the `per` values, so that a ranking stays together and in order.
"""

from collections.abc import Iterator

from services.operators.batch import Batch
from services.operators.closed_windows import ClosedWindows
from services.operators.grouping import Grouping, grouping
from services.operators.keys import group_reader
from services.operators.operator import Operator
from services.operators.ranking import Ranking
from services.operators.table import Entries
from services.operators.windows import Windows
from topics.flow import specs

_EACH_EVENT_TIME = Windows(size_ms=1, hop_ms=1)


class TopK(Operator):
    """A `Ranking` folded over the groups and windows of the spec."""

    def __init__(self, spec: specs.TopK) -> None:
        ranking = Ranking(k=spec.k, by=spec.by, order=spec.order)
        self._grouping: Grouping
        if spec.window is None:
            self._grouping = ClosedWindows(group_reader(spec.per), _EACH_EVENT_TIME, ranking, marks_rows=False)
        else:
            self._grouping = grouping(spec.per, spec.window, ranking)
        self.tables = self._grouping.tables
        self.disk_tables = self._grouping.disk_tables
        self.rest = self._grouping.rest

    def process(self, batch: Batch, port: int) -> Batch:
        return self._grouping.process(batch, port)

    def restore(self, name: str, entries: Entries) -> None:
        self._grouping.restore(name, entries)

    def forget(self) -> Iterator[None]:
        return self._grouping.forget()
