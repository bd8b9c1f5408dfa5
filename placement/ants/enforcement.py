"""Enforcement ants: carry out an approved plan, exactly or not at all (Ants 3.8; what the paper left open is ours).

Outward the ant visits each host of the plan, prices its tasks there anew and reserves room, with an expiry. At the
last host it turns round and commits on the way back. If a host has no room, has become too expensive, or a reservation
ran out, it turns back and cancels what it reserved. Nothing runs before the leader, with the ant back home, activates
the plan.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from placement.ants.effects import Home, Lost, Send
from placement.ants.host_view import HostView
from placement.ants.letters import home_or_letter
from placement.ants.order import Offer, Serving
from placement.cell_ledger import Booking, Ledger, State
from placement.evaluator_pricing import price_on_host
from placement.model import Flow
from placement.queueing import load_of


@dataclass(frozen=True, slots=True)
class EnforcementParams:
    """How strictly a plan is held to its report."""

    price_tolerance: float = 0.10
    """A host may have become this much more expensive than the report said."""
    tolerance_ms: float = 0.05
    """And this much in any case: ten per cent of nearly nothing is noise."""
    reservation_trips: float = 3.0
    reservation_spare_ms: float = 1_000.0
    """A reservation lasts this many round trips, plus this."""
    activation_ms: float = 60_000.0
    """A commitment waits this long for its activation; the leader activates within half of it or not at all."""

    def __post_init__(self) -> None:
        for name in ("price_tolerance", "tolerance_ms", "reservation_spare_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give 0 or more")
        if self.reservation_trips < 1 or self.activation_ms <= 0:
            raise ValueError("a reservation must last at least one trip, a commitment more than 0 ms")


class Pass(Enum):
    """What an enforcement ant is doing."""

    RESERVE = "reserve"
    COMMIT = "commit"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Leg:
    """An edge that enters a task at a stop, or leads from there to a sink; `far` is the host of its other end."""

    edge: int
    far: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The flow's tasks at one host of the plan, and the price that the scouts reported for them."""

    host: str
    mask: int
    """0: nothing of the flow runs here, it only taps."""
    price_ms: float
    taps: tuple[Offer, ...] = ()
    """What the flow taps here, as the scouts found it."""
    legs: tuple[Leg, ...] = ()
    """The edges that are priced here, for a flow that is held to its longest path."""


@dataclass(frozen=True, slots=True)
class EnforcementAnt:
    """An enforcement ant in transit, standing at or travelling to `stops[at]`."""

    flow: Flow
    epoch: int
    home: str
    stops: tuple[Stop, ...]
    trip_ms: float
    """Estimated time for one way through the stops and back: what reservations must outlast."""
    social: bool = True
    at: int = 0
    phase: Pass = Pass.RESERVE
    why: str = ""
    seniority: int = 0
    seen: HostView | None = None
    """The host that turned it back, as it is."""
    stale: Offer | None = None
    """What turned it back because it can't be tapped as reported, as it is."""
    edges_ms: tuple[tuple[int, float], ...] = ()
    """(edge, travel, wait and service) of the legs so far."""


@dataclass(frozen=True, slots=True)
class Enforced:
    """News to the leader: the plan of that epoch is committed everywhere, or why it is not."""

    epoch: int
    committed: bool
    why: str = ""
    seen: HostView | None = None
    """The host that had no room, or has become too dear: scouts that believed otherwise had old news of it."""
    stale: Offer | None = None
    """The offer that has gone (infinitely old) or grown old since the scouts heard of it."""
    edges_ms: tuple[tuple[int, float], ...] = ()
    """(edge, travel, wait and service) of a flow that is held to its longest path: the leader judges (decision 271)."""


@dataclass(frozen=True, slots=True)
class Activation:
    """From the leader to a host of the plan: this epoch runs now, earlier ones end here."""

    flow: str
    epoch: int
    home: str
    """Where the leader hears of it if the host has nothing committed: it died in between and came back empty."""


@dataclass(frozen=True, slots=True)
class Cancellation:
    """From the leader to a host: the enforcement of this epoch failed, and its ant may be lost."""

    flow: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Release:
    """From the leader to a host: everything of this flow up to and with that epoch ends here."""

    flow: str
    epoch: int


class EnforcementCell(Protocol):
    """What an enforcement ant sees of a cell."""

    host: str
    ledger: Ledger

    def view(self, *, without_flow: str = "") -> HostView:
        """This host, as if the flow were not there."""
        ...

    def age_ms(self, flow: str, task: str) -> float | None:
        """How old messages are when they leave a task that runs here; None if it does not."""
        ...

    def travel_ms(self, target: str) -> float:
        """Delay of data from this host to another it sends to, or to itself."""
        ...

    def arrival_ms(self, origin: str) -> float:
        """Delay of data from another host, or from itself, to this one."""
        ...


def step(
    ant: EnforcementAnt, cell: EnforcementCell, params: EnforcementParams, *, now_ms: float
) -> list[Send | Home | Lost]:
    """One visit of an enforcement ant to a host of its plan."""
    cell.ledger.expire(now_ms=now_ms)
    if ant.phase is Pass.RESERVE:
        return _reserve(ant, cell, params, now_ms=now_ms)
    if ant.stops[ant.at].mask == 0:
        return _back(ant, cell)  # it only taps here, and the serving leader holds that
    if ant.phase is Pass.COMMIT:
        firm = cell.ledger.commit(ant.flow.name, ant.epoch, expires_ms=now_ms + params.activation_ms)
        if not firm:
            ant = replace(ant, phase=Pass.CANCEL, why=f"{cell.host}: the reservation ran out before the ant came back")
    else:
        cell.ledger.cancel(ant.flow.name, ant.epoch)
    return _back(ant, cell)


def _reserve(
    ant: EnforcementAnt, cell: EnforcementCell, params: EnforcementParams, *, now_ms: float
) -> list[Send | Home | Lost]:
    stop = ant.stops[ant.at]
    stale = _stale_tap(stop, cell, params)
    if stale is not None:
        return _turn_back(replace(ant, stale=stale), _why_stale(stale, cell.host), cell)
    if stop.mask:
        refusal = _book(ant, stop, cell, params, now_ms=now_ms)
        if refusal is not None:
            return _turn_back(replace(ant, seen=replace(cell.view(), links=())), refusal, cell)
    if stop.legs:
        ant = replace(ant, edges_ms=ant.edges_ms + _legs_ms(ant.flow, stop, cell))
    if ant.at + 1 < len(ant.stops):
        return [Send(ant.stops[ant.at + 1].host, replace(ant, at=ant.at + 1))]
    if stop.mask:
        cell.ledger.commit(ant.flow.name, ant.epoch, expires_ms=now_ms + params.activation_ms)
    return _back(replace(ant, phase=Pass.COMMIT), cell)


def _legs_ms(flow: Flow, stop: Stop, cell: EnforcementCell) -> tuple[tuple[int, float], ...]:
    """What each leg takes: the way, and for an edge that enters this host from elsewhere its wait and service here."""
    graph, view = flow.graph, cell.view(without_flow=flow.name)
    here_ms: dict[int, float] = {}
    if stop.mask:
        wait_ms = price_on_host(graph, stop.mask, view.capacity, view.load).wait_ms
        here_ms = {edge: wait_ms + stream.path_work / view.capacity for edge, stream in graph.streams(stop.mask)}
    found = []
    for leg in stop.legs:
        way_ms = cell.travel_ms(leg.far) if graph.edges[leg.edge].to_sink else cell.arrival_ms(leg.far)
        found.append((leg.edge, way_ms + here_ms.get(leg.edge, 0.0)))
    return tuple(found)


def _stale_tap(stop: Stop, cell: EnforcementCell, params: EnforcementParams) -> Offer | None:
    """A task that can't be tapped here as the scouts reported, as it is; None if all can (Ants 3.10, end)."""
    for tap in stop.taps:
        age_ms = cell.age_ms(tap.flow, tap.task)
        if age_ms is None:
            return replace(tap, host=cell.host, age_ms=math.inf)
        if age_ms > tap.age_ms * (1 + params.price_tolerance) + params.tolerance_ms:
            return replace(tap, host=cell.host, age_ms=age_ms)
    return None


def _why_stale(tap: Offer, host: str) -> str:
    gone = math.isinf(tap.age_ms)
    what = "runs here no more" if gone else f"gives messages of {tap.age_ms:.2f} ms now, older than reported"
    return f"{host}: {tap.flow}/{tap.task} {what}"


def _book(
    ant: EnforcementAnt, stop: Stop, cell: EnforcementCell, params: EnforcementParams, *, now_ms: float
) -> str | None:
    """Price the tasks anew and reserve room for them; why not, if it can't be done."""
    graph = ant.flow.graph
    view = cell.view(without_flow=ant.flow.name)
    price = price_on_host(graph, stop.mask, view.capacity, view.load)
    cost_ms = ant.flow.weight * price.own_ms + (price.impact_ms if ant.social else 0.0)
    # Ants 3.8: the cost is recalculated at each server; beyond a threshold the ant returns without executing.
    allowed_ms = stop.price_ms * (1 + params.price_tolerance) + params.tolerance_ms
    if cost_ms > allowed_ms:
        return f"{cell.host}: costs {cost_ms:.2f} ms now, {stop.price_ms:.2f} ms were reported"
    load = load_of((stream for _, stream in graph.streams(stop.mask)), view.capacity)
    lasts_ms = params.reservation_trips * ant.trip_ms + params.reservation_spare_ms
    until_ms = now_ms + lasts_ms
    served = [ant.flow.tasks[task] for task in graph.tasks_in(stop.mask) if ant.flow.tasks[task].identity]
    serves = tuple(
        Serving(task.identity, ant.seniority, Offer(ant.flow.name, task.name, cell.host, ant.home, math.inf))
        for task in served
    )
    booking = Booking(ant.flow.name, ant.epoch, stop.mask, load, State.RESERVED, until_ms, ant.home, serves)
    refusal = cell.ledger.reserve(booking)
    return None if refusal is None else f"{cell.host}: {refusal}"


def _turn_back(ant: EnforcementAnt, why: str, cell: EnforcementCell) -> list[Send | Home | Lost]:
    return _back(replace(ant, phase=Pass.CANCEL, why=why), cell)


def _back(ant: EnforcementAnt, cell: EnforcementCell) -> list[Send | Home | Lost]:
    if ant.at > 0:
        return [Send(ant.stops[ant.at - 1].host, replace(ant, at=ant.at - 1))]
    news = Enforced(ant.epoch, ant.phase is Pass.COMMIT, ant.why, ant.seen, ant.stale, ant.edges_ms)
    return home_or_letter(cell.host, ant.home, ant.flow.name, news)
