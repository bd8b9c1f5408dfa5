"""Groups in tumbling and hopping windows that give their rows when a window closes.

A record changes the states of its group in one pane (`windows`). A window that closes is put together from its panes
(`rolling`); a tumbling window is one pane. What a batch does to a group is collected first, column by column, and
merged once, so a batch costs little more for each record than counting its groups.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import repeat

from services.operators.batch import Batch, Value
from services.operators.emptying import emptied
from services.operators.fold import Fold, Group, GroupReader, GroupStates
from services.operators.horizon import Horizon
from services.operators.operator import Operator
from services.operators.rest import ClosedGroup, Rest
from services.operators.rolling import Pane, Rolling
from services.operators.rows import group_key
from services.operators.table import GONE, Entries, Table, encode_key
from services.operators.windows import Windows


class ClosedWindows(Operator):
    """Table `panes`: (pane start, group) -> states.

    Derived: `_panes`, the same lists of states by pane and group; `_starts`, the sorted pane starts; `_rolling`, the
    merged states of the window that closed last. `marks_rows`: whether rows get `window_start` and `window_end`.
    """

    def __init__(self, groups_of: GroupReader, windows: Windows, fold: Fold, *, marks_rows: bool = True) -> None:
        self._groups_of = groups_of
        self._windows = windows
        self._fold = fold
        self._marks_rows = marks_rows
        self._horizon = Horizon()
        self._states = Table()
        self._panes: dict[int, Pane] = {}
        self._starts: list[int] = []
        self._rolling = Rolling(fold)
        self.tables = {"panes": self._states, "watermark": self._horizon.table}
        self.rest: Rest = Rest()

    def restore(self, name: str, entries: Entries) -> None:
        super().restore(name, entries)
        if name == "panes":
            for (start, group), states in entries.items():
                if states is not GONE:
                    self._pane(start)[group] = states
                elif (pane := self._panes.get(start)) is not None:
                    pane.pop(group, None)
                    if not pane:
                        del self._panes[start]
                        self._starts.remove(start)

    def forget(self) -> Iterator[None]:
        yield from super().forget()
        yield from emptied(self._panes)
        self._starts.clear()
        yield from self._rolling.forget()

    def process(self, batch: Batch, port: int) -> Batch:
        current = self._horizon.admit(batch)
        if current.values:
            self._add(current)
        before_ms = self._horizon.watermark_ms
        watermark_ms = self._horizon.advance(port, batch.watermark_ms)
        if watermark_ms > before_ms:
            self.rest.begin(self._closed(before_ms, watermark_ms), before_ms, watermark_ms)
        return self.rest.take(watermark_ms)

    def _add(self, batch: Batch) -> None:
        fold, data = self._fold, self._states.data
        groups = self._groups_of(batch.values)
        starts = self._windows.pane_starts(batch.times, batch.span_ms)
        if isinstance(starts, int):
            touched, partials = fold.collect(groups, batch.values, batch.times)
            pane = self._pane(starts)
            for group in touched:
                if group not in pane:
                    pane[group] = data[starts, group] = fold.zeros()
            fold.absorb(partials, pane)
            self._states.changed.update(zip(repeat(starts), touched))
        else:
            touched, partials = fold.collect(list(zip(starts, groups, strict=True)), batch.values, batch.times)
            for key in touched:
                if key not in data:
                    start, group = key
                    self._pane(start)[group] = data[key] = fold.zeros()
            fold.absorb(partials, data)
            self._states.changed.update(touched)

    def _pane(self, start: int) -> Pane:
        pane = self._panes.get(start)
        if pane is None:
            pane = self._panes[start] = {}
            insort(self._starts, start)
        return pane

    def _closed(self, before_ms: int, watermark_ms: int) -> Iterator[ClosedGroup | None]:
        is_tumbling = self._windows.pane_ms == self._windows.size_ms
        for start in self._windows.closing(self._starts, before_ms, watermark_ms):
            end = start + self._windows.size_ms
            if not is_tumbling:
                starts = self._starts[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
                yield from self._rolling.move_to(starts, self._panes)
            merged = self._panes[start] if is_tumbling else self._rolling.merged
            for group in sorted(merged, key=encode_key):
                yield self._rows(group, merged[group], start, end), group_key(group), end - 1
        self._forget(watermark_ms)

    def _rows(self, group: Group, states: GroupStates, start: int, end: int) -> list[Value]:
        rows = self._fold.rows(group, states)
        if self._marks_rows:
            for row in rows:
                row["window_start"] = start
                row["window_end"] = end
        return rows

    def _forget(self, watermark_ms: int) -> None:
        """Remove the panes that no open window needs."""
        gone = 0
        for start in self._starts:
            if self._windows.last_end(start) > watermark_ms:
                break
            keys = list(zip(repeat(start), self._panes.pop(start)))
            for key in keys:
                del self._states.data[key]
            self._states.changed.update(keys)
            gone += 1
        del self._starts[:gone]
        if not self._starts:
            self._rolling.clear()
