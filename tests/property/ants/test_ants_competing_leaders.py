"""Real leaders over real cells, their messages delivered in any order: nothing is overbooked, and whoever fits gets in.

Hypothesis draws the order, so that a failure shrinks to the few messages that matter. Nothing is lost here: leaders
that were turned back try again until they run or the time is up.
"""

import itertools
import math
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placement.ants.effects import Home, Send, SetTimer
from placement.ants.params import IMPROVED
from placement.cell import Cell
from placement.leader import Leader
from placement.leader_events import Place, Published, TimerFired
from placement.leader_params import IMPROVED_LEADER, Release
from placement.model import Flow, Sink, Source, Task, chain
from placement.queueing import UTILISATION_CAP, Load

HOSTS = ("a", "b", "c")
SERVICE_VWU = 4.0
LEADERS = replace(
    IMPROVED_LEADER,
    placing=Release(routing_ants=2, enough_routing_ants=1, scouts=2, enough_reports=2),
    watch=False,
    retry_at_most_ms=20_000.0,
)
END_MS = 300_000.0
MOST_STEPS = 20_000


class Contest:
    """Cells, leaders, and what is on its way between them."""

    def __init__(self, rates: list[float], busy: list[float], schedule: list[int]) -> None:
        self.now_ms = 0.0
        self.running: set[str] = set()
        self._schedule = iter(schedule)
        self._waiting: list[tuple[str, Any]] = []
        self._timers: dict[tuple[str, str], float] = {}
        self._rng = Random(1)
        self.cells = {
            host: Cell(
                host,
                1.0,
                {other: 5.0 for other in HOSTS if other != host},
                IMPROVED,
                delay=lambda a, b: 0.0 if a == b else 5.0,
                direct=False,
                background=Load(rate_per_ms=0.1, rho=rho, square=rho, burst=0.1, rate_squares=0.01) if rho else Load(),
            )
            for host, rho in zip(HOSTS, busy, strict=True)
        }
        for host, cell in self.cells.items():
            self._carry_out(host, cell.tell(always=True))
        while self._waiting:
            self._deliver(0)
        self.leaders = {flow.name: _leader(flow) for flow in map(_flow, range(len(rates)), rates)}

    def run(self) -> None:
        """Let all place themselves at once, message by message in the order drawn, then in order of sending."""
        for name in self.leaders:
            self._tell(name, Place())
        for _ in range(MOST_STEPS):
            due = [key for key, at_ms in self._timers.items() if at_ms <= self.now_ms]
            if due:
                del self._timers[due[0]]
                self._tell(due[0][0], TimerFired(due[0][1]))
            elif self._waiting:
                drawn = next(self._schedule, 0)
                self.now_ms += (1.0, 10.0, 200.0)[drawn % 3]
                self._deliver(drawn % len(self._waiting))
            elif self._timers and self.now_ms < END_MS:
                self.now_ms = max(self.now_ms, min(self._timers.values()))
            else:
                return
            for cell in self.cells.values():
                assert UTILISATION_CAP > cell.ledger.load().rho, f"{cell.host} is overbooked"
        raise AssertionError("leaders and ants go on without end")

    def _deliver(self, which: int) -> None:
        host, message = self._waiting.pop(which)
        self._carry_out(host, self.cells[host].hear(message, now_ms=self.now_ms, rng=self._rng))

    def _tell(self, name: str, event: Any) -> None:
        leader = self.leaders[name]
        self._carry_out(leader.host, leader.step(event, now_ms=self.now_ms, rng=self._rng))

    def _carry_out(self, host: str, effects: list[Any]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._waiting.append((effect.to, effect.message))
            elif isinstance(effect, Home):
                self._tell(effect.flow, effect.news)
            elif isinstance(effect, SetTimer):
                self._timers[effect.flow, effect.name] = effect.at_ms
            elif isinstance(effect, Published):
                self.running.add(effect.plan.flow)


def _flow(number: int, rate_per_ms: float) -> Flow:
    source, sink = HOSTS[number % 3], HOSTS[(number + 1) % 3]
    tasks = (Task("t", SERVICE_VWU),)
    return chain(f"f{number}", Source("in", source, rate_per_ms, message_bytes=1000.0), tasks, Sink("out", sink))


def _leader(flow: Flow) -> Leader:
    return Leader(flow, LEADERS, IMPROVED, fastest_capacity=1.0)


def _fits_whatever_the_others_do(which: int, needs: list[float], busy: list[float]) -> bool:
    """Whether each possible placement of any others leaves room for this one somewhere."""
    others = [need for k, need in enumerate(needs) if k != which]
    for places in itertools.product((None, *range(len(busy))), repeat=len(others)):
        used = list(busy)
        for need, place in zip(others, places, strict=True):
            if place is not None:
                used[place] += need
        if max(used) < UTILISATION_CAP and min(used) + needs[which] >= UTILISATION_CAP - 1e-9:
            return False
    return True


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rates=st.lists(st.sampled_from([0.05, 0.1, 0.14, 0.2]), min_size=2, max_size=3),
    busy=st.lists(st.sampled_from([0.0, 0.5, 0.9]), min_size=3, max_size=3),
    schedule=st.lists(st.integers(0, 60), max_size=150),
)
def test_leaders_that_compete_never_overbook_and_whoever_has_room_gets_it(
    rates: list[float], busy: list[float], schedule: list[int]
) -> None:
    """If one fits alone, not all are turned away for ever; who fits whatever the others do, runs in the end."""
    contest = Contest(rates, busy, schedule)
    contest.run()
    needs = [SERVICE_VWU * rate for rate in rates]
    if any(min(busy) + need < UTILISATION_CAP - 1e-9 for need in needs):
        assert contest.running, "all were turned away although one had room"
    sure = {f"f{k}" for k in range(len(needs)) if _fits_whatever_the_others_do(k, needs, busy)}
    assert sure <= contest.running, f"{sure - contest.running} had room whatever the others did"
    for name in contest.running:
        holding = [b for cell in contest.cells.values() for b in cell.ledger.bookings() if b.flow == name]
        assert [math.inf] == [booking.expires_ms for booking in holding], "it runs in one place, for good"
