"""A cell's pheromone that notes every change, so that a store can follow it.

The brain works on these vectors as on its own: they are its own, with a note taken after each deed. What waits to be
written is bounded: a vector that has waited for too many deeds is written whole instead.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from placement.pheromone import PheromoneParams, PheromoneTable, PheromoneVector, VectorState

DEEDS_MAX = 64
"""Notes on one vector that may wait."""

Deed = tuple[Any, ...]
"""What was done, by the names of the script: ("reinforce", next hop, trip, time), ("weaken", next hop), and so on."""


@dataclass(slots=True)
class Notes:
    """What is not yet written of one vector. `written` counts the deeds before; `whole`: the vector itself is due."""

    deeds: list[Deed] = field(default_factory=list)
    written: int = 0
    whole: bool = True

    @property
    def is_due(self) -> bool:
        return self.whole or bool(self.deeds)


class Journal:
    """The notes of all vectors of a cell; `news` is set when there is something to write."""

    def __init__(self) -> None:
        self.notes: dict[str, Notes] = {}
        self.news = asyncio.Event()

    def deed(self, destination: str, deed: Deed) -> None:
        """Something was done to a vector."""
        notes = self.notes.setdefault(destination, Notes())
        if not notes.whole:
            notes.deeds.append(deed)
        if len(notes.deeds) > DEEDS_MAX:
            self.whole(destination)
        self.news.set()

    def whole(self, destination: str) -> None:
        """A vector is new, or what is kept of it can't be trusted."""
        notes = self.notes.setdefault(destination, Notes())
        notes.whole = True
        notes.deeds.clear()
        self.news.set()

    def due(self) -> list[str]:
        """Destinations with something to write, in order."""
        return [destination for destination, notes in sorted(self.notes.items()) if notes.is_due]


class JournaledVector(PheromoneVector):
    """A vector that notes what is done to it."""

    __slots__ = ("_destination", "_journal")

    def __init__(
        self,
        neighbours: Collection[str],
        params: PheromoneParams,
        *,
        now_ms: float,
        destination: str,
        journal: Journal,
    ) -> None:
        super().__init__(neighbours, params, now_ms=now_ms)
        self._destination = destination
        self._journal = journal
        journal.whole(destination)

    def reinforce(self, next_hop: str, trip_ms: float, *, now_ms: float) -> bool:
        """As the brain's."""
        good = super().reinforce(next_hop, trip_ms, now_ms=now_ms)
        self._journal.deed(self._destination, ("reinforce", next_hop, float(trip_ms), float(now_ms)))
        return good

    def weaken(self, next_hop: str) -> None:
        """As the brain's."""
        super().weaken(next_hop)
        self._journal.deed(self._destination, ("weaken", next_hop))

    def scent(self, weights: Mapping[str, float], *, now_ms: float) -> None:
        """As the brain's."""
        super().scent(weights, now_ms=now_ms)
        self._journal.deed(self._destination, ("scent", dict(weights), float(now_ms)))

    def meet(self, neighbour: str) -> None:
        """As the brain's."""
        if neighbour not in self.neighbours:
            self._journal.deed(self._destination, ("meet", neighbour))
        super().meet(neighbour)

    def lose(self, neighbour: str) -> None:
        """As the brain's."""
        if neighbour in self.neighbours:
            self._journal.deed(self._destination, ("lose", neighbour))
        super().lose(neighbour)

    def restore(self, state: VectorState) -> None:
        """As the brain's."""
        super().restore(state)
        self._journal.whole(self._destination)


class JournaledTable(PheromoneTable):
    """A cell's table of such vectors: put it in the place of `Cell.pheromone`."""

    __slots__ = ("_journal",)

    def __init__(self, neighbours: Collection[str], params: PheromoneParams, journal: Journal) -> None:
        super().__init__(neighbours, params)
        self._journal = journal

    def state(self, destination: str) -> VectorState | None:
        """What is known of the way to a destination; None if nothing is (any more)."""
        vector = self._vectors.get(destination)
        return None if vector is None else vector.state()

    def _fresh(self, destination: str, *, now_ms: float) -> PheromoneVector:
        return JournaledVector(
            self.neighbours, self._params, now_ms=now_ms, destination=destination, journal=self._journal
        )
