"""A host as a whole: it registers, follows the registry, keeps a tenant for each segment that it is given, and reports.

Nothing here is kept on disk: a host that starts again reads the same registry and takes up the same assignments.
"""

import asyncio
import contextlib
import socket
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog
from aiokafka.errors import KafkaError

from services.host.ahead import Ahead
from services.host.cell.exposition import cell_exposition
from services.host.cell.service import CellParams, CellService
from services.host.exposition import exposition
from services.host.folder import own_folder
from services.host.memory import TEMPORARY
from services.host.memory_watch import MemoryWatch
from services.host.pace import Pace
from services.host.publisher import Publisher
from services.host.reports import Identity, Reports
from services.host.segment import DRAIN_S_MAX
from services.host.task_context import TaskContext, wall_clock_ms
from services.host.tenant import House, Tenant
from services.host.wanted import Wanted, wanted_of
from services.isolated.caller import IsolationParams
from services.process.broker import Broker
from services.process.clock import BrokerClock
from services.process.health import METRICS_TYPE, HealthServer, Page, plain, reached_at
from services.registry.follow import RegistryFollower
from services.registry.view import RegistryView, Slot
from services.settings import LOOPBACK
from topics import catalogue
from topics.admin import ClusterError
from topics.messages import Handover, HostRegistration, Message

log = structlog.get_logger(__name__)

STOP_TIMEOUT_S = 25.0
CLOSE_S_MAX = 8.0
"""For what is left to do when segments have drained, or have had their time to."""
CONNECT_PAUSE_S = 1.0


class ReplacedError(Exception):
    """Another process has registered under this host's name; the newer one stays."""


@dataclass(frozen=True, slots=True)
class HostParams:
    """Who the host is. `port`: of health and metrics at the address `listen`, None for neither.

    `key` is the cluster's, by which ants are known. `state_folder` is for flows that keep their state on disk.
    """

    name: str
    region: str
    capacity: float
    bootstrap: str
    key: bytes = field(repr=False)
    allow: tuple[str, ...] = ()
    port: int | None = None
    listen: str = LOOPBACK
    software: str | None = None
    state_folder: Path = TEMPORARY
    memory_limit_bytes: int | None = None
    isolation: IsolationParams = field(default_factory=IsolationParams)
    stop_timeout_s: float = STOP_TIMEOUT_S
    cell: CellParams = field(default_factory=CellParams)
    slowness: float = 1.0

    def __post_init__(self) -> None:
        assert self.capacity > 0, self


class Host:
    """`run` does everything, until `stop` is called (then it drains and returns) or a newer process takes the name."""

    def __init__(self, params: HostParams) -> None:
        self.params = params
        self.boot_id = uuid.uuid4().hex
        self.view = RegistryView(on_garbage=lambda problem: log.warning("ignored in the registry", problem=problem))
        clock = BrokerClock()
        self._context = TaskContext(
            params.bootstrap,
            params.allow,
            broker_ms=clock.now_ms,
            isolation=params.isolation,
            pace=Pace(params.slowness),
            ahead=Ahead(params.memory_limit_bytes),
        )
        self._broker = Broker(params.bootstrap)
        self._publisher = Publisher(params.bootstrap, f"stig.host.{params.name}")
        identity = Identity(params.name, self.boot_id, params.capacity)
        self.reports = Reports(identity, self._publisher, clock)
        self._follower = RegistryFollower(
            params.bootstrap,
            self.view,
            [
                catalogue.FLOWS,
                catalogue.HOSTS,
                catalogue.PLACEMENTS,
                catalogue.PLANS,
                catalogue.HANDOVERS,
                catalogue.POLICIES,
                catalogue.REQUESTS,
                catalogue.PROPOSALS,
                catalogue.MOVES,
            ],
            client_id=f"stig.host.{params.name}.registry",
            on_message=self._heard,
        )
        self.cell = CellService(
            params.bootstrap,
            identity,
            params.key,
            view=self.view,
            fresh=self._follower.fresh,
            reports=self.reports,
            publisher=self._publisher,
            clock=clock,
            params=params.cell,
        )
        self._tenants: dict[str, tuple[Tenant, asyncio.Task[None]]] = {}
        self._stop = asyncio.Event()
        self._news = asyncio.Event()
        self._handed: dict[Slot, int] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._is_registered = False
        self._is_ready = False
        self._replaced_by: str | None = None

    def stop(self) -> None:
        """Ask `run` to drain and return."""
        self._stop.set()

    async def run(self) -> None:
        """From the first connection to the last commit. Raises ReplacedError and CannotListenError."""
        with own_folder(self.params.state_folder) as folder:
            house = House(
                context=replace(self._context, state_folder=folder),
                broker=self._broker,
                reports=self.reports,
                is_ours=self._is_ours,
                still_ours=self._still_ours,
                is_elsewhere=self._is_elsewhere,
                drained=self._drained,
                let_go=self._hand_over,
                data_folder=folder,
                drain_s_max=min(DRAIN_S_MAX, self.params.stop_timeout_s),
            )
            async with contextlib.AsyncExitStack() as stack:
                if not await self._connect(stack):
                    return
                background = [
                    asyncio.create_task(self._follower.run(lambda: self._arrange(house))),
                    asyncio.create_task(self.reports.run()),
                    asyncio.create_task(self.cell.run()),
                    *self._memory_watch(),
                ]
                stack.push_async_callback(_cancelled, background)
                await self._register()
                self._arrange(house)
                self._is_ready = True
                log.info("host is ready", host=self.params.name, region=self.params.region, boot_id=self.boot_id)
                await self._until_stopped(background)
                await self._drain()
                await self.reports.last_words()
        if self._replaced_by is not None:
            raise ReplacedError(
                f"another process is now host {self.params.name} (boot {self._replaced_by}); this one has stopped"
            )

    async def _open_pages(self, stack: contextlib.AsyncExitStack) -> None:
        if self.params.port is None:
            return
        pages = {"/health": lambda: plain("ready\n"), "/metrics": self._metrics_page}
        server = HealthServer(self.params.port, pages, listen=self.params.listen, is_ready=lambda: self._is_ready)
        await stack.enter_async_context(server)

    def _memory_watch(self) -> list[asyncio.Task[None]]:
        if self.params.memory_limit_bytes is None:
            return []
        watch = MemoryWatch(self.params.memory_limit_bytes, self.reports.segments, self._context.ahead)
        return [asyncio.create_task(watch.run())]

    async def _connect(self, stack: contextlib.AsyncExitStack) -> bool:
        """Wait for the cluster, make the shared topics, read the registry; False if asked to stop meanwhile."""
        stack.push_async_callback(self._publisher.stop)
        stack.push_async_callback(self._follower.stop)
        stack.push_async_callback(self.cell.stop)
        await self._open_pages(stack)  # first of all: without its port it must not take the place of a namesake
        steps = (
            self._make_topics,
            self._publisher.start,
            self._follower.start,
            self._follower.catch_up,
            self.cell.start,
        )
        return all([await self._insist(step) for step in steps])

    async def _insist(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Do it, again and again while the cluster does not let us; False if asked to stop meanwhile."""
        while not self._stop.is_set():
            try:
                await step()
                return True
            except (ClusterError, KafkaError) as error:
                log.warning("waiting for the cluster", bootstrap=self.params.bootstrap, error=str(error))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), CONNECT_PAUSE_S)
        return False

    async def _make_topics(self) -> None:
        for difference in await self._broker.ensure(catalogue.shared()):
            log.warning("a topic is not as it should be", difference=str(difference))

    async def _register(self) -> None:
        port = self.params.port
        registration = HostRegistration(
            host=self.params.name,
            region=self.params.region,
            capacity=self.params.capacity,
            address=reached_at(self.params.listen, port) if port is not None else socket.gethostname(),
            boot_id=self.boot_id,
            started_ms=wall_clock_ms(),
            software=self.params.software,
        )
        while not self._stop.is_set():
            if await self._publisher.send(catalogue.HOSTS, [registration], now_ms=wall_clock_ms()) is not None:
                return
            await asyncio.sleep(CONNECT_PAUSE_S)

    def _heard(self, message: Message) -> None:
        """Of two processes with one name the one that registered later stays, by the order of the topic."""
        if isinstance(message, HostRegistration) and message.host == self.params.name:
            if message.boot_id == self.boot_id:
                self._is_registered = True
            elif self._is_registered:
                self._replaced_by = message.boot_id
                self._stop.set()

    def _arrange(self, house: House) -> None:
        """Tell every tenant what is wanted of it now, and take in new ones."""
        news, self._news = self._news, asyncio.Event()
        news.set()
        if self._stop.is_set():
            return
        self.cell.look()
        wanted = wanted_of(self.params.name, self.view)
        for segment_id in [*self._tenants, *wanted]:
            running = self._tenants.get(segment_id)
            if running is not None and not running[1].done():
                running[0].want(wanted.get(segment_id, Wanted()))
            elif segment_id in wanted:
                tenant = Tenant(segment_id, house)
                tenant.want(wanted[segment_id])
                self._tenants[segment_id] = (tenant, asyncio.create_task(tenant.run()))
            else:
                del self._tenants[segment_id]
        self._hand_over()

    def _hand_over(self) -> None:
        """Say of each partition that another host waits for, that we have drained it, once we hold it no longer."""
        owed = [
            self.reports.handover(
                slot,
                placement.epoch - 1,
                stopped_local_ms=self._tenants[slot[0]][0].stopped_ms(slot[1]) if slot[0] in self._tenants else None,
            )
            for slot, placement in self.view.placements.items()
            if placement.origin == self.params.name and self._handed.get(slot, 0) < placement.epoch
            if slot[0] not in self._tenants or not self._tenants[slot[0]][0].holds(slot[1])
        ]
        if owed:
            self._handed |= {(word.segment, word.partition): word.epoch + 1 for word in owed}
            sending = asyncio.create_task(self._tell_drained(owed))
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)

    async def _tell_drained(self, words: Sequence[Handover]) -> None:
        """Until it has arrived, or nobody waits for it any more: the new owner can't begin without it."""
        while words and not await self.reports.hand_over(words) and not self._stop.is_set():
            await asyncio.sleep(CONNECT_PAUSE_S)
            words = [word for word in words if self._is_awaited(word)]

    def _is_awaited(self, word: Handover) -> bool:
        placement = self.view.placements.get((word.segment, word.partition))
        return placement is not None and (placement.origin, placement.epoch) == (self.params.name, word.epoch + 1)

    async def _drained(self, segment_id: str, partition: int, epoch: int) -> None:
        slot = (segment_id, partition)
        while True:
            news = self._news
            placement, word = self.view.placements.get(slot), self.view.handovers.get(slot)
            is_waiting = placement is not None and placement.epoch == epoch and placement.origin is not None
            if not is_waiting or (word is not None and word.epoch >= epoch - 1):
                return
            await news.wait()

    def _metrics_page(self) -> Page:
        text = exposition(self.reports, garbage=self.view.garbage) + cell_exposition(self.cell)
        return METRICS_TYPE, text.encode()

    async def _still_ours(self, segment_id: str, partition: int, epoch: int) -> bool:
        await self._follower.fresh()
        return self._is_ours(segment_id, partition, epoch)

    def _is_ours(self, segment_id: str, partition: int, epoch: int) -> bool:
        placement = self.view.placements.get((segment_id, partition))
        return placement is not None and (placement.host, placement.epoch) == (self.params.name, epoch)

    def _is_elsewhere(self, segment_id: str, partition: int, epoch: int) -> bool:
        placement = self.view.placements.get((segment_id, partition))
        return placement is not None and placement.epoch > epoch and placement.host not in (None, self.params.name)

    async def _until_stopped(self, background: Sequence[asyncio.Task[None]]) -> None:
        """Until somebody asks; what runs in the background never ends by itself, so its end is a bug to be seen."""
        stopped = asyncio.create_task(self._stop.wait())
        try:
            done, _ = await asyncio.wait([stopped, *background], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        for each in done:
            each.result()

    async def _drain(self) -> None:
        """Stop all segments at once: each finishes its batch and commits, within a bounded time."""
        for tenant, _ in self._tenants.values():
            tenant.want(Wanted())
        running = [task for _, task in self._tenants.values()]
        if running:
            _, late = await asyncio.wait(running, timeout=self.params.stop_timeout_s + CLOSE_S_MAX)
            if late:
                log.warning("not all segments ended in time; the rest of their work will be done again", late=len(late))
                await _cancelled(list(late))


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
