"""Groups that give their rows on every change: running ones, and those in windows with `emit: change`.

Each window has its own states: with rows for each of them there is nothing that panes could save. A window that closes
is forgotten without further rows.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from services.operators.batch import Batch
from services.operators.due import Due
from services.operators.fold import Fold, GroupReader, GroupStates
from services.operators.horizon import Horizon
from services.operators.operator import Operator
from services.operators.rows import group_key
from services.operators.table import GONE, Entries, Table
from services.operators.windows import Windows

Cell = Any
"""Where a record counts, a key of the table: its group, or (window start, group)."""


class Changes(Operator):
    """Table `windows`: (window start, group) -> states, without windows group -> states.

    Derived: `_due`, which has each cell at its window's end.
    """

    disk_tables = ("windows",)

    def __init__(self, groups_of: GroupReader, windows: Windows | None, fold: Fold) -> None:
        self._groups_of = groups_of
        self._windows = windows
        self._fold = fold
        self._horizon = Horizon()
        self._states = Table()
        self._due = Due()
        self.tables = {"windows": self._states, "watermark": self._horizon.table}

    def restore(self, name: str, entries: Entries) -> None:
        fresh: list[Cell] = []
        if self._windows is not None and name == "windows":
            known = self._states.data
            fresh = [cell for cell, states in entries.items() if states is not GONE and cell not in known]
        super().restore(name, entries)
        for cell in fresh:
            self._note(cell)
        self._due.drop(self._horizon.watermark_ms)

    def forget(self) -> Iterator[None]:
        yield from super().forget()
        yield from self._due.forget()

    def process(self, batch: Batch, port: int) -> Batch:
        changes = self._add(self._horizon.admit(batch))
        watermark_ms = self._horizon.advance(port, batch.watermark_ms)
        for _, cells in self._due.take(watermark_ms):
            for cell in cells:
                self._states.remove(cell)
        return changes.with_watermark(watermark_ms)

    def _add(self, batch: Batch) -> Batch:
        windows = self._windows
        starts: list[int] = []
        if windows is not None:
            spread = [(i, start) for i, time in enumerate(batch.times) for start in windows.starts_of(time)]
            batch, starts = batch.take([i for i, _ in spread]), [start for _, start in spread]
        groups = self._groups_of(batch.values)
        cells: list[Cell] = groups if windows is None else list(zip(starts, groups, strict=True))
        states = {cell: self._states_at(cell) for cell in dict.fromkeys(cells)}
        rows, positions = self._fold.follow(groups, list(map(states.__getitem__, cells)), batch.values, batch.times)
        if positions is not None:
            batch, groups = batch.take(positions), [groups[i] for i in positions]
        if windows is not None:
            for row, i in zip(rows, range(len(cells)) if positions is None else positions, strict=True):
                row["window_start"] = starts[i]
                row["window_end"] = starts[i] + windows.size_ms
        keys = {group: group_key(group) for group in dict.fromkeys(groups)}
        return replace(batch, values=rows, keys=list(map(keys.__getitem__, groups)))

    def _states_at(self, cell: Cell) -> GroupStates:
        """The states of a cell, which are about to change."""
        self._states.changed.add(cell)
        states: GroupStates | None = self._states.data.get(cell)
        if states is None:
            states = self._states.data[cell] = self._fold.zeros()
            self._note(cell)
        return states

    def _note(self, cell: Cell) -> None:
        """A new cell is due when its window ends."""
        if self._windows is not None:
            self._due.add(cell[0] + self._windows.size_ms, cell)
