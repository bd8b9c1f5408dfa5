"""Trace: what happened in a run, line by line, and one number that stands for all of it."""

import hashlib
import math
from collections.abc import Callable
from typing import Any

from placement.ants.enforcement import Activation, Cancellation, Enforced, EnforcementAnt, Release
from placement.ants.letters import Letter
from placement.ants.measuring import Measured, MeasuringAnt
from placement.ants.order import ScoutReport
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import ScoutingAnt
from placement.ants.surroundings import Digest
from placement.leader_events import GaveUp, Published, Stayed
from placement.scent import Scent

Line = dict[str, Any]


def describe(now_ms: float, where: str, what: Any) -> Line:
    """One line of a trace: plain values, ready for JSON."""
    line: Line = {"ms": round(now_ms, 6), "at": where, "what": type(what).__name__}
    return line | _details(what)


def _details(what: Any) -> Line:
    tell = _TELL.get(type(what))
    return tell(what) if tell is not None else {}


def _published(what: Published) -> Line:
    spots = [list(spot) for spot in what.plan.placement.spots]
    plan: Line = {"flow": what.plan.flow, "epoch": what.plan.epoch, "hash": what.plan.hash, "spots": spots}
    return plan | {"cost": what.cost_ms, "why": what.reason}


def _stayed(what: Stayed) -> Line:
    now = what.now_cost_ms if math.isfinite(what.now_cost_ms) else None
    return {"flow": what.flow, "now": now, "best": what.best_cost_ms, "why": what.why}


def _epoch(what: Activation | Release | Cancellation) -> Line:
    return {"flow": what.flow, "epoch": what.epoch}


_TELL: dict[type, Callable[[Any], Line]] = {
    RoutingAnt: lambda ant: {
        "to": ant.destination,
        "hops": ant.trail.hops,
        "age": ant.trail.age_ms,
        "home": ant.homeward,
    },
    ScoutingAnt: lambda ant: {
        "to": ant.destination,
        "flow": ant.order.flow.name,
        "stage": ant.stage.value,
        "hops": ant.trail.hops,
    },
    ScoutReport: lambda report: {
        "flow": report.flow,
        "cost": report.cost_ms,
        "score": report.score_ms,
        "hosts": list(report.hosts),
    },
    EnforcementAnt: lambda ant: {
        "flow": ant.flow.name,
        "epoch": ant.epoch,
        "phase": ant.phase.value,
        "why": ant.why,
    },
    Scent: lambda scent: {"to": scent.destination, "epoch": scent.epoch, "distance": scent.distance_ms},
    Digest: lambda digest: {"of": digest.view.host, "rho": digest.view.load.rho, "serial": digest.serial},
    Letter: lambda letter: {"flow": letter.flow, "news": _details(letter.news)},
    MeasuringAnt: lambda ant: {"flow": ant.flow.name, "cost": ant.cost_ms},
    Measured: lambda news: {"cost": news.cost_ms, "own": news.own_ms},
    Activation: _epoch,
    Release: _epoch,
    Cancellation: _epoch,
    Enforced: lambda news: {"epoch": news.epoch, "committed": news.committed, "why": news.why},
    Published: _published,
    GaveUp: lambda news: {"flow": news.flow, "why": news.why},
    Stayed: _stayed,
}


class TraceHash:
    """An observer that folds a run into one number: two runs with the same number were the same, event by event."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.lines = 0

    def __call__(self, now_ms: float, where: str, what: Any) -> None:
        """Take one event."""
        self._hash.update(repr(describe(now_ms, where, what)).encode())
        self.lines += 1

    def digest(self) -> str:
        """The number, in hex."""
        return self._hash.hexdigest()


def both(*observers: Callable[[float, str, Any], None]) -> Callable[[float, str, Any], None]:
    """One observer that tells several."""

    def tell(now_ms: float, where: str, what: Any) -> None:
        for observer in observers:
            observer(now_ms, where, what)

    return tell
