"""Surroundings: what a cell knows of the hosts within a few hops, told by the hosts themselves.

A host whose load changed noticeably tells its neighbours, and they tell theirs. In a quiet network nobody says
anything, so knowledge costs messages only where something happens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placement.ants.effects import Send
from placement.ants.host_view import HostView
from placement.ants.order import Serving
from placement.queueing import IDLE


@dataclass(frozen=True, slots=True)
class SurroundingsParams:
    """How far and how often hosts tell of themselves."""

    hops: int = 3
    """DESIGN says two; three closes the gap on half-loaded networks (decision 42)."""
    change: float = 0.02
    """A host tells when its utilisation has changed by at least this since it last told."""

    def __post_init__(self) -> None:
        if self.hops < 1:
            raise ValueError(f"hops is {self.hops}; a cell must at least know its neighbours: give 1 or more")
        if self.change < 0:
            raise ValueError(f"change is {self.change}; give 0 or more")


@dataclass(frozen=True, slots=True)
class Digest:
    """A host tells of itself; `sender` passed it on, `distance_ms` is the way it has come."""

    view: HostView
    serial: int
    sender: str
    distance_ms: float
    hops_left: int
    serves: tuple[Serving, ...] = ()
    """What runs there and may be tapped."""


@dataclass(slots=True)
class _Known:
    view: HostView
    serial: int
    distance_ms: float
    via: str
    serves: tuple[Serving, ...]
    links_ms: dict[str, float]


class Surroundings:
    """One cell's view of the hosts around it."""

    def __init__(self, host: str, params: SurroundingsParams, *, serial: int = 0) -> None:
        """`serial` to count on from: others know the last one of a cell that starts again, and believe no smaller."""
        self._host = host
        self._params = params
        self._known: dict[str, _Known] = {}
        self._serial = serial
        self._told: tuple[HostView, frozenset[tuple[str, str]]] | None = None
        self.version = 0
        """Counts up with every change of what is known."""
        self._near: tuple[int, list[tuple[HostView, float]]] = (-1, [])
        self._near_ms: tuple[int, dict[str, float]] = (-1, {})
        self._serving: tuple[int, list[tuple[Serving, float]]] = (-1, [])

    def tell(
        self, view: HostView, links_ms: dict[str, float], serves: Sequence[Serving] = (), *, always: bool = False
    ) -> list[Send]:
        """Tell the neighbours of this host if it changed noticeably, or always."""
        tasks = frozenset((task.offer.flow, task.offer.task) for task in serves)
        if not always and self._told is not None and self._is_old_news(*self._told, view, tasks):
            return []
        self._told = view, tasks
        self._serial += 1
        digest = self._digest(view, serves)
        return [Send(neighbour, digest) for neighbour in sorted(links_ms)]

    def greet(self, view: HostView, neighbour: str, serves: Sequence[Serving] = ()) -> list[Send]:
        """Tell one neighbour that has just told of itself for the first time, and may not have heard of this host."""
        return [Send(neighbour, self._digest(view, serves))]

    def _digest(self, view: HostView, serves: Sequence[Serving]) -> Digest:
        return Digest(view, self._serial, self._host, 0.0, self._params.hops - 1, tuple(serves))

    def _is_old_news(
        self, told: HostView, told_tasks: frozenset[tuple[str, str]], view: HostView, tasks: frozenset[tuple[str, str]]
    ) -> bool:
        if (told.capacity, told.links, told_tasks) != (view.capacity, view.links, tasks):
            return False
        shift = abs(told.load.rho - view.load.rho)
        return shift < self._params.change and (shift == 0 or view.load != IDLE)

    def hear(self, digest: Digest, links_ms: dict[str, float]) -> list[Send]:
        """Take what a neighbour tells, and pass it on if it is news."""
        link_ms = links_ms.get(digest.sender)
        if link_ms is None or digest.view.host == self._host:
            return []
        distance_ms = digest.distance_ms + link_ms
        known = self._known.get(digest.view.host)
        if known is not None:
            stale = known.serial > digest.serial
            longer = known.serial == digest.serial and known.distance_ms <= distance_ms
            if stale or longer:
                return []
        self.version += 1
        links = known.links_ms if known is not None and known.view.links == digest.view.links else None
        self._known[digest.view.host] = _Known(
            digest.view,
            digest.serial,
            distance_ms,
            digest.sender,
            digest.serves,
            links if links is not None else dict(digest.view.links),
        )
        if digest.hops_left == 0:
            return []
        onward = replace(digest, sender=self._host, distance_ms=distance_ms, hops_left=digest.hops_left - 1)
        return [
            Send(neighbour, onward)
            for neighbour in sorted(links_ms)
            if neighbour not in (digest.sender, digest.view.host)
        ]

    def near(self) -> list[tuple[HostView, float]]:
        """Hosts and their distance, by name."""
        if self._near[0] != self.version:
            near = [(known.view, known.distance_ms) for _, known in sorted(self._known.items())]
            self._near = (self.version, near)
        return self._near[1]

    def near_ms(self) -> dict[str, float]:
        """Distances by host."""
        if self._near_ms[0] != self.version:
            self._near_ms = (self.version, {host: known.distance_ms for host, known in self._known.items()})
        return self._near_ms[1]

    def serving(self) -> list[tuple[Serving, float]]:
        """What runs around here and may be tapped, with its distance."""
        if self._serving[0] != self.version:
            known = (self._known[host] for host in sorted(self._known))
            self._serving = (self.version, [(task, each.distance_ms) for each in known for task in each.serves])
        return self._serving[1]

    def via(self, host: str) -> str | None:
        """The neighbour on the way to a host around here."""
        known = self._known.get(host)
        return known.via if known is not None else None

    def link_ms(self, a: str, b: str) -> float | None:
        """Delay of the link between two hosts around here; None if they have none, or nothing is known of them."""
        known = self._known.get(a)
        if known is not None:
            return known.links_ms.get(b)
        known = self._known.get(b)
        return known.links_ms.get(a) if known is not None else None

    def forget(self, host: str) -> None:
        """A host died, or the neighbour that told of others did."""
        self.version += 1
        self._known = {name: known for name, known in self._known.items() if host not in (name, known.via)}
