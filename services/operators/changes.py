"""Groups that give their rows on every change: running ones, and those in windows with `emit: change`.

Each window has its own states: with rows for each of them there is nothing that panes could save. A window that closes
is forgotten without further rows.
"""

from services.operators.batch import Batch, Value
from services.operators.due import Due
from services.operators.fold import Fold, GroupReader
from services.operators.horizon import Horizon
from services.operators.operator import Operator
from services.operators.rows import group_key
from services.operators.table import Table
from services.operators.windows import Windows

# Where the states of a running group stand: in a window that never ends.
_FOREVER = range(1)


class Changes(Operator):
    """Table `windows`: (window start, group) -> states. Derived: `_due`, which has each of them at the window's end."""

    def __init__(self, groups_of: GroupReader, windows: Windows | None, fold: Fold) -> None:
        self._groups_of = groups_of
        self._windows = windows
        self._fold = fold
        self._horizon = Horizon()
        self._states = Table()
        self.tables = {"windows": self._states, "watermark": self._horizon.table}
        self.restored()

    def restored(self) -> None:
        self._due = Due()
        if self._windows is not None:
            for key in self._states.data:
                self._due.add(key[0] + self._windows.size_ms, key)

    def process(self, batch: Batch, port: int) -> Batch:
        changes = self._add(self._horizon.admit(batch))
        watermark_ms = self._horizon.advance(port, batch.watermark_ms)
        for _, keys in self._due.take(watermark_ms):
            for key in keys:
                self._states.remove(key)
        return changes.with_watermark(watermark_ms)

    def _add(self, batch: Batch) -> Batch:
        windows, fold = self._windows, self._fold
        data, changed = self._states.data, self._states.changed
        arguments = fold.arguments(batch.values)
        values: list[Value] = []
        keys: list[bytes | None] = []
        origins: list[int] = []
        for i, (group, time) in enumerate(zip(self._groups_of(batch.values), batch.times, strict=True)):
            for start in _FOREVER if windows is None else windows.starts_of(time):
                key = (start, group)
                states = data.get(key)
                if states is None:
                    states = data[key] = fold.zeros()
                    if windows is not None:
                        self._due.add(start + windows.size_ms, key)
                changed.add(key)
                if fold.add(states, arguments[i], time):
                    rows = fold.rows(group, states)
                    if windows is not None:
                        for row in rows:
                            row["window_start"] = start
                            row["window_end"] = start + windows.size_ms
                    values += rows
                    keys += [group_key(group)] * len(rows)
                    origins += [i] * len(rows)
        times = [batch.times[i] for i in origins]
        return Batch(values, keys, times, [batch.offsets[i] for i in origins], batch.watermark_ms)
