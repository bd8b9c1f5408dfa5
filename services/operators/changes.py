"""Groups that give their rows on every change: running ones, and those in windows with `emit: change`.

Each window has its own states: with rows for each of them there is nothing that panes could save. A window that closes
is forgotten without further rows.
"""

from dataclasses import replace

from services.operators.batch import Batch
from services.operators.due import Due
from services.operators.fold import Fold, Group, GroupReader, GroupStates
from services.operators.horizon import Horizon
from services.operators.operator import Operator
from services.operators.rows import group_key
from services.operators.table import Table
from services.operators.windows import Windows

# Where the states of a running group stand: in a window that never ends.
_FOREVER = 0


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
        windows = self._windows
        starts: list[int] = []
        if windows is not None:
            spread = [(i, start) for i, time in enumerate(batch.times) for start in windows.starts_of(time)]
            batch, starts = batch.take([i for i, _ in spread]), [start for _, start in spread]
        groups = self._groups_of(batch.values)
        # A cell is where a record counts. What is looked up or made is so once for each different one of the batch.
        cells = groups if windows is None else list(zip(starts, groups, strict=True))
        states = {cell: self._states_at((_FOREVER, cell) if windows is None else cell) for cell in dict.fromkeys(cells)}
        rows, positions = self._fold.follow(groups, list(map(states.__getitem__, cells)), batch.values, batch.times)
        if positions is not None:
            batch, groups = batch.take(positions), [groups[i] for i in positions]
        if windows is not None:
            for row, i in zip(rows, range(len(cells)) if positions is None else positions, strict=True):
                row["window_start"] = starts[i]
                row["window_end"] = starts[i] + windows.size_ms
        keys = {group: group_key(group) for group in dict.fromkeys(groups)}
        return replace(batch, values=rows, keys=list(map(keys.__getitem__, groups)))

    def _states_at(self, key: tuple[int, Group]) -> GroupStates:
        """The states of a group in a window, which are about to change."""
        self._states.changed.add(key)
        states: GroupStates | None = self._states.data.get(key)
        if states is None:
            states = self._states.data[key] = self._fold.zeros()
            if self._windows is not None:
                self._due.add(key[0] + self._windows.size_ms, key)
        return states
