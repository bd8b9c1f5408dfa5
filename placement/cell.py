"""Cell: what one host knows, and the place where ants meet it.

A cell is a state machine: `hear` takes one message and gives the effects that follow. It holds the host's pheromone,
the scents it smelled, what it knows of the hosts around it, and the ledger of what the host has promised.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from placement.ants import enforcement, measuring, routing, scouting
from placement.ants.effects import Home, Lost, Send
from placement.ants.enforcement import Activation, Cancellation, EnforcementAnt, Release
from placement.ants.letters import Letter
from placement.ants.measuring import MeasuringAnt
from placement.ants.params import AntParams
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt
from placement.ants.surroundings import Digest, HostView, Surroundings
from placement.cell_ledger import Ledger
from placement.pheromone import PheromoneTable
from placement.queueing import IDLE, Load, wait_ms
from placement.scent import Announce, Scent, ScentMap, ScentParams

Effect = Send | Home | Lost
Delay = Callable[[str, str], float]
"""Measured delay of data between two hosts."""

_MAX_PARKED = 256


class UnknownMessageError(TypeError):
    """A message that no rule of a cell handles: our bug, or a newer version's ant."""


class Cell:
    """One host's cell."""

    def __init__(
        self,
        host: str,
        capacity: float,
        links_ms: Mapping[str, float],
        params: AntParams,
        *,
        delay: Delay,
        direct: bool,
        background: Load = IDLE,
    ) -> None:
        """`delay` measures the way of data; `direct`: it is known between all hosts (overlay), so scouts may use it."""
        self.host = host
        self.capacity = capacity
        self.params = params
        self.links_ms: dict[str, float] = dict(sorted(links_ms.items()))
        self.pheromone = PheromoneTable(self.links_ms, params.pheromone)
        self.scents = ScentMap(host, params.scent or ScentParams())
        self.surroundings = Surroundings(host, params.surroundings)
        self.ledger = Ledger(background)
        self.failures: dict[tuple[str, tuple[str, ...]], int] = {}
        self._delay = delay
        self._direct = direct
        self._parked: dict[str, list[RoutingAnt | ScoutingAnt]] = {}
        self._reacts: dict[type, Callable[[Any, float, Random], list[Effect]]] = {
            RoutingAnt: self._walker,
            ScoutingAnt: self._walker,
            Scent: self._smell,
            Announce: lambda _, now_ms, rng: [*self.scents.announce(self.links_ms)],
            Digest: lambda digest, now_ms, rng: [*self.surroundings.hear(digest, self.links_ms)],
            EnforcementAnt: self._enforce,
            MeasuringAnt: lambda ant, now_ms, rng: measuring.step(ant, self),
            Letter: lambda letter, now_ms, rng: [Home(letter.flow, letter.news)],
            Activation: self._book,
            Cancellation: self._book,
            Release: self._book,
        }

    # What ants see of a cell.

    def queue_wait_ms(self) -> float:
        """Mean wait in this host's server queue, bounded: a full host delays ants, it does not hold them for ever."""
        return min(wait_ms(self.ledger.load()), 1_000.0)

    def view(self, *, without_flow: str = "") -> HostView:
        """This host as an ant prices it."""
        return HostView(self.host, self.capacity, self.ledger.load(without_flow=without_flow))

    def near(self) -> list[tuple[HostView, float]]:
        """Hosts around this one."""
        return self.surroundings.near()

    def distance(self, origin: str, target: str) -> float | None:
        """Direct delay between two hosts, where hosts know it."""
        return self._delay(origin, target) if self._direct else None

    def travel_ms(self, target: str) -> float:
        """Delay of data from this host to another it sends to."""
        return self._delay(self.host, target)

    def anchor_ms(self, host: str, offset_ms: float, anchor: str) -> float:
        """Delay from a host near this cell to an end that announced itself; 0 while nothing is known of it."""
        if not anchor or host == anchor:
            return 0.0
        direct_ms = self.distance(host, anchor)
        if direct_ms is not None:
            return direct_ms
        told_ms = self.scents.neighbour_distance_ms(host, anchor)
        if told_ms is not None:
            return told_ms
        here_ms = self.scents.distance_ms(anchor)
        return 0.0 if here_ms is None else here_ms + offset_ms

    # Events.

    def hear(self, message: Any, *, now_ms: float, rng: Random) -> list[Effect]:
        """Take one message."""
        react = self._reacts.get(type(message))
        if react is None:
            kind = type(message).__name__
            raise UnknownMessageError(f"cell of {self.host}: no rule for {kind}; is a body newer than its brain?")
        return react(message, now_ms, rng)

    def tell(self, *, always: bool = False) -> list[Send]:
        """Tell the surroundings of this host if it changed."""
        return self.surroundings.tell(self.view(), self.links_ms, always=always)

    def measure(self, background: Load, *, now_ms: float) -> list[Send]:
        """The load of what no flow of ours causes has been measured anew."""
        self.ledger.expire(now_ms=now_ms)
        self.ledger.measure(background)
        return self.tell()

    def link_changed(self, neighbour: str, link_ms: float) -> list[Send]:
        """A link to a neighbour is new or has another delay; a large change makes the ends behind it announce again."""
        before_ms = self.links_ms.get(neighbour)
        self.links_ms[neighbour] = link_ms
        self.links_ms = dict(sorted(self.links_ms.items()))
        self.pheromone.meet(neighbour)
        if before_ms is None:
            return self.tell(always=True)
        assert self.params.scent is None or self.params.scent.change_share > 0
        if self.params.scent is None or abs(link_ms - before_ms) <= self.params.scent.change_share * before_ms:
            return []
        return [Send(destination, Announce(destination)) for destination in self.scents.forget(neighbour)]

    def link_lost(self, neighbour: str) -> list[Send]:
        """A neighbour died, or the link to it did."""
        self.links_ms.pop(neighbour, None)
        self.pheromone.lose(neighbour)
        self.surroundings.forget(neighbour)
        stale = self.scents.forget(neighbour)
        if self.params.scent is None:
            return []
        return [Send(destination, Announce(destination)) for destination in stale if destination != neighbour]

    def _walker(self, ant: RoutingAnt | ScoutingAnt, now_ms: float, rng: Random) -> list[Effect]:
        starting = ant.trail.hops == 0 and len(ant.trail.hosts) == 1
        destination = ant.destination if isinstance(ant, RoutingAnt) else ant.order.end
        if starting and self.params.scent is not None and self.scents.distance_ms(destination) is None:
            return self._park(ant, destination)
        if isinstance(ant, RoutingAnt):
            return routing.step(ant, self, self.params.routing, now_ms=now_ms, rng=rng)
        return scouting.step(ant, self, self.params.scouting, now_ms=now_ms, rng=rng)

    def _park(self, ant: RoutingAnt | ScoutingAnt, destination: str) -> list[Effect]:
        """Nothing smells of this destination yet: ask it to announce itself, and let the ant wait for the wave."""
        parked = self._parked.setdefault(destination, [])
        parked.append(ant)
        del parked[:-_MAX_PARKED]
        return [Send(destination, Announce(destination))] if len(parked) == 1 else []

    def _smell(self, scent: Scent, now_ms: float, rng: Random) -> list[Effect]:
        effects: list[Effect] = [*self.scents.smell(scent, self.links_ms, self.pheromone, now_ms=now_ms)]
        for ant in self._parked.pop(scent.destination, []):
            effects += self._walker(ant, now_ms, rng)
        return effects

    def _enforce(self, ant: EnforcementAnt, now_ms: float, _: Random) -> list[Effect]:
        return [*enforcement.step(ant, self, self.params.enforcement, now_ms=now_ms), *self.tell()]

    def _book(self, message: Activation | Cancellation | Release, now_ms: float, _: Random) -> list[Effect]:
        self.ledger.expire(now_ms=now_ms)
        if isinstance(message, Activation):
            self.ledger.activate(message.flow, message.epoch)
        elif isinstance(message, Cancellation):
            self.ledger.cancel(message.flow, message.epoch)
        else:
            self.ledger.release(message.flow, message.epoch)
        return [*self.tell()]
