"""Scouting ants: try a hypothetical placement on a way to the destination, and bring its price home (Ants 3.7).

Two rules from the same code: GREEDY is the paper's scout, PROGRAMME is ours. Both walk by pheromone like routing ants,
both fail at the destination if a task is left, and enough failures on one trail send one scout home to weaken it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, Protocol

from placement.ants.beside import best_beside
from placement.ants.desk import Desk, Folder, Stamp
from placement.ants.dream import stations
from placement.ants.effects import Home, Lost, Send
from placement.ants.greedy import place_greedily, shift
from placement.ants.host_view import HostView
from placement.ants.letters import home_or_letter
from placement.ants.order import Anchor, Offer, Order, ScoutReport, Serving, Spot
from placement.ants.pricing import Pricer
from placement.ants.programme import Candidate, Distances, Way, Ways, anchored, cut_back, extend, finish, no_tasks_yet
from placement.ants.routing import RoutingCell, walk_on
from placement.ants.sizes import ENVELOPE_BYTES, carried_bytes, scout_bytes
from placement.ants.tapping import offers, tapped, with_taps
from placement.ants.trail import Trail
from placement.atlas import Atlas
from placement.chance import Chance
from placement.queueing import UTILISATION_CAP

_TRAILS_KEPT = 4096
"""Trails on which scouts failed that a cell remembers; that of the oldest failure is forgotten first. Nobody tells a
destination that a flow has ended, or that no scout will come that way again."""


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
    dreaming: float = 0.5
    """Share of scouts that go where they dream, in a network with an atlas."""
    dreams: int = 2
    """Worlds that a dreaming scout imagines."""
    shift: bool = False
    queues: bool = False
    """Whether scouts wait in server queues like data. Ours have a topic of their own; routing ants measure queues."""
    reuse: bool = True
    """Tap an equal task of another flow where one runs."""
    failures_to_weaken: int = 3
    max_hops: int = 200
    """As for routing ants: where those get through, so must scouts, also by way of another end."""

    def __post_init__(self) -> None:
        if not 0 < self.least_alpha <= self.most_alpha <= 1:
            raise ValueError(f"alpha from {self.least_alpha} to {self.most_alpha}; give a rising pair in (0, 1]")
        for name in ("explore", "dreaming"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give a share from 0 to 1")
        for name, least in (
            ("dreams", 1),
            ("nearby_hosts", 0),
            ("ways_kept", 1),
            ("failures_to_weaken", 1),
            ("max_hops", 1),
        ):
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
    destination: str
    """Where it walks now: the order's end, or first another end that pulls at the order's tasks."""
    trail: Trail
    ways: Ways
    alpha: float
    greed: int
    stage: Stage = Stage.OUT
    way: Way | None = None
    byte_hops: float = 0.0
    dreamed: tuple[str, ...] | None = None
    """Hosts it has still to look at, one hop each; None: it walks by pheromone."""


@dataclass(frozen=True, slots=True)
class ScoutFailed:
    """News to the leader: scouts keep failing on a trail, and it has been weakened."""

    round: int
    chain: int
    byte_hops: float = 0.0


class Failures(NamedTuple):
    """Scouts of one flow that failed at the end of one trail."""

    scouts: int = 0
    greeds: frozenset[int] = frozenset()

    def enough(self, order: Order, params: ScoutingParams) -> bool:
        """Whether the trail is to be weakened."""
        # Ants 3.7: scouts that failed must have been of different greed. As many levels as failures are asked for, or
        # all that a short chain has. Our scouts try every length of a segment and know no greed: each of them counts.
        levels = min(params.failures_to_weaken, len(order.tasks)) if params.rule is Rule.GREEDY else 1
        return self.scouts >= params.failures_to_weaken and len(self.greeds) >= levels


class ScoutingCell(RoutingCell, Protocol):
    """What a scout sees of a cell."""

    failures: dict[tuple[str, tuple[str, ...]], Failures]
    """(flow, trail) to those of its scouts that failed at the end of it, the last to fail last."""
    desk: Desk
    distances: Distances

    def serving(self) -> list[tuple[Serving, float]]:
        """The tasks that run here and around here and may be tapped, with their distance."""
        ...

    def stamp(self, ends: Sequence[str]) -> Stamp:
        """Changes whenever prices here may have changed, or the ways to these ends."""
        ...

    def view(self) -> HostView:
        """This host."""
        ...

    def near(self) -> list[tuple[HostView, float]]:
        """Hosts around it, with their distance."""
        ...

    def near_ms(self) -> dict[str, float]:
        """Their distances by name."""
        ...

    def anchor_ms(self, host: str, offset_ms: float, anchor: Anchor) -> float:
        """Estimated delay between a host near this cell and an end that pulls at a task."""
        ...

    def atlas(self) -> Atlas | None:
        """All hosts with their delays; None where cells know only their surroundings."""
        ...


def scout(order: Order, home: str, params: ScoutingParams, *, rng: Chance, via: str = "") -> ScoutingAnt:
    """A new scout, with its own load cap and greediness (Ants 3.7). It walks by way of `via` if one is given."""
    alpha = rng.uniform(params.least_alpha, params.most_alpha)
    greed = rng.randint(1, len(order.tasks))
    trail = Trail.start(order.start)
    return ScoutingAnt(order, home, via or order.end, trail, no_tasks_yet(order), alpha, greed)


def step(
    ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams, *, now_ms: float, rng: Chance
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
    ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams, *, now_ms: float, rng: Chance
) -> list[Send | Home | Lost]:
    order = ant.order
    if ant.trail.hops == 0:
        dreamed = _dreamed(order, cell, params, rng=rng)
        ant = ant if dreamed is None else replace(ant, dreamed=dreamed)
    ways = _placed_here(ant, cell, params)
    if ant.dreamed is not None and (ant.dreamed or cell.host != order.end):
        return _follow_dream(replace(ant, ways=ways), ant.dreamed, cell)
    if cell.host == ant.destination and ant.destination != order.end:
        trail = ant.trail
        here = Trail((cell.host,), trail.elapsed_ms[-1:], trail.distance_ms[-1:], trail.age_ms, trail.hops)
        ant = replace(ant, destination=order.end, trail=here)
    elif cell.host == order.end and ant.destination == order.end:
        way = finish(ways, order, ant.trail, cell.distances)
        if way is not None:
            done = replace(ant, stage=Stage.HOME, way=way, ways=())
            # Ants 3.7: the scout retraces its steps and may shift tasks on the way. Else it goes straight home.
            return _homeward(done, cell) if params.shift else _report(done, cell)
        return _fail(ant, cell, params)
    onward = walk_on(
        ant.trail, ant.destination, cell, max_hops=params.max_hops, now_ms=now_ms, rng=rng, explore=params.explore
    )
    if isinstance(onward, str):
        return [Lost(ant, onward)]
    if len(onward.hosts) <= len(ant.trail.hosts):
        ways = cut_back(ways, onward.distance_ms[-1])
    return [Send(onward.last, _hopped(ant, onward, ways), queued=params.queues and onward.last != ant.destination)]


def _dreamed(order: Order, cell: ScoutingCell, params: ScoutingParams, *, rng: Chance) -> tuple[str, ...] | None:
    """Where a scout that leaves here goes to look, if it is one that dreams."""
    atlas = cell.atlas()
    if atlas is None or not atlas.knows(order.start, order.end) or params.rule is Rule.GREEDY:
        return None
    if rng.random() >= params.dreaming:
        return None
    known = {view.host: view.load.rho for view, _ in cell.near()} | {cell.host: cell.view().load.rho}
    return stations(order, atlas, known, dreams=params.dreams, rng=rng)


def _follow_dream(ant: ScoutingAnt, dreamed: tuple[str, ...], cell: ScoutingCell) -> list[Send | Home | Lost]:
    """One hop to the next host it dreamed of, or to the end."""
    target, left = (dreamed[0], dreamed[1:]) if dreamed else (ant.order.end, ())
    delay_ms = cell.distances.exact(cell.host, target) if cell.distances.exact is not None else None
    assert delay_ms is not None, "a cell with an atlas knows all delays"
    onward = ant.trail.leave(target, wait_ms=0.0, link_ms=delay_ms)
    if onward is None:
        return [Lost(ant, "a cycle took more than half its life")]
    ant = replace(ant, trail=onward, dreamed=left, destination=ant.order.end)
    return [Send(target, _counted(ant))]


class _Visit(NamedTuple):
    """A scout that looks at a cell, with the cell's folder of its order."""

    ant: ScoutingAnt
    cell: ScoutingCell
    params: ScoutingParams
    folder: Folder


def _placed_here(ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams) -> Ways:
    """The scout's ways after it has looked at this cell."""
    found = offers(ant.order, cell.serving()) if params.reuse and ant.order.tappable else []
    stamp = cell.stamp(ant.order.pulling)
    folder = cell.desk.open(ant.order, ant.alpha, stamp=stamp, lasting=cell.distances.exact is None)
    if params.rule is Rule.GREEDY:
        return _greedy(_Visit(ant, cell, params, folder), found)
    if found:
        ant = replace(ant, ways=with_taps(ant.ways, ant.order, found, position_ms=ant.trail.distance_ms[-1]))
    question = (ant.trail.distance_ms[-1], ant.ways)
    got = cell.desk.recall(folder, question)
    if got is None:
        got = _programme(_Visit(ant, cell, params, folder))
        cell.desk.remember(folder, question, got)
    return got


def _greedy(visit: _Visit, found: list[tuple[int, Offer, float]]) -> Ways:
    ant, cell = visit.ant, visit.cell
    (way,) = next(row for row in reversed(ant.ways) if row)
    here = _candidate(visit, cell.view(), 0.0)
    # Ants 3.10: where the task to be placed runs already on this host, it is reused, whatever it costs.
    further = [(position, offer) for position, offer, _ in found if offer.host == cell.host]
    further = [(position, offer) for position, offer in further if position >= len(way.spots)]
    if further:
        position, offer = max(further, key=lambda each: (each[0], -each[1].age_ms))
        way = tapped(ant.order, position, offer, here.spot)
    way = place_greedily(way, ant.order, here, cell.distances, greed=ant.greed)
    return tuple((way,) if count == len(way.spots) else () for count in range(len(ant.order.tasks) + 1))


def _programme(visit: _Visit) -> Ways:
    ant, cell, params, _ = visit
    here = _candidate(visit, cell.view(), 0.0)
    beside = [_candidate(visit, view, offset_ms) for view, offset_ms in _best_nearby(visit)]
    # The cell's own host again at the end: a way may come back from beside the trail.
    candidates = [here, *beside, here] if beside else [here]
    ways = anchored(ant.ways, cell.near_ms(), here.spot, cell.distances)
    return extend(ways, ant.order, candidates, cell.distances, keep=params.ways_kept)


def _pricer(visit: _Visit, view: HostView) -> Pricer:
    ant, cell, params, folder = visit
    if view.host != cell.host:
        view = ant.order.corrected.get(view.host, view)
    loop_ms = cell.distances.loop(view.host)
    return cell.desk.pricer(folder, ant.order, view, cap=ant.alpha, social=params.social, loop_ms=loop_ms)


def _candidate(visit: _Visit, view: HostView, offset_ms: float) -> Candidate:
    ant, cell, params, _ = visit
    order = ant.order
    pulls = []
    for anchors in order.anchors:
        exact_ms = steer_ms = 0.0
        for anchor in anchors:
            pull_ms = order.flow.weight * anchor.share * cell.anchor_ms(view.host, offset_ms, anchor)
            if anchor.exact:
                exact_ms += pull_ms
            elif params.join_hint:
                steer_ms += pull_ms
        pulls.append((exact_ms, steer_ms))
    spot = Spot(view.host, ant.trail.distance_ms[-1], offset_ms)
    return Candidate(_pricer(visit, view), spot, tuple(pulls))


def _best_nearby(visit: _Visit) -> list[tuple[HostView, float]]:
    few, folder = visit.params.nearby_hosts, visit.folder
    if folder.nearby is None:
        near = visit.cell.near() if few else ()
        folder.nearby = best_beside(visit.ant.order, near, lambda view: _pricer(visit, view), few=few)
    return folder.nearby


def _fail(ant: ScoutingAnt, cell: ScoutingCell, params: ScoutingParams) -> list[Send | Home | Lost]:
    """A task is left at the destination. Enough failures on the same trail: one goes home and weakens it."""
    key = (ant.order.flow.name, ant.trail.hosts)
    before = cell.failures.pop(key, Failures())
    failed = Failures(before.scouts + 1, before.greeds | {ant.greed})
    if not failed.enough(ant.order, params):
        cell.failures[key] = failed
        if len(cell.failures) > _TRAILS_KEPT:
            del cell.failures[next(iter(cell.failures))]
        return [Lost(ant, "tasks were left at the destination")]
    return _homeward(replace(ant, stage=Stage.WEAKENING, ways=()), cell)


def _shifted(ant: ScoutingAnt, way: Way, cell: ScoutingCell, params: ScoutingParams) -> Way:
    here = Pricer(ant.order, cell.view(), cap=ant.alpha, social=params.social)
    near = [
        (Pricer(ant.order, view, cap=ant.alpha, social=params.social), offset_ms)
        for view, offset_ms in cell.near()
        if view.host in cell.links_ms
    ]
    end = Spot(ant.order.end, ant.trail.distance_ms[-1], 0.0)
    return shift(way, ant.order, here, near, trail_end=end, distances=cell.distances)


def _homeward(ant: ScoutingAnt, cell: ScoutingCell) -> list[Send | Home | Lost]:
    towards_start = ant.trail.before(cell.host)
    return [Send(towards_start, _counted(ant))] if towards_start is not None else _report(ant, cell)


def _report(ant: ScoutingAnt, cell: ScoutingCell) -> list[Send | Home | Lost]:
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
        len(ant.trail.hosts) - 1 if cell.distances.exact is None else way.edges_between_hosts(order.start, order.end),
        ant.byte_hops,
        way.tap,
        way.covered,
    )
    return home_or_letter(cell.host, ant.home, order.flow.name, report)


def _counted(ant: ScoutingAnt) -> ScoutingAnt:
    return replace(ant, byte_hops=ant.byte_hops + ENVELOPE_BYTES + scout_bytes(ant))


def _hopped(ant: ScoutingAnt, trail: Trail, ways: Ways) -> ScoutingAnt:
    """The scout one hop further, counted. Written out, once: two calls of `replace` take a tenth of a scout's visit."""
    byte_hops = ant.byte_hops + ENVELOPE_BYTES + carried_bytes(ant.order, trail, ways, ant.way, ant.dreamed)
    return ScoutingAnt(
        ant.order,
        ant.home,
        ant.destination,
        trail,
        ways,
        ant.alpha,
        ant.greed,
        ant.stage,
        ant.way,
        byte_hops,
        ant.dreamed,
    )
