"""Real leaders over real cells, their messages delivered in any order: nothing is overbooked, and whoever fits gets in.

Hypothesis draws the order, so that a failure shrinks to the few messages that matter; and users who ask again for flows
that run, and hosts that die and are back at once, empty. Nothing else is lost: leaders that were turned back try again
until they run or the time is up.
"""

import math
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placement.ants.effects import Home, Send, SetTimer
from placement.ants.params import IMPROVED
from placement.cell import Cell
from placement.leader import Leader
from placement.leader_events import HostLost, Place, TimerFired
from placement.leader_params import IMPROVED_LEADER, Release
from placement.model import Flow, Sink, Source, Task, chain
from placement.queueing import UTILISATION_CAP, Load

ENDS = ("a", "b", "c")
MORTAL = ("d", "e")
HOSTS = (*ENDS, *MORTAL)
SERVICE_VWU = 4.0
LEADERS = replace(
    IMPROVED_LEADER,
    placing=Release(routing_ants=2, enough_routing_ants=1, scouts=2, enough_reports=2),
    watch=False,
    retry_at_most_ms=20_000.0,
)
END_MS = 300_000.0
MOST_STEPS = 20_000
DETECTION_MS = 1_000.0


class Wish(NamedTuple):
    """A flow: each of its tasks takes this share of a host."""

    tasks: int
    rate_per_ms: float

    @property
    def need(self) -> float:
        return SERVICE_VWU * self.rate_per_ms


class Stir(NamedTuple):
    """What happens beside the leaders, after that many steps."""

    step: int
    lost: str
    """A host; empty: a user asks again."""
    flow: int


class Contest:
    """Cells, leaders, and what is on its way between them."""

    def __init__(self, wishes: list[Wish], busy: list[float], schedule: list[int], stirs: list[Stir]) -> None:
        self.now_ms = 0.0
        self._schedule = iter(schedule)
        self._stirs = stirs
        self._noticed: list[tuple[float, str]] = []
        self._busy = dict(zip(HOSTS, busy, strict=True))
        self._waiting: list[tuple[str, Any]] = []
        self._timers: dict[tuple[str, str], float] = {}
        self._rng = Random(1)
        self.cells = {host: self._cell(host) for host in HOSTS}
        for host, cell in self.cells.items():
            self._carry_out(host, cell.tell(always=True))
        while self._waiting:
            self._deliver(0)
        self.leaders = {flow.name: _leader(flow) for flow in map(_flow, range(len(wishes)), wishes)}

    @property
    def running(self) -> set[str]:
        """Flows of which every task runs."""
        return {name for name, leader in self.leaders.items() if len(leader.running) == len(leader.flow.tasks)}

    def run(self) -> None:
        """Let all place themselves at once, message by message in the order drawn, then in order of sending."""
        for name in self.leaders:
            self._tell(name, Place())
        for step in range(MOST_STEPS):
            for stir in self._stirs:
                if stir.step == step:
                    self._stir(stir)
            for at_ms, host in [each for each in self._noticed if each[0] <= self.now_ms]:
                self._noticed.remove((at_ms, host))
                self._notice(host)
            due = [key for key, at_ms in self._timers.items() if at_ms <= self.now_ms]
            if due:
                del self._timers[due[0]]
                self._tell(due[0][0], TimerFired(due[0][1]))
            elif self._waiting:
                drawn = next(self._schedule, 0)
                self.now_ms += (1.0, 10.0, 200.0)[drawn % 3]
                self._deliver(drawn % len(self._waiting))
            elif (self._timers or self._noticed) and self.now_ms < END_MS:
                next_ms = min([*self._timers.values(), *(at_ms for at_ms, _ in self._noticed)])
                self.now_ms = max(self.now_ms, next_ms)
            else:
                return
            for cell in self.cells.values():
                assert UTILISATION_CAP > cell.ledger.load().rho, f"{cell.host} is overbooked"
        raise AssertionError("leaders and ants go on without end")

    def _stir(self, stir: Stir) -> None:
        if not stir.lost:
            self._tell(f"f{stir.flow % len(self.leaders)}", Place())
            return
        self.cells[stir.lost] = self._cell(stir.lost, born=math.ceil(self.now_ms))
        self._waiting = [(to, message) for to, message in self._waiting if to != stir.lost]
        self._noticed.append((self.now_ms + DETECTION_MS, stir.lost))

    def _notice(self, host: str) -> None:
        """Leaders hear of it, but for those whose plan the host, back again, has taken since."""
        self._carry_out(host, self.cells[host].tell(always=True))
        booked = {(booking.flow, booking.epoch) for booking in self.cells[host].ledger.bookings()}
        for name, leader in self.leaders.items():
            if leader.plan is None or (name, leader.plan.epoch) not in booked:
                self._tell(name, HostLost(host))

    def _cell(self, host: str, *, born: int = 0) -> Cell:
        rho = self._busy[host]
        return Cell(
            host,
            1.0,
            {other: 5.0 for other in HOSTS if other != host},
            IMPROVED,
            delay=lambda a, b: 0.0 if a == b else 5.0,
            direct=False,
            background=Load(rate_per_ms=0.1, rho=rho, square=rho, burst=0.1, rate_squares=0.01) if rho else Load(),
            born=born,
        )

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


def _flow(number: int, wish: Wish) -> Flow:
    source, sink = ENDS[number % 3], ENDS[(number + 1) % 3]
    tasks = tuple(Task(f"t{k}", SERVICE_VWU) for k in range(wish.tasks))
    return chain(f"f{number}", Source("in", source, wish.rate_per_ms, message_bytes=1000.0), tasks, Sink("out", sink))


def _leader(flow: Flow) -> Leader:
    return Leader(flow, LEADERS, IMPROVED, fastest_capacity=1.0)


def _fits_whatever_the_others_do(which: int, wishes: list[Wish], busy: list[float]) -> bool:
    """Whether all others, and all but one of its own tasks, can't fill every host so far that the last has no room."""
    need = wishes[which].need
    others = sum(wish.tasks * wish.need for wish in wishes) - need
    return others < sum(max(0.0, UTILISATION_CAP - need - rho) for rho in busy) - 1e-9


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    wishes=st.lists(
        st.builds(Wish, st.integers(1, 3), st.sampled_from([0.05, 0.1, 0.14, 0.2])), min_size=2, max_size=3
    ),
    busy=st.lists(st.sampled_from([0.0, 0.5, 0.9]), min_size=len(HOSTS), max_size=len(HOSTS)),
    schedule=st.lists(st.integers(0, 60), max_size=150),
    stirs=st.lists(st.builds(Stir, st.integers(0, 300), st.sampled_from(["", *MORTAL]), st.integers(0, 2)), max_size=4),
)
def test_leaders_that_compete_never_overbook_and_whoever_has_room_gets_it(
    wishes: list[Wish], busy: list[float], schedule: list[int], stirs: list[Stir]
) -> None:
    """If one fits alone, not all are turned away for ever; who fits whatever the others do, runs in the end."""
    contest = Contest(wishes, busy, schedule, stirs)
    contest.run()
    names = [f"f{k}" for k in range(len(wishes))]
    if any(_fits_whatever_the_others_do(0, [wish], busy) for wish in wishes):
        assert contest.running, "all were turned away although one had room"
    sure = {name for k, name in enumerate(names) if _fits_whatever_the_others_do(k, wishes, busy)}
    assert sure <= contest.running, f"{sure - contest.running} had room whatever the others did"
    for name, leader in contest.leaders.items():
        holding = [(cell.host, b) for cell in contest.cells.values() for b in cell.ledger.bookings() if b.flow == name]
        lasting = [(host, b) for host, b in holding if b.expires_ms == math.inf]
        assert set(leader.running.values()) == {host for host, _ in lasting}, "it runs where it has room for good"
        assert len({b.epoch for _, b in lasting}) <= 1, "under one plan"
        assert name not in contest.running or holding == lasting, "and holds no room besides"
