"""One instance of the placement service: it follows everything, and while it holds the lease it acts.

lease won  ──> fence the former instance ──> read all that was written before ──> look, write, look, write...
lease lost, or a write failed ──> let go of the lease ──> read all anew, as not all was written ──> want it again
a part has ended ──> let go of the lease, say why, and end: another instance, or this one started again, does better
"""

import asyncio
import contextlib
import time
import uuid
from collections.abc import Sequence

import structlog
from aiokafka.errors import KafkaError

from services.placement.conductor import Conductor
from services.placement.edge_leaders import EdgeLeaders
from services.placement.flows import Flows
from services.placement.leader_pauses import MOVED, REFUSED
from services.placement.params import LEASE, TRANSACTIONAL_ID, PlacementParams
from services.placement.situation import Situation
from services.placement.watch import Watch
from services.placement.writable import writable
from services.process.broker import Broker
from services.process.ending import end
from services.process.health import METRICS_TYPE, HealthServer, Page, plain
from services.registry.changes import Entry
from services.registry.decisions import decision
from services.registry.fenced import FencedError, FencedWriter
from services.registry.follow import RegistryFollower
from services.registry.lease import lease_of
from services.registry.lease_keeper import LeaseKeeper
from services.registry.view import TOPICS, RegistryView
from topics import catalogue
from topics.admin import ClusterError
from topics.errors import MessageError
from topics.messages import Decision, Message

log = structlog.get_logger(__name__)

TICK_S = 0.1
CONNECT_PAUSE_S = 1.0


def matters(message: Message) -> bool:
    """Of decisions the answers to people's wishes, and which broker leads what. All others are told to people, by the
    minute, and kept for a month: with a hundred flows they would take gigabytes here (decision 351)."""
    return not isinstance(message, Decision) or message.request is not None or message.kind in (MOVED, REFUSED)


class Instance:
    """`run` until `stop`. `is_active` tells whether it is the one that acts."""

    def __init__(self, params: PlacementParams) -> None:
        self.params = params
        self.is_active = False
        self.written = 0
        self._is_ready = False
        self._stop = asyncio.Event()
        self._news = asyncio.Event()
        self._view = RegistryView(
            on_garbage=lambda problem: log.warning("ignored in the registry", problem=problem), keeps=matters
        )
        self._flows = Flows(params.bootstrap, on_read=self._news.set)
        self._watch = Watch(params.bootstrap, silent_s_max=params.silent_s_max, return_s_max=params.return_s_max)
        self._edge_leaders = EdgeLeaders(
            params.bootstrap,
            by=params.name,
            situation=self._situation,
            term=lambda: self._keeper.term(LEASE) if self.is_active else None,
            window_ms=params.schedule.window_ms,
        )
        self._keeper = LeaseKeeper(
            params.bootstrap,
            f"{params.name}/{uuid.uuid4().hex[:8]}",
            on_change=lambda _lease, _term: self._news.set(),
            params=params.lease,
        )

    def stop(self) -> None:
        """Ask `run` to return."""
        self._stop.set()
        self._news.set()

    async def run(self) -> None:
        """Everything, until `stop`. Raises CannotListenError."""
        async with contextlib.AsyncExitStack() as stack:
            await self._open_pages(stack)
            follower = await self._connected(stack)
            if follower is None:
                return
            self._is_ready = True
            self._keeper.want(LEASE)
            stack.push_async_callback(self._flows.stop)
            keeper = asyncio.create_task(self._keeper.run(), name="leases")
            stack.push_async_callback(end, [keeper])  # the last to end: it gives the lease back
            background = [
                asyncio.create_task(follower.run(self._news.set), name="registry"),
                asyncio.create_task(self._watch.run(), name="watch of hosts"),
                asyncio.create_task(self._edge_leaders.run(), name="leaders of edges"),
                asyncio.create_task(self._serve(follower), name="service"),
            ]
            stack.push_async_callback(end, background)
            log.info("placement instance is ready", instance=self.params.name)
            await self._until_one_ends([*background, keeper])
            await self._keeper.drop(LEASE)

    async def _open_pages(self, stack: contextlib.AsyncExitStack) -> None:
        if self.params.port is None:
            return
        pages = {"/health": lambda: plain("ready\n"), "/metrics": self._metrics_page}
        server = HealthServer(self.params.port, pages, listen=self.params.listen, is_ready=lambda: self._is_ready)
        await stack.enter_async_context(server)

    async def _until_one_ends(self, parts: Sequence[asyncio.Task[None]]) -> None:
        """The service ends when it is asked to; no other part ever does by itself, and none can do without another."""
        done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            if (fault := each.exception()) is not None:
                log.error("a part has ended; the instance ends with it", part=each.get_name(), error=repr(fault))
                raise fault

    async def _serve(self, follower: RegistryFollower) -> None:
        while not self._stop.is_set():
            await self._until_news()
            if self._keeper.term(LEASE) is not None:
                await self._act(follower)
                await self._forget_unwritten(follower)
                if not self._stop.is_set():
                    self._keeper.want(LEASE, after_s=CONNECT_PAUSE_S)

    async def _connected(self, stack: contextlib.AsyncExitStack) -> RegistryFollower | None:
        """Topics made and all of them read; None if asked to stop meanwhile."""
        broker = Broker(self.params.bootstrap)
        while not self._stop.is_set():
            follower = RegistryFollower(
                self.params.bootstrap,
                self._view,
                list(TOPICS.values()),
                client_id=f"stig.placement.{self.params.name}",
                on_message=lambda _message: None,
            )
            try:
                await broker.ensure(catalogue.shared())
                await follower.start()
                await follower.catch_up()
                stack.push_async_callback(follower.stop)
                return follower
            except (ClusterError, KafkaError) as error:
                log.warning("waiting for the cluster", bootstrap=self.params.bootstrap, error=str(error))
                await follower.stop()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), CONNECT_PAUSE_S)
        return None

    async def _until_news(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TICK_S):
                await self._news.wait()
        self._news.clear()

    async def _act(self, follower: RegistryFollower) -> None:
        """From the lease to its loss, or to the first fault. Then it lets go of it: it has to read the registry anew,
        which takes long on an old cluster, and another instance knows it. What may still be on its way of a write can
        do nothing any more once that one has fenced this one, before which it reads nothing and writes nothing."""
        term = self._keeper.term(LEASE)
        writer = FencedWriter(self.params.bootstrap, TRANSACTIONAL_ID)
        try:
            await writer.fence()
            await follower.fresh()  # only now: nobody else can write any more
            conductor = Conductor(self.params, self._view)
            self.is_active = True
            log.info("active", instance=self.params.name, term=term)
            while not self._stop.is_set() and self._keeper.term(LEASE) == term:
                entries = [
                    *self._flow_trouble(),
                    *self._edge_leaders.take_told(),
                    *conductor.look(self._situation()),
                ]
                if entries and self._keeper.term(LEASE) == term:
                    await self._write(writer, entries)
                await self._until_news()
        except (FencedError, KafkaError) as error:
            log.warning("no longer active", instance=self.params.name, error=repr(error))
        finally:
            self.is_active = False
            await self._keeper.drop(LEASE)
            await writer.close()

    async def _write(self, writer: FencedWriter, entries: list[Entry]) -> None:
        try:
            await writer.write(entries)
        except MessageError as error:  # nothing has been written yet
            log.error("not all that was decided can be written", instance=self.params.name, error=str(error))
            entries = self._without_unwritable(entries)
            await writer.write(entries)
        self.written += len(entries)
        for _, message in entries:
            self._view.take(message)

    def _without_unwritable(self, entries: list[Entry]) -> list[Entry]:
        """What is left out still counts as written here, so it is not tried at every look; a next instance tries it."""
        kept, wrong = writable(entries)
        asked = {each.flow: each.request for _, each in entries if isinstance(each, Decision) and each.request}
        return kept + [
            self._refused(flow, f"what was decided can't be written: {why}", request=asked.get(flow))
            for flow, why in wrong.items()
        ]

    async def _forget_unwritten(self, follower: RegistryFollower) -> None:
        """A look takes for true what it is about to write. If it was not written, the registry must be read anew."""
        while not self._stop.is_set():
            try:
                await follower.reread()
                return
            except KafkaError as error:
                log.warning("the registry can't be read anew yet", instance=self.params.name, error=repr(error))
                await asyncio.sleep(CONNECT_PAUSE_S)

    def _now_ms(self) -> int:
        """The broker's time, as hosts use it, too; an active instance knows it from the moment it won its lease."""
        return int(self._keeper.clock.now_ms())

    def _situation(self) -> Situation:
        now_ms = self._now_ms()
        view = self._view
        owners = {each.host for each in view.placements.values() if each.host is not None}
        followers = {host for each in view.placements.values() for host in each.standbys}
        return Situation(
            view=view,
            now_ms=now_ms,
            live=self._watch.live(),
            lost_since_ms=self._watch.lost(owners | followers | set(view.hosts), owners=owners, now_ms=now_ms),
            flows=self._flows.known,
            leader_terms={
                flow: term for flow in view.plans if (term := self._keeper.newest_term(lease_of(flow))) is not None
            },
        )

    def _flow_trouble(self) -> list[Entry]:
        """Flows that are new are read; what is wrong with one is a decision that people can see."""
        told = self._flows.look(self._view.flows, now_s=time.monotonic())
        return [self._refused(flow, why) for flow, why in told.items()]

    def _refused(self, flow: str, why: str, *, request: str | None = None) -> Entry:
        by, now_ms = self.params.name, self._now_ms()
        return decision("refused", f"flow {flow}", why, by=by, now_ms=now_ms, flow=flow, request=request)

    def _metrics_page(self) -> Page:
        lines = [
            "# HELP stigmergy_placement_active 1 if this instance is the one that acts.",
            "# TYPE stigmergy_placement_active gauge",
            f"stigmergy_placement_active {int(self.is_active)}",
            "# HELP stigmergy_placement_written_total Registry entries written.",
            "# TYPE stigmergy_placement_written_total counter",
            f"stigmergy_placement_written_total {self.written}",
        ]
        return METRICS_TYPE, "\n".join([*lines, ""]).encode()
