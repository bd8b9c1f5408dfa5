"""A segment on a host: one Faust app, one consumer, and a task for each partition that the registry gives to this host.

The feed fetches blocks and puts them into the app; the app's agent hands each to its task. A task that fails is made
anew from what it had committed, when its seat says so or when it is assigned again. Taking or giving up a partition
touches the others only in that their fetches are asked for again.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from services.host.beginnings import check_beginnings
from services.host.committed import committed_offsets
from services.host.fetch import BlockConsumer, UnreadableError
from services.host.lags import Lags
from services.host.landmarks import Landmarks
from services.host.meter import LastReport
from services.host.seat import Seat
from services.host.segment_app import SegmentApp
from services.host.segment_plan import SegmentPlan
from services.host.standby import Standby
from services.host.streaks import Streaks
from services.host.takeover import Title, may_fence, recovered, unless_refused
from services.host.task import Task
from services.host.task_context import TaskContext
from services.host.unending import unending
from services.process.ending import end
from services.process.outage import told_as_outage
from topics.messages import SegmentState, SegmentStep

log = structlog.get_logger(__name__)

TICK_S = 1.0
FETCH_WAIT_MS = 1_000
"""So long a fetch waits at the broker for records: when it is answered, all inputs have been heard of."""
RESTING_FETCH_WAIT_MS = 5_000
"""So long when all tasks rest: no clock of theirs runs then."""
METADATA_AGE_MS = 5_000
"""After an election the former leader goes on answering fetches, as a follower that has the records later: only news of
the topics tells who leads now."""
RESTING_METADATA_AGE_MS = 60_000
"""Where nothing comes, nothing comes late."""
LOOK_MS = 2_000
"""So long the feed waits for what wakes it anyhow."""
LISTENING_S = 2.5 * FETCH_WAIT_MS / 1_000
WORD_S = 0.05
"""In this time the word that a partition is drained has left, and only then are its clients and its state closed."""
DRAIN_S_MAX = 20.0
"""How long a task that is given up may work on what it has fetched, unless its host has less time than that."""

LAST_REPORTS_MAX = 1_000

OnState = Callable[["Segment", Seat], None]
OnStandby = Callable[["Segment", int, Standby], None]
"""Called when a standby has become ready, whenever it has read since, and when it no longer is."""


class Segment:
    """`begin`, then `own` and `release` partitions, then `stop`."""

    def __init__(
        self,
        plan: SegmentPlan,
        context: TaskContext,
        *,
        data_folder: Path,
        on_state: OnState,
        title: Title | None = None,
        on_standby: OnStandby = lambda segment, partition, standby: None,
        drain_s_max: float = DRAIN_S_MAX,
    ) -> None:
        self.plan = plan
        self.seats: dict[int, Seat] = {}
        self._context = context
        self._on_state = on_state
        self._title = title or Title()
        self._on_standby = on_standby
        self._drain_s_max = drain_s_max
        self._app = SegmentApp(plan.segment.id, lambda block: block.task.take(block), data_folder=data_folder)
        self._consumer = BlockConsumer(
            bootstrap_servers=context.bootstrap,
            client_id=plan.group,
            group_id=plan.group,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed" if plan.reads_committed else "read_uncommitted",
            max_partition_fetch_bytes=1 << 20,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            consumer_timeout_ms=FETCH_WAIT_MS,
            retry_backoff_ms=50,
            metadata_max_age_ms=METADATA_AGE_MS,
        )
        self._lags = Lags(self._consumer)
        self._names = {each.topic: each.name for each in plan.inputs}
        self._room = asyncio.Event()
        self.assignments = 0
        """How often it has changed what is fetched."""
        self.last_reports: deque[LastReport] = deque(maxlen=LAST_REPORTS_MAX)
        """Of tasks that have ended, until somebody takes them."""
        self._standbys: dict[int, Standby] = {}
        self._background: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Start the app and the consumer; no partition is owned yet."""
        await self._consumer.start()
        await self._app.begin()
        self._background = [asyncio.create_task(unending(each, self._stumbled)) for each in (self._feed, self._ticks)]

    async def stand_by(self, partition: int) -> None:
        """Keep the state of a partition that another host owns, so that this one can take over quickly."""
        if partition not in self._standbys and partition not in self.seats:
            self._standbys[partition] = Standby(
                self.plan,
                partition,
                self._context,
                committed=self._committed,
                on_read=lambda partition, standby: self._on_standby(self, partition, standby),
            )

    async def stand_down(self, partition: int) -> None:
        """Follow a partition no longer."""
        standby = self._standbys.pop(partition, None)
        if standby is not None:
            await standby.close()

    @property
    def standbys(self) -> tuple[int, ...]:
        """The partitions that this host follows."""
        return tuple(sorted(self._standbys))

    def followed(self) -> dict[int, Standby]:
        """What follows them."""
        return self._standbys.copy()

    async def own(self, partition: int, epoch: int, origin: str | None = None) -> None:
        """Take a partition over, in the background. With a newer epoch a task that runs here is made anew.

        `origin` is told to drain it at the same time, so there is something to wait for.
        """
        await self.release(partition)
        seat = self.seats[partition] = Seat(partition, epoch, origin, streaks=Streaks(self.plan.graph.spec.park_after))
        standby = self._standbys.pop(partition, None)
        if standby is not None:
            seat.memory, seat.writer = await standby.take()
        seat.running = asyncio.create_task(self._keep_running(seat))

    async def release(self, partition: int) -> None:
        """Give a partition up: finish the batch under way, commit it, stop. May be called by several at a time."""
        seat = self.seats.get(partition)
        if seat is None or seat.running is None:
            return
        if seat.state != "stopped":
            self._set(seat, "draining")
        if seat.task is not None:
            seat.task.stop()
            _, late = await asyncio.wait([seat.running], timeout=self._drain_s_max)
            if late:
                log.warning(
                    "a task did not end in time; what it has in hand will be done again",
                    segment=self.plan.segment.id,
                    partition=partition,
                    waited_s=self._drain_s_max,
                )
        await end([seat.running])
        memory, writer = seat.memory, seat.writer
        seat.memory = seat.writer = None
        if memory is not None and writer is not None:  # it never came to making a task of them
            await memory.close()
            await writer.stop()
            await memory.discard()
        if self.seats.get(partition) is seat:  # else another call has seen to it, and a new one may sit there
            del self.seats[partition]
        if seat.state != "stopped":
            self._set(seat, "stopped")

    async def stop(self) -> None:
        """Give all partitions up and end. What goes wrong with one is raised when the others have drained."""
        releases = [self.release(partition) for partition in sorted(self.seats)]
        released = await asyncio.gather(*releases, return_exceptions=True)
        await asyncio.gather(*(self.stand_down(partition) for partition in self.standbys))
        await end(self._background)
        await self._app.stop()
        await self._consumer.stop()
        for each in released:
            if isinstance(each, BaseException):
                raise each

    async def _keep_running(self, seat: Seat) -> None:
        """Make the task and run it, again and again while it fails, until it is stopped or parked."""
        while True:
            self._set(seat, "recovering", "waiting")
            task: Task | None = None
            try:
                task = self._new_task(seat)
                restored = await unless_refused(seat, self._made_ready(seat, task))
                if restored is None:
                    return  # it is not ours any more; the registry's change is on its way to us
                seat.task, seat.rebuilt = task, None
                self._assign()
                self._set(seat, "running")
                log.info("task runs", segment=self.plan.segment.id, partition=seat.partition, restored=restored)
                await task.run()
                self._set(seat, "stopped")  # told before all is closed: the next owner waits for it
                await asyncio.sleep(WORD_S)
                return
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is: nothing is skipped, it is done again or parked
                seat.failed(error, has_committed=task is not None and task.has_come_on)
                log.warning("task failed", segment=self.plan.segment.id, partition=seat.partition, reason=seat.reason)
            finally:
                seat.rebuilt = None
                if seat.task is not None:
                    self.last_reports.append(seat.task.last_report(lag=self.lag(seat.partition) or 0))
                    seat.task = None
                    self._assign()
                if task is not None:
                    await self._leave(seat, task)
                task = None  # what it had is freed, also while the seat waits for its next try
            if seat.state == "draining":
                return
            await asyncio.sleep(self._pause_s(seat))

    async def _made_ready(self, seat: Seat, task: Task) -> int | None:
        """How many entries were restored; None where fencing or running would disturb the new owner."""
        if not await may_fence(self._title, seat, task.connect()):
            return None
        self._set(seat, "recovering", "fencing")
        log.info("task recovers", segment=self.plan.segment.id, partition=seat.partition)
        await task.fence()
        self._set(seat, "recovering", "catching_up")
        recover = task.recover(partial(self._committed, landmarks=task.landmarks))
        return await recovered(self._title, seat, recover)

    async def _leave(self, seat: Seat, task: Task) -> None:
        """Whatever a client has to say about its end, after an outage say: the seat must be able to try again."""
        try:
            await task.close()
        except Exception as error:  # noqa: BLE001 - any: it would end the seat without a word
            log.warning("task left badly", segment=self.plan.segment.id, partition=seat.partition, error=repr(error))

    def _new_task(self, seat: Seat) -> Task:
        seat.rebuilt = seat.memory or self._context.memory(self.plan, seat.partition)
        writer, seat.memory, seat.writer = seat.writer, None, None
        return Task(
            self.plan,
            seat.partition,
            seat.epoch,
            self._context,
            on_room=self._on_room,
            memory=seat.rebuilt,
            writer=writer,
            streaks=seat.streaks,
        )

    def _pause_s(self, seat: Seat) -> float:
        """How long to wait before the next try. A seat that has used up its tries is parked, and waits longer."""
        if seat.has_tries_left:
            return seat.restart_pause_s
        pause_s = seat.park()
        self._set(seat, "parked")
        return pause_s

    async def _committed(
        self, partitions: list[TopicPartition], *, landmarks: Landmarks | None = None
    ) -> dict[TopicPartition, tuple[int, str]]:
        """The committed offsets with their metadata, read after the former owner was fenced; else the beginning.

        A task that has begun before, by its `landmarks`, does not begin again: OffsetsLostError.
        """
        with told_as_outage():
            committed = await committed_offsets(self._consumer._coordinator, partitions)
        if not committed and landmarks is not None:
            await landmarks.check_new()
        fresh = [at for at in partitions if at not in committed]
        beginnings = await self._consumer.beginning_offsets(fresh) if fresh else {}
        check_beginnings(self.plan.inputs, beginnings)
        if landmarks is not None:
            await landmarks.check_read(beginnings)
        return committed | {at: (offset, "") for at, offset in beginnings.items()}

    def lag(self, partition: int) -> int | None:
        """Records that a task has not yet processed; None while nobody knows: it does not run, or has just begun."""
        task = self.tasks().get(partition)
        return self.lag_of(task) if task is not None else None

    def lag_of(self, task: Task) -> int | None:
        """The same of a task that is at hand."""
        return self._lags.lag(task.unprocessed)

    def _set(self, seat: Seat, state: SegmentState, step: SegmentStep | None = None) -> None:
        seat.state, seat.step = state, step
        if state == "running":
            seat.reason = None
        self._on_state(self, seat)

    def tasks(self) -> dict[int, Task]:
        """The tasks that run, by partition."""
        return {partition: seat.task for partition, seat in sorted(self.seats.items()) if seat.task is not None}

    def _assign(self) -> None:
        """Fetch for just the partitions that have a task, each from where its task stands."""
        self.assignments += 1
        positions = {at: offset for task in self.tasks().values() for at, offset in task.positions.items()}
        self._consumer.assign(list(positions))
        self._lags.assigned(positions)
        for at, offset in positions.items():
            self._consumer.seek(at, offset)
        self._room.set()
        self._consumer.interrupt()

    async def _feed(self) -> None:
        """Fetch blocks for the tasks that have room, and put them into the app."""
        while True:
            tasks = self.tasks()
            if not any(task.has_room for task in tasks.values()):
                self._room.clear()
                await self._room.wait()
                continue
            assignments = self.assignments
            try:
                fetched = await self._consumer.blocks(_WithRoom(self), timeout_ms=LOOK_MS)
            except Exception as error:  # noqa: BLE001 - the feed must outlive whatever a fetch brings
                await self._fetch_failed(error)
                continue
            if assignments != self.assignments:
                if fetched:  # these records may belong to a task that is no more: fetch them again
                    self._assign()
                continue
            for records in fetched.values():
                records.ahead = self._context.ahead
            blocks = [tasks[at.partition].fetched(self._names[at.topic], records) for at, records in fetched.items()]
            for block in blocks:
                await self._app.put(block)

    def _stumbled(self, error: Exception) -> None:
        """What was in hand just then may be lost, so all tasks are made anew from what they have committed."""
        for task in self.tasks().values():
            task.fail(error)

    def _on_room(self) -> None:
        """A task that had none has room again: while others are idle, its next block may be there already."""
        self._room.set()
        self._consumer.look_again()

    async def _fetch_failed(self, error: Exception) -> None:
        """Broker trouble passes. That records are gone before they were read, or can't be read, does not: it must be
        seen by a person."""
        log.warning("fetch failed", segment=self.plan.segment.id, error=repr(error))
        hurt = set()
        if isinstance(error, OffsetOutOfRangeError) and error.args:
            hurt = {at.partition for at in error.args[0]}
        elif isinstance(error, UnreadableError):
            hurt = {error.at.partition}
            self._assign()  # what the same look had taken from other partitions has gone with it
        for partition, task in self.tasks().items():
            if partition in hurt:
                task.fail(error)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                self._room.clear()
                await self._room.wait()

    async def _ticks(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            tasks = self.tasks().values()
            for task in tasks:
                unread = {at for at in task.positions if self._consumer.has_unread(at)}
                task.tick(is_listening=self._is_listening(task, unread), unread=unread)
            if all(task.rests for task in tasks):
                self._consumer.pace(wait_ms=RESTING_FETCH_WAIT_MS, metadata_age_ms=RESTING_METADATA_AGE_MS)
            else:
                self._consumer.pace(wait_ms=FETCH_WAIT_MS, metadata_age_ms=METADATA_AGE_MS)

    def _is_listening(self, task: Task, unread: Collection[TopicPartition]) -> bool:
        """Whether the broker has lately answered for all inputs of a task, so that silence means that nothing came.

        What waits to be taken is not silent, and may not be asked for again before it is.
        """
        since_s = time.monotonic() - LISTENING_S
        return all(self._consumer.heard_s(at) > since_s for at in task.positions if at not in unread)


class _WithRoom:
    """The partitions whose tasks have room at the moment; all of them once others are assigned, so that it is seen."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._tasks = segment.tasks()
        self._assignments = segment.assignments

    def __contains__(self, at: object) -> bool:
        assert isinstance(at, TopicPartition), at
        if self._assignments != self._segment.assignments:
            return True
        task = self._tasks.get(at.partition)
        return task is not None and task.has_room
