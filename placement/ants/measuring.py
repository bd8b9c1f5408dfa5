"""Measuring ant: walks where a flow runs and brings home what it costs there now (Ants 3.9).

It asks the same price of each host that a scout would, as if the flow came new: the leader compares like with like.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from placement.ants.effects import Home, Lost, Send
from placement.ants.host_view import HostView
from placement.ants.letters import home_or_letter
from placement.evaluator_pricing import price_on_host
from placement.model import Flow


@dataclass(frozen=True, slots=True)
class Leg:
    """Messages from this stop to another host, with the share of the flow's paths that they carry."""

    to: str
    share: float


@dataclass(frozen=True, slots=True)
class TapHere:
    """A task of another flow that this flow taps here, with the share of the paths that it serves."""

    flow: str
    task: str
    share: float


@dataclass(frozen=True, slots=True)
class RunningStop:
    """One host where the flow runs or starts."""

    host: str
    mask: int
    legs: tuple[Leg, ...]
    taps: tuple[TapHere, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuringAnt:
    """A measuring ant in transit."""

    flow: Flow
    round: int
    home: str
    stops: tuple[RunningStop, ...]
    social: bool
    at: int = 0
    cost_ms: float = 0.0
    own_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """News to the leader: what the flow costs where it runs."""

    round: int
    cost_ms: float
    own_ms: float


class MeasuringCell(Protocol):
    """What a measuring ant sees of a cell."""

    host: str

    def view(self, *, without_flow: str = "") -> HostView:
        """This host, as if the flow were not there."""
        ...

    def travel_ms(self, target: str) -> float:
        """Measured delay of data sent from this host to another."""
        ...

    def age_ms(self, flow: str, task: str) -> float | None:
        """How old messages are when they leave a task that runs here; None if it does not."""
        ...


def step(ant: MeasuringAnt, cell: MeasuringCell) -> list[Send | Home | Lost]:
    """One visit: add up this host's price and the way of its messages to the next hosts."""
    stop = ant.stops[ant.at]
    weight = ant.flow.weight
    own_ms, impact_ms = 0.0, 0.0
    if stop.mask:
        view = cell.view(without_flow=ant.flow.name)
        price = price_on_host(ant.flow.graph, stop.mask, view.capacity, view.load)
        own_ms, impact_ms = price.own_ms, price.impact_ms if ant.social else 0.0
    own_ms += sum(leg.share * cell.travel_ms(leg.to) for leg in stop.legs)
    for tap in stop.taps:
        age_ms = cell.age_ms(tap.flow, tap.task)
        if age_ms is None:
            return [Lost(ant, f"{tap.flow}/{tap.task} does not run at {cell.host}")]
        own_ms += tap.share * age_ms
    ant = replace(ant, own_ms=ant.own_ms + own_ms, cost_ms=ant.cost_ms + weight * own_ms + impact_ms, at=ant.at + 1)
    if ant.at < len(ant.stops):
        return [Send(ant.stops[ant.at].host, ant)]
    return home_or_letter(cell.host, ant.home, ant.flow.name, Measured(ant.round, ant.cost_ms, ant.own_ms))
