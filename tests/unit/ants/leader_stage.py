"""A stage for a leader in tests: tell it what happens, see what it asks for."""

from dataclasses import replace
from random import Random
from typing import Any

from placement.ants.effects import Send
from placement.ants.enforcement import Enforced
from placement.ants.measuring import Measured
from placement.ants.order import Offer, ScoutReport
from placement.ants.params import IMPROVED
from placement.ants.routing import RoutingAntReturned
from placement.leader import Leader
from placement.leader_events import (
    Place,
    TimerFired,
)
from placement.leader_params import IMPROVED_LEADER, LeaderParams
from placement.leader_params import Release as AntRelease
from placement.model import Flow, Sink, Source, Task, chain

FLOW = chain("f", Source("in", "s", 0.01, message_bytes=1000.0), (Task("a", 4.0), Task("b", 4.0)), Sink("out", "d"))

PARAMS = replace(
    IMPROVED_LEADER,
    placing=AntRelease(routing_ants=3, enough_routing_ants=2, scouts=3, enough_reports=2),
    watching=AntRelease(routing_ants=2, enough_routing_ants=1, scouts=1, enough_reports=1),
    max_releases=2,
    max_attempts=2,
)


class Stage:
    """A leader with everything it was told and asked for."""

    def __init__(self, flow: Flow = FLOW, params: LeaderParams = PARAMS, *, seed: int = 1) -> None:
        self.leader = Leader(flow, params, IMPROVED, fastest_capacity=1.0)
        self.effects: list[Any] = []
        self.now_ms = 0.0
        self._seed = seed

    def tell(self, event: Any) -> list[Any]:
        self.effects = self.leader.step(event, now_ms=self.now_ms, rng=Random(self._seed))
        return self.effects

    def sent(self, kind: type) -> list[Any]:
        return [e.message for e in self.effects if isinstance(e, Send) and isinstance(e.message, kind)]

    def found(self, kind: type) -> list[Any]:
        return [e for e in self.effects if isinstance(e, kind)]

    @property
    def round(self) -> int:
        return self.leader.course.round

    def ants_return(self, count: int = 2, distance_ms: float = 30.0) -> None:
        for _ in range(count):
            self.tell(RoutingAntReturned(self.round, "d", 40.0, distance_ms, 100.0))

    def report(
        self, *hosts: str, cost_ms: float = 50.0, chain_number: int = 0, covered: int = 0, tap: Offer | None = None
    ) -> list[Any]:
        prices = tuple((host, 8.0) for host in dict.fromkeys(hosts[covered:]))
        about = ("f", self.round, chain_number, hosts, cost_ms, cost_ms, cost_ms, prices)
        return self.tell(ScoutReport(*about, hops=5, byte_hops=500.0, tap=tap, covered=covered))

    def placed(self, *hosts: str) -> "Stage":
        self.tell(Place())
        self.ants_return()
        self.report(*hosts)
        self.report(*hosts)
        self.tell(Enforced(self.leader.epoch, committed=True))
        return self

    def look_again(self, now_cost_ms: float) -> None:
        self.tell(TimerFired("rest"))
        self.tell(Measured(self.round, now_cost_ms, now_cost_ms))
        self.ants_return(1)
