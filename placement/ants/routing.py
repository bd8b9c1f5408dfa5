"""Routing ants: forward they look for a way to the destination, homeward they teach it to the cells (Ants 3.4, 3.5).

One `step` is one visit to one cell. Forward ants wait in server queues like data; homeward ants skip them.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from placement.ants.effects import Home, Lost, Send
from placement.ants.letters import home_or_letter
from placement.ants.sizes import ENVELOPE_BYTES, routing_bytes
from placement.ants.trail import Trail
from placement.chance import Chance
from placement.pheromone import PheromoneTable


@dataclass(frozen=True, slots=True)
class RoutingParams:
    """Limits of one routing ant."""

    max_hops: int = 200

    def __post_init__(self) -> None:
        if self.max_hops < 1:
            raise ValueError(f"max_hops is {self.max_hops}; an ant needs at least 1")


@dataclass(frozen=True, slots=True)
class RoutingAnt:
    """A routing ant in transit. `round` tells the leader which release it belongs to."""

    flow: str
    round: int
    destination: str
    trail: Trail
    home: str
    """Where the leader lives; ants of a branch start elsewhere."""
    homeward: bool = False


@dataclass(frozen=True, slots=True)
class RoutingAntReturned:
    """News to the leader: an ant found a way and is back."""

    round: int
    destination: str
    trip_ms: float
    distance_ms: float
    """Propagation alone, without queues, by the shortest way that the ant or its home knows."""
    byte_hops: float
    """What this ant cost the network."""


class RoutingCell(Protocol):
    """What an ant sees of a cell while it walks."""

    host: str
    pheromone: PheromoneTable
    links_ms: dict[str, float]

    def queue_wait_ms(self) -> float:
        """Time a message waits in this host's server queue."""
        ...

    def straight_ms(self, destination: str) -> float:
        """Delay of the shortest way to a destination that this cell knows of; infinite if it knows none."""
        ...


def step(
    ant: RoutingAnt, cell: RoutingCell, params: RoutingParams, *, now_ms: float, rng: Chance
) -> list[Send | Home | Lost]:
    """One visit of an ant to a cell."""
    return _homeward(ant, cell, now_ms=now_ms) if ant.homeward else _forward(ant, cell, params, now_ms=now_ms, rng=rng)


def walk_on(
    trail: Trail,
    destination: str,
    cell: RoutingCell,
    *,
    max_hops: int,
    now_ms: float,
    rng: Chance,
    explore: float = 0.0,
) -> Trail | str:
    """Choose the next hop by pheromone; the longer trail, or why the ant ends here. Scouts walk the same way."""
    vector = cell.pheromone.vector(destination, now_ms=now_ms)
    next_host = vector.choose(rng, now_ms=now_ms, visited=trail.hosts, explore=explore)
    if next_host is None or next_host not in cell.links_ms:
        return "no neighbour to walk to"
    if trail.hops >= max_hops:
        return f"older than {max_hops} hops"
    longer = trail.leave(next_host, wait_ms=cell.queue_wait_ms(), link_ms=cell.links_ms[next_host])
    return "a cycle took more than half its life" if longer is None else longer


def _forward(
    ant: RoutingAnt, cell: RoutingCell, params: RoutingParams, *, now_ms: float, rng: Chance
) -> list[Send | Home | Lost]:
    if cell.host == ant.destination:
        return _homeward(replace(ant, homeward=True), cell, now_ms=now_ms)
    onward = walk_on(ant.trail, ant.destination, cell, max_hops=params.max_hops, now_ms=now_ms, rng=rng)
    if isinstance(onward, str):
        return [Lost(ant, onward)]
    longer = RoutingAnt(ant.flow, ant.round, ant.destination, onward, ant.home)
    # The trail names the host it now travels to: a cut cycle ends there too.
    return [Send(onward.last, longer, queued=onward.last != ant.destination)]


def _homeward(ant: RoutingAnt, cell: RoutingCell, *, now_ms: float) -> list[Send | Home | Lost]:
    came_from = ant.trail.after(cell.host)
    if came_from is not None:
        vector = cell.pheromone.vector(ant.destination, now_ms=now_ms)
        vector.reinforce(came_from, ant.trail.trip_ms(cell.host), now_ms=now_ms)
    towards_source = ant.trail.before(cell.host)
    if towards_source is None:
        trail = ant.trail
        byte_hops = (trail.hops + len(trail.hosts)) * (ENVELOPE_BYTES + routing_bytes(len(trail.hosts)))
        distance_ms = min(trail.distance_ms[-1], cell.straight_ms(ant.destination))
        news = RoutingAntReturned(ant.round, ant.destination, trail.elapsed_ms[-1], distance_ms, byte_hops)
        return home_or_letter(cell.host, ant.home, ant.flow, news)
    return [Send(towards_source, ant)]
