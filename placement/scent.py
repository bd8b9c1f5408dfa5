"""Scent wave: a destination announces itself, so that the first ants already know roughly where to go.

Ours, not the paper's (decision 41): ants that start without any idea need some 134,000 messages to find one host among
155; one wave needs about 1,000. A wave is a distance vector that runs over the cells once: it travels as fast as data,
so the first message that reaches a cell came by the shortest way, and a cell passes a wave on only when it learned a
shorter one. Each cell turns its neighbours' distances into a prior, phi ~ exp(-length / T) with T half its shortest
link: a detour as long as a local link is unlikely, a shorter one is not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from placement.ants.effects import Send
from placement.pheromone import PheromoneTable


@dataclass(frozen=True, slots=True)
class ScentParams:
    """How strongly a cell trusts distances."""

    temperature_share: float = 0.5
    """T as a share of the cell's shortest link."""
    least_weight: float = 1e-3
    """Weight of the hop that smells worst, against 1 for the best."""
    change_share: float = 0.25
    """A link whose delay changed by more than this share makes the destinations behind it announce themselves again."""

    def __post_init__(self) -> None:
        for name in ("temperature_share", "least_weight", "change_share"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give more than 0")


@dataclass(frozen=True, slots=True)
class Scent:
    """One hop of a wave: `sender` can reach `destination` in `distance_ms`."""

    destination: str
    epoch: int
    sender: str
    distance_ms: float


@dataclass(frozen=True, slots=True)
class Announce:
    """Asks a host to send out a wave for itself."""

    destination: str


@dataclass(slots=True)
class _Smelled:
    """What one cell knows of one destination's current wave."""

    epoch: int
    distance_ms: float = math.inf
    heard_ms: dict[str, float] = field(default_factory=dict)
    changes: int = 0


class ScentMap:
    """All waves that one cell has smelled."""

    def __init__(self, host: str, params: ScentParams, *, epoch: int = 0) -> None:
        """`epoch` to count on from: others know the last wave of a cell that starts again, and smell no earlier one."""
        self._host = host
        self._params = params
        self._smelled: dict[str, _Smelled] = {}
        self._own_epoch = epoch

    def distance_ms(self, destination: str) -> float | None:
        """Network distance to a destination that announced itself; None if it never did."""
        if destination == self._host:
            return 0.0
        smelled = self._smelled.get(destination)
        return smelled.distance_ms if smelled else None

    def neighbour_distance_ms(self, neighbour: str, destination: str) -> float | None:
        """The distance to a destination that a neighbour told of."""
        smelled = self._smelled.get(destination)
        return smelled.heard_ms.get(neighbour) if smelled else None

    def destinations(self) -> list[str]:
        """Ends that have announced themselves here."""
        return sorted(self._smelled)

    def stamp(self, ends: Sequence[str]) -> tuple[tuple[int, int], ...]:
        """Changes whenever a distance to one of these ends may have changed."""
        known = (self._smelled.get(end) for end in ends)
        return tuple((0, 0) if smelled is None else (smelled.epoch, smelled.changes) for smelled in known)

    def announce(self, links_ms: dict[str, float]) -> list[Send]:
        """Start a new wave for this host."""
        self._own_epoch += 1
        scent = Scent(self._host, self._own_epoch, self._host, 0.0)
        return [Send(neighbour, scent) for neighbour in sorted(links_ms)]

    def smell(
        self, scent: Scent, links_ms: dict[str, float], pheromone: PheromoneTable, *, now_ms: float
    ) -> list[Send]:
        """Take one message of a wave: update the prior, and pass it on if it brought a shorter way."""
        if scent.destination == self._host or scent.sender not in links_ms:
            return []
        smelled = self._smelled.get(scent.destination)
        if smelled is None or smelled.epoch < scent.epoch:
            smelled = self._smelled[scent.destination] = _Smelled(scent.epoch)
        elif smelled.epoch > scent.epoch:
            return []
        smelled.heard_ms[scent.sender] = scent.distance_ms
        smelled.changes += 1
        self._seed(scent.destination, smelled, links_ms, pheromone, now_ms=now_ms)
        length_ms = scent.distance_ms + links_ms[scent.sender]
        if length_ms >= smelled.distance_ms:
            return []
        smelled.distance_ms = length_ms
        onward = Scent(scent.destination, scent.epoch, self._host, length_ms)
        return [Send(neighbour, onward) for neighbour in sorted(links_ms) if neighbour != scent.sender]

    def forget(self, neighbour: str) -> list[str]:
        """A neighbour is gone or its link changed much; the destinations whose best way led through it."""
        stale = []
        for destination, smelled in sorted(self._smelled.items()):
            told_ms = smelled.heard_ms.pop(neighbour, None)
            smelled.changes += told_ms is not None
            if told_ms is not None and told_ms < smelled.distance_ms:
                stale.append(destination)
        return stale

    def _seed(
        self,
        destination: str,
        smelled: _Smelled,
        links_ms: dict[str, float],
        pheromone: PheromoneTable,
        *,
        now_ms: float,
    ) -> None:
        lengths_ms = {
            neighbour: links_ms[neighbour] + told_ms
            for neighbour, told_ms in smelled.heard_ms.items()
            if neighbour in links_ms
        }
        shortest_ms = min(lengths_ms.values())
        temperature_ms = max(1e-6, self._params.temperature_share * min(links_ms.values()))
        weights = {
            neighbour: math.exp(-(length_ms - shortest_ms) / temperature_ms) + self._params.least_weight
            for neighbour, length_ms in lengths_ms.items()
        }
        pheromone.vector(destination, now_ms=now_ms).scent(weights, now_ms=now_ms)
