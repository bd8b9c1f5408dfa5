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
    found: Line = {}
    match what:
        case RoutingAnt():
            found = {"to": what.destination, "hops": what.trail.hops, "age": what.trail.age_ms, "home": what.homeward}
        case ScoutingAnt():
            found = {"to": what.destination, "flow": what.order.flow.name, "stage": what.stage.value}
            found["hops"] = what.trail.hops
        case ScoutReport():
            found = {"flow": what.flow, "cost": what.cost_ms, "score": what.score_ms, "hosts": list(what.hosts)}
        case EnforcementAnt():
            found = {"flow": what.flow.name, "epoch": what.epoch, "phase": what.phase.value, "why": what.why}
        case Scent():
            found = {"to": what.destination, "epoch": what.epoch, "distance": what.distance_ms}
        case Digest():
            found = {"of": what.view.host, "rho": what.view.load.rho, "serial": what.serial}
        case Letter():
            found = {"flow": what.flow, "news": _details(what.news)}
        case MeasuringAnt():
            found = {"flow": what.flow.name, "cost": what.cost_ms}
        case Measured():
            found = {"cost": what.cost_ms, "own": what.own_ms}
        case Activation() | Release() | Cancellation():
            found = {"flow": what.flow, "epoch": what.epoch}
        case Enforced():
            found = {"epoch": what.epoch, "committed": what.committed, "why": what.why}
        case Published():
            spots = [list(spot) for spot in what.plan.placement.spots]
            found = {"flow": what.plan.flow, "epoch": what.plan.epoch, "hash": what.plan.hash, "spots": spots}
            found |= {"cost": what.cost_ms, "why": what.reason}
        case GaveUp():
            found = {"flow": what.flow, "why": what.why}
        case Stayed():
            now = what.now_cost_ms if math.isfinite(what.now_cost_ms) else None
            found = {"flow": what.flow, "now": now, "best": what.best_cost_ms, "why": what.why}
        case _:
            pass
    return found


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
