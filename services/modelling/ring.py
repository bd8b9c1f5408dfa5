"""The last seconds of all seats: sums in a ring of cells. A cell is set, never added to, so a batch that comes again
changes nothing.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FIRST_SEATS = 64


class Ring:
    """`seats` x `seconds` cells of `width` sums; cells that nobody set are 0. Grows with its seats."""

    def __init__(self, width: int, seconds: int) -> None:
        self.seconds = seconds
        self.newest = 0
        """The latest second that was ever set."""
        self.changes = 0
        """How often a seat was taken or given up."""
        self.version = 0
        """How often cells or seats were set."""
        self._cells = np.zeros((width, FIRST_SEATS, seconds))
        self._places: dict[str, int] = {}
        self._free = list(range(FIRST_SEATS - 1, -1, -1))
        self._heard = np.zeros(FIRST_SEATS, dtype=np.int64)
        """Of each seat the last second that was set."""

    @property
    def size(self) -> int:
        """Seats in use."""
        return len(self._places)

    def seats(self) -> tuple[list[str], Indices]:
        """The names of all seats in use, sorted, and their places."""
        names = sorted(self._places)
        return names, np.fromiter(map(self._places.__getitem__, names), np.int64, len(names))

    @property
    def places(self) -> int:
        """All that there are, unused ones too."""
        return int(self._cells.shape[1])

    def heard(self, places: Indices) -> Indices:
        """The last second that was set of each of these."""
        return np.asarray(self._heard[places])

    def set(self, names: Sequence[str], seconds: Indices, sums: Array) -> None:
        """Sets cells: `sums` has one row a sum and one column a name and second. What is too old is left out."""
        if len(names) == 0:
            return
        self.version += 1
        self._advance(int(seconds.max()))
        recent = seconds > self.newest - self.seconds
        places = self._find(names)
        self._cells[:, places[recent], seconds[recent] % self.seconds] = sums[:, recent]
        np.maximum.at(self._heard, places, seconds)

    def window(self, sum_at: int, last: int, length: int) -> Array:
        """One sum in the `length` seconds up to `last`, oldest first: (places, seconds), with unused places."""
        assert length <= self.seconds, (length, self.seconds)
        columns = np.arange(last - length + 1, last + 1)
        # Two slices, until the ring's end and from its beginning: an index of columns takes four times as long.
        cells, begin = self._cells[sum_at], (last - length + 1) % self.seconds
        beyond = max(0, begin + length - self.seconds)
        window = np.concatenate([cells[:, begin : begin + length], cells[:, :beyond]], axis=1)
        outside = (columns > self.newest) | (columns <= self.newest - self.seconds)
        if outside.any():
            window[:, outside] = 0.0
        return window

    def drop_silent(self, before: int) -> list[str]:
        """Gives up the seats that were last set before this second; their names."""
        self.version += 1
        silent = sorted(name for name, place in self._places.items() if self._heard[place] < before)
        for name in silent:
            place = self._places.pop(name)
            self._cells[:, place] = 0.0
            self._heard[place] = 0
            self._free.append(place)
            self.changes += 1
        return silent

    def _advance(self, newest: int) -> None:
        """Clears the cells of the seconds that have come since."""
        if newest > self.newest:
            fresh = np.arange(max(self.newest + 1, newest - self.seconds + 1), newest + 1)
            self._cells[:, :, fresh % self.seconds] = 0.0
            self.newest = newest

    def _find(self, names: Sequence[str]) -> Indices:
        fresh = sorted(set(names) - self._places.keys())
        if fresh:
            self._grow(len(fresh) - len(self._free))
            for name in fresh:
                self._places[name] = self._free.pop()
                self.changes += 1
        return np.fromiter(map(self._places.__getitem__, names), np.int64, len(names))

    def _grow(self, more: int) -> None:
        """Room for so many more seats, and for as many as a quarter of those there are: cells are large."""
        if more > 0:
            before, more = self.places, max(more, self.places // 4)
            self._cells = np.concatenate([self._cells, np.zeros((len(self._cells), more, self.seconds))], axis=1)
            self._heard = np.concatenate([self._heard, np.zeros(more, dtype=np.int64)])
            self._free += range(before + more - 1, before - 1, -1)
