"""Scouting ants: try a hypothetical placement on a way to the destination, and bring its price home (Ants 3.7).

Two rules from the same code: GREEDY is the paper's scout, PROGRAMME is ours. Both walk by pheromone like routing ants,
both fail at the destination if a task is left, and enough failures on one trail send one scout home to weaken it.
"""

from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import Protocol

from placement.ants.effects import Home, Lost, Send
from placement.ants.greedy import place_greedily, shift
from placement.ants.letters import home_or_letter
from placement.ants.order import Order, ScoutReport, Spot
from placement.ants.pricing import Pricer
from placement.ants.programme import Candidate, Way, Ways, anchored, extend, finish, no_tasks_yet
from placement.ants.routing import RoutingCell, walk_on
from placement.ants.sizes import ENVELOPE_BYTES, scout_bytes
from placement.ants.surroundings import HostView
from placement.ants.trail import Trail
from placement.queueing import UTILISATION_CAP


class Rule(Enum):
    """How a scout chooses hosts."""

    GREEDY = "greedy"
    PROGRAMME = "programme"


@dataclass(frozen=True, slots=True)
class ScoutingParams:
    """What all scouts of a leader have in common."""

    rule: Rule = Rule.PROGRAMME
    least_alpha: float = UTILISATION_CAP
    most_alpha: float = UTILISATION_CAP
    """Each scout draws its load cap alpha between these."""
    social: bool = True
    """Count what the newcomer adds to the flows already there."""
    join_hint: bool = True
    """Let ends beside the chain pull at its tasks."""
    nearby_hosts: int = 3
    """Hosts beside the trail that a scout considers at each cell; 0 keeps it to the trail."""
    ways_kept: int = 6
    explore: float = 0.1
    """Share of hops that ignore the pheromone."""
    shift: bool = False
    failures_to_weaken: int = 3
    max_hops: int = 200

    def __post_init__(self) -> None:
        if not 0 < self.least_alpha <= self.most_alpha <= 1:
            raise ValueError(f"alpha from {self.least_alpha} to {self.most_alpha}; give a rising pair in (0, 1]")
        if not 0 <= self.explore <= 1:
            raise ValueError(f"explore is {self.explore}; give a share from 0 to 1")
        for name, least in (("nearby_hosts", 0), ("ways_kept", 1), ("failures_to_weaken", 1), ("max_hops", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; give at least {least}")


class Stage(Enum):
    """What a scout is doing."""

    OUT = "out"
    HOME = "home"
    WEAKENING = "weakening"


@dataclass(frozen=True, slots=True)
class ScoutingAnt:
    """A scout in transit."""

    order: Order
    home: str
    trail: Trail
    ways: Ways
    alpha: float
    greed: int
    stage: Stage = Stage.OUT
    way: Way | None = None
    byte_hops: float = 0.0


@dataclass(frozen=True, slots=True)
class ScoutFailed:
    """News to the leader: scouts keep failing on a trail, and it has been weakened."""

    round: int
    chain: int
    byte_hops: float = 0.0


class ScoutingCell(RoutingCell, Protocol):
    """What a scout sees of a cell."""

    failures: dict[tuple[str, tuple[str, ...]], int]

    def view(self) -> HostView:
        """This host."""
        ...

    def near(self) -> list[tuple[HostView, float]]:
        """Hosts around it, with their distance."""
        ...

    def distance(self, origin: str, target: str) -> float | None:
        """Direct delay between two hosts if the cell knows it."""
        ...

    def anchor_ms(self, host: str, offset_ms: float, anchor: str) -> float:
        """Estimated delay from a host near this cell to an end that announced itself."""
        ...


def scout(order: Order, home: str, params: ScoutingParams, *, rng: Random) -> ScoutingAnt:
    """A new scout, with its own load cap and greediness (Ants 3.7)."""
    alpha = rng.uniform(params.least_alpha, params.most_alpha)
    greed = rng.randint(1, len(order.tasks))
    return ScoutingAnt(order, home, Trail.start(order.start), no_tasks_yet(order), alpha, greed)


def step(
    ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams, *, now_ms: float, rng: Random
) -> list[Send | Home | Lost]:
    """One visit of a scout to a cell."""
    if ant.stage is Stage.OUT:
        return _outward(ant, cell, params, now_ms=now_ms, rng=rng)
    if ant.stage is Stage.WEAKENING:
        came_from = ant.trail.after(cell.host)
        if came_from is not None:
            cell.pheromone.vector(ant.order.end, now_ms=now_ms).weaken(came_from)
    elif params.shift and ant.way is not None:
        ant = replace(ant, way=_shifted(ant, ant.way, cell, params))
    return _homeward(ant, cell)


def _outward(
    ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams, *, now_ms: float, rng: Random
) -> list[Send | Home | Lost]:
    order = ant.order
    ant = replace(ant, ways=_placed_here(ant, cell, params))
    if cell.host == order.end:
        way = finish(ant.ways, order, ant.trail, cell.distance)
        if way is not None:
            return _homeward(replace(ant, stage=Stage.HOME, way=way, ways=()), cell)
        return _fail(ant, cell, params)
    onward = walk_on(
        ant.trail, order.end, cell, max_hops=params.max_hops, now_ms=now_ms, rng=rng, explore=params.explore
    )
    if isinstance(onward, str):
        return [Lost(ant, onward)]
    return [Send(onward.last, _counted(replace(ant, trail=onward)), queued=onward.last != order.end)]


def _placed_here(ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams) -> Ways:
    """The scout's ways after it has looked at this cell."""
    order, position_ms = ant.order, ant.trail.distance_ms[-1]
    here = _candidate(ant, cell, params, cell.view(), 0.0)
    if params.rule is Rule.GREEDY:
        (way,) = next(row for row in reversed(ant.ways) if row)
        way = place_greedily(way, order, here, cell.distance, greed=ant.greed)
        return tuple((way,) if count == len(way.spots) else () for count in range(len(order.tasks) + 1))
    beside = [_candidate(ant, cell, params, view, offset_ms) for view, offset_ms in _best_nearby(ant, cell, params)]
    # The cell's own host again at the end: a way may come back from beside the trail.
    candidates = [here, *beside, here] if beside else [here]
    spots = {view.host: Spot(view.host, position_ms, offset_ms) for view, offset_ms in cell.near()}
    spots[cell.host] = here.spot
    ways = anchored(ant.ways, spots, here.spot, cell.distance)
    return extend(ways, order, candidates, cell.distance, keep=params.ways_kept)


def _candidate(
    ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams, view: HostView, offset_ms: float
) -> Candidate:
    order = ant.order
    pulls = []
    for anchors in order.anchors:
        exact_ms = steer_ms = 0.0
        for anchor in anchors:
            pull_ms = order.flow.weight * anchor.share * cell.anchor_ms(view.host, offset_ms, anchor.host)
            if anchor.exact:
                exact_ms += pull_ms
            elif params.join_hint:
                steer_ms += pull_ms
        pulls.append((exact_ms, steer_ms))
    pricer = Pricer(order, view, cap=ant.alpha, social=params.social)
    return Candidate(pricer, Spot(view.host, ant.trail.distance_ms[-1], offset_ms), tuple(pulls))


def _best_nearby(ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams) -> list[tuple[HostView, float]]:
    """The few hosts beside the trail most worth a detour: for one task, and for the whole chain."""
    if params.nearby_hosts == 0:
        return []
    order = ant.order
    share = order.shares[0]
    whole = order.masks[0][-1]
    middle = 1 << order.tasks[len(order.tasks) // 2]
    ranked: list[tuple[float, float, HostView, float]] = []
    for view, offset_ms in cell.near():
        pricer = Pricer(order, view, cap=ant.alpha, social=params.social)
        detour_ms = 2 * share * offset_ms * order.flow.weight
        one = pricer.adds(middle).cost_ms + detour_ms
        ranked.append((one, pricer.adds(whole).cost_ms + detour_ms, view, offset_ms))
    chosen = {entry[2].host: entry for entry in sorted(ranked, key=lambda e: (e[0], e[2].host))[: params.nearby_hosts]}
    chosen |= {entry[2].host: entry for entry in sorted(ranked, key=lambda e: (e[1], e[2].host))[: params.nearby_hosts]}
    return [(view, offset_ms) for _, (_, _, view, offset_ms) in sorted(chosen.items())]


def _fail(ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams) -> list[Send | Home | Lost]:
    """A task is left at the destination. Enough failures on the same trail: one goes home and weakens it."""
    key = (ant.order.flow.name, ant.trail.hosts)
    cell.failures[key] = cell.failures.get(key, 0) + 1
    if cell.failures[key] < params.failures_to_weaken:
        return [Lost(ant, "tasks were left at the destination")]
    del cell.failures[key]
    return _homeward(replace(ant, stage=Stage.WEAKENING, ways=()), cell)


def _shifted(ant: ScoutingAnt, way: Way, cell: ScoutingCell, params: ScoutingParams) -> Way:
    here = Pricer(ant.order, cell.view(), cap=ant.alpha, social=params.social)
    near = [
        (Pricer(ant.order, view, cap=ant.alpha, social=params.social), offset_ms)
        for view, offset_ms in cell.near()
        if view.host in cell.links_ms
    ]
    end = Spot(ant.order.end, ant.trail.distance_ms[-1], 0.0)
    return shift(way, ant.order, here, near, trail_end=end, distance=cell.distance)


def _homeward(ant: ScoutingAnt, cell: ScoutingCell) -> list[Send | Home | Lost]:
    towards_start = ant.trail.before(cell.host)
    if towards_start is not None:
        return [Send(towards_start, _counted(ant))]
    order = ant.order
    if ant.way is None:
        return home_or_letter(
            cell.host, ant.home, order.flow.name, ScoutFailed(order.round, order.chain, ant.byte_hops)
        )
    way = ant.way
    report = ScoutReport(
        order.flow.name,
        order.round,
        order.chain,
        tuple(spot.host for spot in way.spots),
        way.cost_ms,
        way.score_ms,
        way.own_ms,
        way.prices,
        len(ant.trail.hosts) - 1,
        ant.byte_hops,
    )
    return home_or_letter(cell.host, ant.home, order.flow.name, report)


def _counted(ant: ScoutingAnt) -> ScoutingAnt:
    return replace(ant, byte_hops=ant.byte_hops + ENVELOPE_BYTES + scout_bytes(ant))
