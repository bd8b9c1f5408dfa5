"""The last seconds of all seats, sum by sum, and which of them are known."""

import numpy as np

from placement.fits.arrays import Flags
from services.modelling.ring import Array, Indices, Ring
from services.modelling.sums import place


class Window:
    """Sums of a ring's seats by name, and what else is told of them: (seats, seconds), oldest first."""

    def __init__(self, ring: Ring, kind: str, places: Indices, last: int, length: int, **more: Array) -> None:
        self._ring, self._kind, self._places = ring, kind, places
        self._span = (last, length)
        self._found: dict[str, Array] = more

    def __getitem__(self, name: str) -> Array:
        if name not in self._found:
            self._found[name] = self._ring.window(place(self._kind, name), *self._span)[self._places]
        return self._found[name]

    def __setitem__(self, name: str, values: Array) -> None:
        """What follows from other sums."""
        self._found[name] = values


def since_first(rows: Array) -> Flags:
    """Which seconds count: those from a row's first on, also where it is silent."""
    return np.maximum.accumulate(rows > 0, axis=1)


def seen_in(rows: Array, pending: Array) -> Flags:
    """Of the seconds that count those of which all has been told."""
    return since_first(rows) & (pending == 0)


def mean_of_seen(values: Array, seen: Flags) -> Array:
    """0 where nothing was seen."""
    return np.where(seen, values, 0.0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)


def lasting_s(so: Flags) -> Array:
    """How many seconds on end it had been so, up to each."""
    seconds = np.arange(1, so.shape[1] + 1)
    return np.asarray(seconds - np.maximum.accumulate(np.where(so, 0, seconds), axis=1), dtype=np.float64)


def held(values: Array, pending: Array) -> Array:
    """The last value that is whole stands for those after it that are not yet."""
    last = np.maximum(values.shape[1] - 1 - (pending > 0).sum(axis=1), 0)
    return np.take_along_axis(values, np.minimum(np.arange(values.shape[1]), last[:, None]), axis=1)
