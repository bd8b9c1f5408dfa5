"""The two bodies of the one brain, behind one face: what a test of the contract may do with either.

    def test_x(world):                      # runs once with each body
        cluster = world(hosts, delays_ms)
        cluster.submit(flow)
        assert {...} == cluster.settle()["flow"]

The simulator keeps virtual time; the live body sends every ant through the test run's broker. Both draw their chances
from the same seed. What is compared are decisions, never times.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import pytest

from placement.atlas import Atlas
from placement.cell_ledger import State
from placement.leader import Leader
from placement.leader_events import GaveUp, HostLost, Place, Published, Withdraw, Withdrawn
from placement.leader_params import LeaderParams
from placement.model import Flow, Host, OverlayNetwork
from placement.queueing import IDLE, Load
from placement.simulator.body import Body
from placement.simulator.faults import lose_host
from services.host.cell.body import CellBody, brain_ms
from services.host.cell.post import Post
from services.lab.chance import seeded
from services.process.clock import BrokerClock
from tests.waiting import until_async
from topics.admin import connect, ensure
from topics.ants.gate import Gate
from topics.catalogue import shared

SEED = 20_261_116
LEADERS = LeaderParams(patience_ms=2_000.0, max_attempts=2, max_releases=2, watch=False)
"""Leaders that lose patience sooner, so that a refusal does not take a minute of real time, but bear a busy machine."""

Outcome = dict[str, dict[str, str] | str]
"""Flow -> task -> host; or `refused`, or `withdrawn`."""


class Cluster(Protocol):
    """One system of cells and leaders, whatever carries its messages."""

    def submit(self, flow: Flow) -> None: ...
    def withdraw(self, flow: str) -> None: ...
    def lose(self, host: str) -> None: ...
    def settle(self) -> Outcome: ...
    def promised(self, host: str) -> float: ...


def said(decided: Any) -> tuple[str, dict[str, str] | str] | None:
    """What a decision means for a flow."""
    if isinstance(decided, Published):
        return decided.plan.flow, {task: host for _, task, host in decided.plan.placement.spots}
    if isinstance(decided, GaveUp | Withdrawn):
        return decided.flow, "refused" if isinstance(decided, GaveUp) else "withdrawn"
    return None


class Simulated:
    """The simulator's body."""

    def __init__(self, network: OverlayNetwork, background: Sequence[Load]) -> None:
        self._body = Body(network, chance=seeded(SEED), leaders=LEADERS, background=background)
        self._body.acquaint()
        self._open: set[str] = set()
        self._lost = 0

    def submit(self, flow: Flow) -> None:
        self._open.add(flow.name)
        self._body.submit(flow)

    def withdraw(self, flow: str) -> None:
        self._open.add(flow)
        self._body.withdraw(flow)

    def lose(self, host: str) -> None:
        self._open |= {name for name, leader in self._body.leaders.items() if host in leader.running.values()}
        self._lost = len(self._body.decisions)
        lose_host(self._body, host)

    def settle(self) -> Outcome:
        deadline_ms = self._body.kernel.now_ms + 120_000
        while self._open - self._decided().keys() and self._body.kernel.now_ms < deadline_ms:
            self._body.run_for(100.0)
        assert not self._open - self._decided().keys(), f"undecided: {self._open - self._decided().keys()}"
        self._open.clear()
        self._lost = len(self._body.decisions)
        self._body.run_for(1_000.0)
        return {name: what for _, decided in self._body.decisions if (told := said(decided)) for name, what in [told]}

    def promised(self, host: str) -> float:
        return self._body.cells[host].ledger.load().rho

    def _decided(self) -> Outcome:
        late = self._body.decisions[self._lost :]
        return {name: what for _, decided in late if (told := said(decided)) for name, what in [told]}


class Live:
    """Cells on the real broker, all in this process. Time is real, so the test waits for decisions."""

    def __init__(self, bootstrap: str, network: OverlayNetwork, background: Sequence[Load]) -> None:
        self._draw(network)
        self._runner = asyncio.Runner()
        self._bodies: dict[str, CellBody] = {}
        self._posts: dict[str, Post] = {}
        self._outcome: Outcome = {}
        self._open: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._runner.run(self._start(bootstrap, background or [IDLE] * len(network.hosts)))

    async def _start(self, bootstrap: str, background: Sequence[Load]) -> None:
        clock = BrokerClock()
        chance = seeded(SEED)
        for host, load in zip(self._network.hosts, background, strict=True):
            gate = Gate(host.name, b"the key of the contract", opened_ms=clock.now_ms())
            post = Post(bootstrap, gate, "boot", clock, on_contents=self._deliver(host.name))
            body = CellBody(
                host.name,
                host.capacity,
                chance=chance,
                delay=self._delay_ms,
                send=post.send,
                now_ms=clock.now_ms,
                decided=self._decided,
                atlas=lambda: self._atlas,
            )
            self._bodies[host.name], self._posts[host.name] = body, post
            body.cell.ledger.measure(load)
        await asyncio.gather(*(post.start() for post in self._posts.values()))
        self._tasks = {name: asyncio.create_task(post.run()) for name, post in self._posts.items()}
        self._relink()
        everybody = len(self._bodies) - 1
        cells = [body.cell for body in self._bodies.values()]
        await until_async(lambda: all(len(cell.near()) == everybody for cell in cells), "all are known")

    def close(self) -> None:
        """End what runs."""

        async def end() -> None:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            await asyncio.gather(*(post.stop() for post in self._posts.values()))

        self._runner.run(end())
        self._runner.close()

    def submit(self, flow: Flow) -> None:
        fastest = max(host.capacity for host in self._network.hosts)
        leader = Leader(flow, LEADERS, self._body(flow).cell.params, fastest_capacity=fastest, now_ms=brain_ms())
        self._body(flow).lead(leader)
        self._tell(flow.name, Place())

    def withdraw(self, flow: str) -> None:
        self._tell(flow, Withdraw())

    def lose(self, host: str) -> None:
        self._draw(self._network.without(frozenset({host})))

        async def die() -> None:
            self._tasks.pop(host).cancel()
            await self._posts.pop(host).stop()
            del self._bodies[host]
            self._relink()

        self._runner.run(die())
        for body in self._bodies.values():
            for flow, leader in sorted(body.leaders.items()):
                if host in leader.running.values():
                    self._tell(flow, HostLost(host))

    def settle(self) -> Outcome:
        async def decided() -> None:
            await until_async(lambda: not self._open, f"all is decided: {self._open}")
            await until_async(self._is_calm, "what is promised is what was decided")

        self._runner.run(decided())
        assert 0 == sum(body.failed for body in self._bodies.values())
        return dict(self._outcome)

    def promised(self, host: str) -> float:
        return self._bodies[host].cell.ledger.load().rho

    def _is_calm(self) -> bool:
        """Whether the leaders' last words, activations and releases, have come."""
        for host, body in self._bodies.items():
            for booking in body.cell.ledger.bookings():
                placed = self._outcome.get(booking.flow)
                if booking.state is not State.ACTIVE or not isinstance(placed, dict) or host not in placed.values():
                    return False
        return True

    def _body(self, flow: Flow) -> CellBody:
        return self._bodies[flow.sources[0].host]

    def _tell(self, flow: str, event: Any) -> None:
        self._open.add(flow)
        body = next(body for body in self._bodies.values() if flow in body.leaders)

        async def tell() -> None:
            body.tell_leader(flow, event)

        self._runner.run(tell())

    def _deliver(self, host: str) -> Callable[[Any, float], None]:
        return lambda contents, came_ms: self._bodies[host].take(
            contents.ants, contents.sender, hop_ms=max(0.0, came_ms - contents.sent_ms), ant_bytes=contents.size_bytes
        )

    def _decided(self, leader: Leader, decided: Any) -> None:
        told = said(decided)
        if told is not None:
            self._outcome[told[0]] = told[1]
            self._open.discard(told[0])

    def _delay_ms(self, a: str, b: str) -> float:
        index = self._network.host_index
        return float(self._network.delays_ms[index[a], index[b]])

    def _draw(self, network: OverlayNetwork) -> None:
        self._network = network
        self._atlas = Atlas(tuple(host.name for host in network.hosts), network.capacities, network.delays_ms)

    def _relink(self) -> None:
        for name, body in sorted(self._bodies.items()):
            place = self._network.host_index[name]
            links = zip(self._network.neighbours[place], self._network.neighbour_delays_ms[place], strict=True)
            body.relink(
                {self._network.hosts[other].name: delay_ms for other, delay_ms in links},
                lambda before_ms, now_ms: before_ms != now_ms,
            )


@pytest.fixture(params=["simulator", pytest.param("live", marks=pytest.mark.integration)])
def world(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cluster]]:
    """Makes a cluster with the body of this run from hosts, one-way delays, and what already runs on the hosts."""
    open_clusters: list[Live] = []

    def make(hosts: Sequence[Host], delays_ms: Sequence[Sequence[float]], background: Sequence[Load] = ()) -> Cluster:
        network = OverlayNetwork.sparse(tuple(hosts), delays_ms)
        if request.param == "simulator":
            return Simulated(network, background)
        bootstrap = request.getfixturevalue("kafka")
        ensure(connect(bootstrap), shared())
        live = Live(bootstrap, network, background)
        open_clusters.append(live)
        return live

    yield make
    for live in open_clusters:
        live.close()
