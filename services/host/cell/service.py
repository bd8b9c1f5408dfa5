"""The cell of a host as a whole: its post, its view of the other hosts, its leaders, and the body they live in.

Everything that is decided is decided elsewhere, in pure code; here it is connected, and done again every so often.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from random import Random
from typing import Any

import structlog

from placement.ants.params import IMPROVED
from placement.hotspots import NearParams
from placement.leader import Leader
from placement.queueing import Stream
from placement.served import served_flow
from services.host.cell.body import CellBody, Decided, brain_ms
from services.host.cell.bookings import LOAD_CHANGE, better_known, book, ended_here, is_missing
from services.host.cell.broker_trips import broker_rows
from services.host.cell.delays import Delays, has_changed, is_broker
from services.host.cell.flow_model import model_flow
from services.host.cell.leaders import Leaders
from services.host.cell.led import Surface
from services.host.cell.near_warnings import NearWarnings
from services.host.cell.neighbours import atlas_of, neighbours_of
from services.host.cell.pheromone_store import PheromoneStore
from services.host.cell.post import Post, PostParams
from services.host.cell.probing import Probing, ProbingParams
from services.host.cell.queue_watch import QueueWatch, TaskSeen
from services.host.cell.roster import SILENT_MS, Roster
from services.host.cell.rows import load_of_rows
from services.host.cell.served import served_at
from services.host.cell.tail import BUNCH_BYTES, Tail
from services.host.graphs import compiled
from services.host.publisher import Publisher
from services.host.reports import Identity, Reports
from services.host.segment import Segment
from services.process.broker import Broker
from services.process.clock import BrokerClock
from services.registry.lease_keeper import LeaseKeeper
from services.registry.view import RegistryView
from services.settings import SILENT_S_MIN
from topics import catalogue
from topics.admin import ClusterError
from topics.ants.envelope import Contents, Travelling
from topics.ants.gate import Gate
from topics.ants.probes import Echo, Probe
from topics.flow.problems import FlowError
from topics.messages import HostMetrics, LinkMetrics, Message, Model, OperatorMetrics
from topics.topic import Topic

log = structlog.get_logger(__name__)

PROBE_TICK_S = 0.15
SURVEY_EVERY_S = 1.0
PING_BROKERS_EVERY_S = 10.0
RETELL_EVERY_MS = 60_000.0
"""What a host tells of itself may get lost; so it is told again, changed or not."""
FULL = Stream(1.0, 1.0, 1.0, 1.0, 0.0).load(1.0)
"""A host on which ants find no room at any price."""


@dataclass(frozen=True, slots=True)
class CellParams:
    """How a cell lives. `seed` None: every start draws other chances. `redis_url` None: pheromone is in memory only."""

    silent_ms: float = SILENT_MS
    post: PostParams = field(default_factory=PostParams)
    probing: ProbingParams = field(default_factory=ProbingParams)
    near: NearParams = field(default_factory=NearParams)
    seed: str | None = None
    redis_url: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.silent_ms < SILENT_S_MIN * 1e3:
            raise ValueError(
                f"silent_ms is {self.silent_ms}; hosts report each second: give {SILENT_S_MIN:g} s or more"
            )


class CellService:
    """`start`, then `run` until cancelled, then `stop`."""

    def __init__(
        self,
        bootstrap: str,
        identity: Identity,
        key: bytes,
        *,
        view: RegistryView,
        fresh: Callable[[], Awaitable[None]],
        reports: Reports,
        publisher: Publisher,
        clock: BrokerClock,
        params: CellParams | None = None,
    ) -> None:
        self._params = params or CellParams()
        self._host = identity.host
        self._bootstrap = bootstrap
        self._view = view
        self._reports = reports
        self._publisher = publisher
        self._broker = Broker(bootstrap)
        self._clock = clock
        self._roster = Roster(self._params.silent_ms)
        self._delays = Delays()
        self._probing = Probing(self._host, self._params.probing)
        self._queue_watch = QueueWatch(self._host, self._params.near)
        self.near_warnings = NearWarnings(self._host, self._params.near)
        self._changed = asyncio.Event()
        self._links_stamp: object = None
        self._remembers = False
        self._atlas = atlas_of({self._host: identity.capacity}, self._delays)
        self.gate = Gate(self._host, key, opened_ms=float("inf"))
        self.post = Post(
            bootstrap, self.gate, identity.boot_id, clock, on_contents=self._take, params=self._params.post
        )
        self.store = self._pheromone_store(identity)
        seed = self._params.seed if self._params.seed is not None else identity.boot_id
        self.body = CellBody(
            self._host,
            identity.capacity,
            chance=lambda user: Random(f"{seed}/{user}"),
            delay=self._delays.delay_ms,
            send=self.post.send,
            now_ms=clock.now_ms,
            decided=self._decided,
            pheromone=self.store.table if self.store is not None else None,
            is_lagging=lambda: self.post.is_lagging,
            loop=self._delays.loop_ms,
            atlas=lambda: self._atlas,
        )
        self._leases = LeaseKeeper(
            bootstrap, f"{self._host}/{identity.boot_id}", on_change=lambda lease, term: self._changed.set()
        )
        self.leaders = Leaders(
            self.body,
            self._leases,
            fresh=fresh,
            publish=self._publish,
            now_ms=clock.now_ms,
            delays=self._delays,
            are_whole=self._are_whole,
        )

    def _pheromone_store(self, identity: Identity) -> PheromoneStore | None:
        if self._params.redis_url is None:
            return None
        return PheromoneStore(
            identity.host,
            IMPROVED.pheromone,
            redis_url=self._params.redis_url,
            writer=identity.boot_id,
            now_ms=brain_ms,
        )

    async def start(self) -> None:
        """Connect. May be called again after it has raised a KafkaError."""
        await self.post.start()

    async def stop(self) -> None:
        """Ants that are on their way here are lost; leaders elsewhere take over."""
        self.body.stop()
        await self.post.stop()
        if self.store is not None:
            await self.store.close()

    def look(self) -> None:
        """The registry has changed."""
        self._changed.set()

    async def run(self) -> None:
        """Lives, until cancelled. A cell that breaks begins anew: the host's operators must not end for it."""
        await self._clock.is_set.wait()
        self.gate.opened_ms = self._clock.now_ms()
        while True:
            try:
                await self._live()
            except Exception:
                log.exception("the cell broke down; it begins anew")
                self.body.failed += 1
                await asyncio.sleep(SURVEY_EVERY_S)

    async def _live(self) -> None:
        peers = Tail(
            self._bootstrap,
            [catalogue.METRICS_HOSTS, catalogue.METRICS_LINKS],
            client_id=f"stig.cell.{self._host}.peers",
            back_ms=self._params.silent_ms,
            on_row=self._heard_row,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(self.post.run())
            group.create_task(peers.run(now_ms=self._clock.now_ms))
            group.create_task(self._leases.run())
            group.create_task(self._probe())
            group.create_task(self._survey())
            group.create_task(self._follow_rates())
            group.create_task(self._ping_brokers())
            group.create_task(self._watch_queue())
            if self.store is not None:
                group.create_task(self.store.run())

    # What comes in.

    def _take(self, contents: Contents, came_ms: float) -> None:
        ants = []
        for each in contents.ants:
            if isinstance(each.ant, Probe):
                held_ms = max(0.0, self._clock.now_ms() - came_ms)
                self.post.send(contents.sender, Travelling(Echo(each.ant.serial, held_ms), 0, self._clock.now_ms()))
            elif isinstance(each.ant, Echo):
                self._echoed(contents.sender, each.ant)
            else:
                ants.append(each)
        self.body.take(
            ants,
            contents.sender,
            hop_ms=max(0.0, came_ms - contents.sent_ms - self._delays.hop_ms),
            ant_bytes=contents.size_bytes / max(1, len(contents.ants)),
        )
        if self.leaders.has_news:
            self._changed.set()

    def _echoed(self, peer: str, echo: Echo) -> None:
        round_trip_ms = self._probing.echoed(peer, echo, now_ms=brain_ms())
        if round_trip_ms is not None:
            self._delays.heard(self._host, peer, round_trip_ms)

    def _heard_row(self, row: Message, appended_ms: float) -> None:
        match row:
            case HostMetrics():
                before = self._roster.live()
                self._roster.heard(row, appended_ms)
                if self._roster.live() != before:
                    self._changed.set()
            case LinkMetrics() if row.round_trip_ms.count and (row.host != self._host or is_broker(row.peer)):
                self._delays.heard(row.host, row.peer, row.round_trip_ms.quantile(0.25))
            case OperatorMetrics() if row.flow in self.leaders.flows:
                self.leaders.heard_row(row, appended_ms)
            case Model() if self.leaders.heeds(row):
                self.leaders.heard_model(row)

    def _decided(self, leader: Leader, decided: Decided) -> None:
        self.leaders.decided(leader, decided)
        self._changed.set()

    async def _publish(self, topic: Topic[Any], message: Message) -> bool:
        return await self._publisher.send(topic, [message], now_ms=int(self._clock.now_ms())) is not None

    async def _are_whole(self, topics: Collection[str]) -> bool:
        """Where nobody can tell, a flow runs by itself."""
        try:
            return await self._broker.are_whole(topics)
        except ClusterError as error:
            log.warning("what could be shared is not known", error=str(error))
            return False

    # What is done again and again.

    async def _probe(self) -> None:
        second = 0
        while True:
            for peer, probe in self._probing.due(now_ms=brain_ms()):
                self.post.send(peer, Travelling(probe, 0, self._clock.now_ms()))
            now_s = int(self._clock.local_ms() / 1e3)
            if now_s != second:
                second = now_s
                rows = self._probing.rows(second=second)
                await self._publisher.send(catalogue.METRICS_LINKS, rows, now_ms=int(self._clock.now_ms()))
            await asyncio.sleep(PROBE_TICK_S)

    async def _ping_brokers(self) -> None:
        while True:
            rows = await broker_rows(self._host, self._broker, second=int(self._clock.local_ms() / 1e3))
            await self._publisher.send(catalogue.METRICS_LINKS, rows, now_ms=int(self._clock.now_ms()))
            await asyncio.sleep(PING_BROKERS_EVERY_S)

    async def _watch_queue(self) -> None:
        """Looks at what waits here, and tells of hot spots that are near."""
        measured: list[OperatorMetrics] = []
        while True:
            await asyncio.sleep(self._params.near.look_s)
            if self._reports.rows is not measured:
                measured = self._reports.rows
                self._queue_watch.measured(measured)
            tasks = [task for segment in self._reports.segments() for task in seen_tasks(segment, self._view)]
            near = self._queue_watch.look(tasks, now_s=brain_ms() / 1e3)
            for model in self.near_warnings.told(near, now_ms=self._clock.now_ms()):
                await self._publish(catalogue.MODELS, model)

    async def _survey(self) -> None:
        """Who lives, who is near, what is promised, what is led here: at once after a change, else every second."""
        told_ms = brain_ms()
        while True:
            self._changed.clear()
            surface = self._surface()
            if brain_ms() - told_ms >= RETELL_EVERY_MS:
                told_ms = brain_ms()
                self.body.set_off(self.body.cell.tell(always=True))
            if self._host in surface.regions:  # else it has only just registered
                self._relink(surface)
                await self._remember()
                self._measure_load()
                await self._mend_bookings(surface)
                await self.leaders.arrange(self._view, surface)
            try:
                async with asyncio.timeout(SURVEY_EVERY_S):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _surface(self) -> Surface:
        hosts = self._view.hosts
        live = (self._roster.live() | {self._host}) & set(hosts)
        gone = set(self._delays.regions) - live
        self._delays.regions = {name: hosts[name].region for name in sorted(live)}
        for host in sorted(gone):
            self._delays.forget(host)
        pairs = [(a, b) for a in live for b in live if a < b]
        return Surface(
            self._delays.regions,
            {name: hosts[name].capacity for name in hosts},
            all(self._delays.is_measured(a, b) for a, b in pairs),
        )

    def _relink(self, surface: Surface) -> None:
        now_ms = brain_ms()
        self._probing.watch(set(surface.regions), now_ms=now_ms)
        away = self._probing.unreachable() | self._probing.strangers(now_ms=now_ms)
        stamp = (tuple(surface.regions.items()), self._delays.version, away)
        if stamp != self._links_stamp:
            self._links_stamp = stamp
            capacities = {name: surface.capacities[name] for name in surface.regions}
            self._atlas = atlas_of(capacities, self._delays)
            links_ms = neighbours_of(self._host, surface.regions, self._delays.delay_ms, unreachable=away)
            self.body.relink(links_ms, has_changed)

    async def _remember(self) -> None:
        """Take back what Redis has of this cell's pheromone, as soon as there is a neighbour to walk to."""
        if self.store is not None and not self._remembers and self.body.cell.links_ms:
            self._remembers = True
            count = await self.store.restore()
            log.info("pheromone read back", vectors=count)

    def _measure_load(self) -> None:
        """What runs here without a plan of ants, because a person placed it; a host that is to be drained is full.

        And what runs here by a plan, but was booked anew after a start.
        """
        policy = self._view.policies.get(("host", self._host))
        booked = {booking.flow for booking in self.body.cell.ledger.bookings()}
        strange = [row for row in self._reports.rows if row.flow not in booked]
        is_drained = policy is not None and policy.policy == "drained"
        load = FULL if is_drained else load_of_rows(strange, self.body.cell.capacity)
        if abs(load.rho - self.body.cell.ledger.background.rho) >= LOAD_CHANGE:
            self.body.set_off(self.body.cell.measure(load, now_ms=brain_ms()))
        for flow, load in better_known(self.body.cell, self._reports.rows).items():
            self.body.set_off(self.body.cell.weigh(flow, load))

    async def _mend_bookings(self, surface: Surface) -> None:
        cell, view = self.body.cell, self._view
        self.body.set_off(cell.expire(now_ms=brain_ms()))
        for release in ended_here(cell, view.flows, view.plans):
            self.body.set_off(cell.hear(release, now_ms=brain_ms(), rng=self.body.chance(self._host)))
        for name, plan in sorted(view.plans.items()):
            revision = view.flows.get(name)
            if revision is None or revision.state == "withdrawn" or not is_missing(cell, plan):
                continue
            try:
                graph = await asyncio.to_thread(compiled, revision.text)
            except FlowError:
                continue
            where = served_at(view, plan.taps, live=surface.regions, otherwise=self._host)
            book(cell, plan, served_flow(model_flow(graph, surface.regions).flow, where))
            self.body.set_off(cell.tell())

    async def _follow_rates(self) -> None:
        """Reads what operators measure, and what the models make of it, while a flow is led here."""
        tails = [
            Tail(
                self._bootstrap,
                [topic],
                client_id=f"stig.cell.{self._host}.{kind}",
                back_ms=SURVEY_EVERY_S * 1e3,
                on_row=self._heard_row,
                bunch_bytes=bunch_bytes,
            )
            # Apart: without models, or without their topic, measurements go on. What a host warns of can't wait.
            for kind, topic, bunch_bytes in (
                ("rates", catalogue.METRICS_OPERATORS, BUNCH_BYTES),
                ("models", catalogue.MODELS, 1),
            )
        ]
        reading: list[asyncio.Task[None]] = []
        try:
            while True:
                if self.leaders.flows and not reading:
                    reading = [asyncio.create_task(tail.run(now_ms=self._clock.now_ms)) for tail in tails]
                elif not self.leaders.flows and reading:
                    for task in reading:
                        task.cancel()
                    reading = []
                await asyncio.sleep(SURVEY_EVERY_S)
        finally:
            for task in reading:
                task.cancel()


def seen_tasks(segment: Segment, view: RegistryView) -> list[TaskSeen]:
    """Those that have something to do, and of which it is known what waits for them."""
    plan, found = segment.plan, []
    stays = view.flow_policy(plan.flow, otherwise=plan.graph.spec.moves) != "auto"
    for partition, task in segment.tasks().items():
        lag = None if task.rests else segment.lag_of(task)
        if lag is not None:
            slot, meter = (plan.segment.id, partition), task.meter
            first, bound_ms = plan.segment.operators[0], plan.graph.spec.qos.latency_ms
            counted = meter.done, meter.worked_us, lag
            found.append(TaskSeen(slot, plan.flow, first, bound_ms, *counted, task.waits, stays))
    return found
