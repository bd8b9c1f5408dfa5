"""Which seats are which operator, segment and host, and how to put them together."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from placement.fits.arrays import Flags
from services.modelling.groups import Groups
from services.modelling.ring import Array, Indices
from services.modelling.sums import SEPARATOR


class Operators:
    """Who sits where. Arrays have one row a seat, in the order of `parts`."""

    def __init__(self, seats: Sequence[str], places: Indices) -> None:
        self.places = places
        self.parts = [tuple(seat.split(SEPARATOR)) for seat in seats]
        """(host, flow, segment, operator) of each seat."""
        self.flows = {flow for _, flow, _, _ in self.parts}
        self._operators = Groups([(flow, operator) for _, flow, _, operator in self.parts])
        self.names: list[tuple[str, str]] = self._operators.names
        self.segments = [""] * len(self.names)
        for (_, _, segment, _), operator in zip(self.parts, self._operators.of.tolist(), strict=True):
            self.segments[operator] = segment

    def sum(self, values: Array) -> Array:
        """One row an operator, over all its hosts."""
        return self._operators.add(values)

    def most(self, values: Indices) -> Indices:
        """Of each operator the largest of its seats' values."""
        return self._operators.most(values)

    def host_sum(self, values: Array) -> Array:
        """For each seat the sum over all operators of its host."""
        return self._hosts.add(values)[self._hosts.of]

    @property
    def tasks(self) -> list[tuple[str, str]]:
        """(flow, segment) of each row of `task_sum` and `segment_sum`."""
        return self._segments.names

    def task_sum(self, values: Array) -> Array:
        """What each operator of a task repeats: once a host, added over all hosts; one row a segment."""
        return self._segments.add(self._tasks.most(values))

    def task_most(self, values: Array) -> Array:
        """For each seat the largest of all operators of its task on its host."""
        return np.asarray(self._tasks.most(values)[self._tasks.of])

    def segment_sum(self, values: Array) -> Array:
        """What each operator of a task tells of itself, added over all of them and all hosts; one row a segment."""
        return self._segments.add(self._tasks.add(values))

    def staying(self, spoke: Flags) -> Indices:
        """The seats that count as company: those that spoke lately, and those silent ones whose operator has not spoken
        elsewhere. Who has left a host keeps its seat for a window; who has nothing to do is still there."""
        told = {part[1:] for part, is_here in zip(self.parts, spoke.tolist(), strict=True) if is_here}
        return np.array([k for k, part in enumerate(self.parts) if spoke[k] or part[1:] not in told], dtype=np.int64)

    @cached_property
    def _hosts(self) -> Groups:
        return Groups([part[0] for part in self.parts])

    @cached_property
    def _tasks(self) -> Groups:
        return Groups([part[:3] for part in self.parts])

    @cached_property
    def _segments(self) -> Groups:
        return Groups([part[1:] for part in self._tasks.names])
