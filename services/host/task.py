"""A task: one partition of one segment, from fetched records to a committed transaction.

Nothing of a task counts until its transaction commits: outputs, dead letters, the changelog of its state, and the
input offsets with how far event time had come. So a crash at any instant leaves the last commit, and a task made anew
from there goes on as if nothing had happened. Any failure ends a task; its segment then makes it anew.

    block ──> read ──> program ──> outputs ──┐
                  └──> dead letters, late ───┼──> one transaction, committed when `CommitTimes` says so
    commit ──────────> changelog, offsets ───┘
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack

from aiokafka import TopicPartition

from services.host.commit_times import CommitTimes
from services.host.committed import Committed
from services.host.dead_letters import DeadLetters
from services.host.edge_headers import RESTS
from services.host.fetch import Block, Record
from services.host.inbox import FetchedBlock, Inbox, Order, joined
from services.host.landmarks import Landmarks
from services.host.memory import Memory
from services.host.meter import LastReport
from services.host.portions import Portions
from services.host.progress import Progress
from services.host.segment_plan import SegmentPlan
from services.host.set_aside import late_records
from services.host.streaks import Streaks
from services.host.task_context import TaskContext
from services.host.task_input import Parcel, TaskInputs, from_offset
from services.host.task_output import TaskOutputs
from services.host.writer import Writer
from services.operators.batch import Batch
from services.operators.failure import Failure
from services.operators.slices import Slices
from topics.messages import OperatorMetrics, Origin

TICK_S_MAX = 2.0
"""What one tick may add to the time that a task has listened."""
OPEN_S_MAX = 5.0
"""So long a transaction waits for a slow function that fails on everything: brokers give it up after 15 s."""


class Task:
    """`fence`, `recover`, then `run` while blocks are `fetched` and taken; `stop` ends the run, `close` the task."""

    def __init__(
        self,
        plan: SegmentPlan,
        partition: int,
        epoch: int,
        context: TaskContext,
        *,
        on_room: Callable[[], None],
        memory: Memory | None = None,
        writer: Writer | None = None,
        streaks: Streaks | None = None,
    ) -> None:
        """`memory` and `writer`: those of a standby which now takes over; `streaks`: those of the task before it."""
        self.plan = plan
        self.partition = partition
        self.epoch = epoch
        self._inputs = TaskInputs(plan.inputs, partition)
        self._context = context
        self._memory = memory or context.memory(plan, partition)
        self.meter = self._memory.meter
        self.meter.slowness = context.pace.slowness
        self.on_room = on_room
        self._streaks = streaks or Streaks(plan.graph.spec.park_after)
        self._streaks.rolled_back()
        self.commits = 0
        self.processed_ms: int | None = None
        """When it last processed records."""
        self._program = self._memory.program
        self._slices = Slices(self._program)
        # A thread of its own, so that a function that hangs holds up nobody else's; its processes are tied to it.
        self._thread = ThreadPoolExecutor(1) if self._program.waits else None
        self._portions = Portions()
        self.landmarks = Landmarks(context.bootstrap, plan, partition)
        self._failures: list[Failure] = []
        self._hides = plan.graph.spec.delivery == "exactly_once"
        """Whether its results are read only once they are committed."""
        self._edges = {each.name for each in plan.inputs if each.source is None}
        """What strangers write to these says nothing of our functions."""
        self._told_elsewhere = {each.name for each in plan.inputs if not each.tells}
        self._writer = writer or Writer(context.bootstrap, plan.transactional_id(partition), context.writer)
        self._outputs = TaskOutputs(plan, partition, epoch, self._writer, failures=self._failures)
        self._dead_letters = DeadLetters(plan.flow, self._outputs)
        self._progress = Progress(
            plan, partition, epoch, memory=self._memory, landmarks=self.landmarks, writer=self._writer
        )
        self._inbox = Inbox()
        self.rests = False
        """Whether all its inputs are idle, so that nothing changes until something comes."""
        self._listened_ms = 0
        self._ticked_s = time.monotonic()
        self._is_ticked = False
        self._unread: set[str] = set()
        """The inputs of which the last tick said that something waits to be fetched."""
        self._is_dirty = False
        # A function that is slow must not find a transaction open that is old already.
        stretched_s_max = plan.stretched_s_max if self._thread is None else plan.commit_interval_s
        self._commit_times = CommitTimes(
            plan.commit_interval_s, stretched_s_max=stretched_s_max, tells=bool(self._outputs.edges)
        )
        self._origin = Origin(plan.inputs[0].topic, partition, 0)

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """Where the next fetch of each input begins."""
        return {each.at: each.fetch_offset for each in self._inputs.by_name.values()}

    @property
    def waits(self) -> bool:
        """Whether it keeps nobody else waiting while it works: its functions run elsewhere."""
        return self._thread is not None

    @property
    def unprocessed(self) -> dict[TopicPartition, int | None]:
        """The first offset of each input that is not yet processed; None: all that was fetched is."""
        idle = self._inbox.is_idle
        return {each.at: None if idle else each.next_offset for each in self._inputs.by_name.values()}

    @property
    def has_come_on(self) -> bool:
        """Whether it has committed something, and no part of it has failed on everything since it began."""
        return self.commits > 0 and not self._streaks.has_grown

    @property
    def has_room(self) -> bool:
        """Whether more blocks may be fetched for it."""
        return self._inbox.has_room

    async def connect(self) -> None:
        """Get ready to fence; it disturbs nobody yet."""
        own = [*self._memory.changelogs.values(), self.plan.landmarks]
        await self._writer.connect([*own, *(output.topic for output in self.plan.outputs)])

    async def fence(self) -> None:
        """Take over from the former owner: all that it committed can be read after this, and nothing more comes."""
        await self._writer.fence()

    async def recover(self, committed: Committed) -> int:
        """Rebuild the state, and go on from what was committed; returns the number of entries read."""
        if self._memory.is_open:  # a standby's: it needs no snapshot, so it need not wait to know where that is
            _, entries = await asyncio.gather(self._resume(committed), self._memory.rebuild(None))
        else:
            await self._resume(committed)
            entries = await self._memory.rebuild(self._progress.snapshot(now_ms=self._context.now_ms()))
        self._progress.restored(self._memory.positions)
        return entries

    async def _resume(self, committed: Committed) -> None:
        found = await committed(list(self.positions))
        self._inputs.resume(found, await self._progress.resume(self._inputs.note(found)))

    def fetched(self, input_name: str, records: Block) -> FetchedBlock:
        """Note that these records were fetched, so that they are fetched once; the block is to be taken, in order."""
        self._inputs.by_name[input_name].fetch_offset = records[-1].offset + 1
        block = FetchedBlock(self, input_name, records)
        self._inbox.announce(block)
        return block

    def take(self, block: FetchedBlock) -> None:
        """Queue a block for processing. A task that has ended ignores it: its successor fetches it again."""
        self._inbox.put(block)

    def tick(self, *, is_listening: bool, unread: Collection[TopicPartition] = ()) -> None:
        """Let time move on where nothing came. Time counts only while the task listens: what a frozen host, a broker
        that is away or a clock that jumps keep from us is not silence. Nor is what was not yet taken: `unread`. Nobody
        knows what that is while it does not listen, so all of its inputs may have said something."""
        now_s = time.monotonic()
        if is_listening:
            self._listened_ms += round(min(now_s - self._ticked_s, TICK_S_MAX) * 1_000)
        self._ticked_s = now_s
        self._unread = {name for name, each in self._inputs.by_name.items() if each.at in unread or not is_listening}
        self._is_ticked = not self.rests or self._is_landmark_due
        if self._is_ticked and self._inbox.is_empty:
            self._inbox.put(Order.TICK)  # only wakes it: what has blocks to work off looks after each of them

    async def run(self) -> None:
        """Process blocks and commit, until told to stop. Raises what made it fail."""
        if self._is_landmark_due:  # also what fails again and again at the first record must not lose its offsets
            await self._commit()
            self.commits = 0
        while True:
            order = await self._inbox.next(self._wait_s)
            if isinstance(order, Exception):
                raise order
            if isinstance(order, list):
                await self._work_off(order)
                self._done(order)
            # Who is told to stop may have left a block half done: what is left of it has been said, though none waits.
            if not self._inbox.is_stopped and (self._may_open or self._inbox.is_empty):
                await self._look()
            if self._is_dirty:
                await self._commit_or_tell(is_last=order is Order.STOP)
            if order is Order.STOP:
                return

    def _done(self, blocks: list[FetchedBlock]) -> None:
        was_full = not self.has_room
        self._inbox.done(blocks)
        if was_full and self.has_room:
            self.on_room()

    async def _work_off(self, blocks: list[FetchedBlock]) -> None:
        """All of it, unless a slow function is still at it when the task is told to stop.

        What it has done so far is committed in between, but not while the last records have all failed: a function that
        turns out to be broken must find them where they are. Their letters open no transaction meanwhile. What others
        write does, such as another branch; it is committed before it grows too old, and the letters with it.
        """
        input_name, records = blocks[0].input_name, joined(blocks)
        for number, portion in enumerate([records] if self._thread is None else self._portions.of(records)):
            if number > 0 and self._may_open and not self._inbox.is_stopped:
                await self._look()
            if self._thread is not None and self._is_dirty and self._is_commit_due(number, portion):
                await self._commit()
            if self._inbox.is_stopped:
                return
            begin_s, worked_s = time.monotonic(), time.thread_time()
            await self._process(input_name, portion)
            if self._thread is not None:
                self._portions.took(portion, time.monotonic() - begin_s)
            await self._context.pace.rest(time.thread_time() - worked_s)

    def _is_commit_due(self, number: int, portion: list[Record]) -> bool:
        """Before a portion of what was fetched: between two of them, or if what is open might be too old after it."""
        if number > 0 and self._may_open:
            return True
        open_s = self._writer.open_s
        return open_s is not None and (open_s > OPEN_S_MAX or not self._portions.fits(portion))

    @property
    def _wait_s(self) -> float | None:
        return self._commit_times.wait_s(now_s=time.monotonic()) if self._is_dirty else None

    async def _commit_or_tell(self, *, is_last: bool) -> None:
        now_s = time.monotonic()
        if is_last or self._commit_times.is_due(now_s=now_s):
            await self._commit()
        elif self._commit_times.must_tell(now_s=now_s):
            await self._tell_news(self._context.now_ms())
            self._commit_times.told(now_s=now_s)

    def report(self, host: str, second: int, *, lag: int) -> list[OperatorMetrics]:
        """What was measured since the last report."""
        written = self._writer.bytes_written
        rows = self.meter.report(host, second, lag=lag, state_bytes=self.state_bytes, bytes_out=written)
        if rows:  # else they are told with the next
            self._writer.bytes_written = 0
        return rows

    def last_report(self, *, lag: int) -> LastReport:
        """What is left to be reported when it ends."""
        return LastReport(self.meter, lag, self.state_bytes, self._writer.bytes_written)

    @property
    def state_bytes(self) -> Mapping[str, int]:
        """About how much each operator remembers."""
        return self._progress.sizes.by_operator

    @property
    def resident_bytes(self) -> int:
        """About how much of its state is in memory."""
        return self._progress.sizes.resident_bytes

    def fail(self, error: Exception) -> None:
        """Let `run` raise this error: the task can't go on."""
        self._inbox.put(error)

    def stop(self) -> None:
        """Let `run` finish the batch it is at, commit, and return. What else was fetched the next owner fetches."""
        self._inbox.stop()

    async def close(self) -> None:
        """Leave. What was not committed will be done again by the next owner."""
        self._inbox.close()
        if self._thread is not None:
            self._thread.shutdown(wait=False)
        async with AsyncExitStack() as leaving:
            leaving.push_async_callback(self._writer.stop)
            leaving.push_async_callback(self._memory.discard)
            leaving.push_async_callback(self._memory.close)

    async def _process(self, input_name: str, records: list[Record]) -> None:
        records = from_offset(records, self._inputs.by_name[input_name].next_offset)
        if not records:
            return
        now_ms = self._context.now_ms()
        self.rests = False
        self.meter.fetched(records, now_ms=self._context.broker_ms())
        for parcel in self._inputs.read(input_name, records, now_ms=self._listened_ms):
            self._origin = parcel.origin
            self._failures += parcel.failures
            self.meter.bytes_in += parcel.size_bytes
            await self._run(input_name, parcel, records, now_ms)
        self.meter.finish(len(records))
        self.processed_ms = self._context.now_ms()
        self._touched()

    async def _look(self) -> None:
        """Do what the last tick asks for."""
        if not self._is_ticked:
            return
        self._is_ticked = False
        await self._advance(self._unread | self._inbox.unread)
        if self._is_landmark_due:
            self._touched()

    async def _advance(self, unread: Collection[str]) -> None:
        now_ms = self._context.now_ms()
        for name, news in self._inputs.moved(now_ms=self._listened_ms, unread=unread):
            await self._run(name, Parcel(news, Batch.empty(news.watermark_ms), [], self._origin), [], now_ms)
            self._touched()
        if not self.rests and not unread and self._inputs.is_idle(now_ms=self._listened_ms):
            self.rests = True
            for edge in self._outputs.edges:
                await self._outputs.write_blocks(edge, edge.farewell(self._origin), now_ms, RESTS)
                self._touched()

    async def _run(self, input_name: str, parcel: Parcel, records: list[Record], now_ms: int) -> None:
        """One batch through the program, and all that comes of it to the writer, piece by piece."""
        pieces = self._slices.run(input_name, parcel.batch)
        self.meter.begun()
        came_in = {input_name: parcel.fetched}
        written, has_results = None, False
        while (outputs := await self._next(pieces)) is not None:
            self._failures += self._program.take_failures()
            encoded = self._outputs.encode(outputs, now_ms=round(self._context.broker_ms()))
            if self._failures or not self._streaks.is_clean:
                tried = {**came_in, **self._slices.tried, **self._outputs.tried(outputs)}
                self._streaks.compare(tried, self._failures)
            came_in = {}
            written = await self._outputs.write_sinks(encoded) or written
            await self._outputs.write_edges(outputs, parcel, now_ms)
            self._writer.send_now()
            has_results = has_results or any(outputs.values())
            if self._failures:
                await self._note_failures(input_name, parcel, records, now_ms)
            if self._slices.has_more:
                await asyncio.sleep(0)  # all of it may take seconds: others must have their turn
            self.meter.resumed()
        if parcel.dropped or parcel.late.values:
            self.meter.set_aside(late=len(parcel.late), dropped=parcel.dropped)
        if parcel.late.values:
            watermark_ms = self._inputs.watermark_ms(input_name)
            late = late_records(self.plan.flow, input_name, parcel.late, parcel.origin, watermark_ms, now_ms=now_ms)
            await self._outputs.write_entries(late, self._context.now_ms())
        if has_results and parcel.born_ms is not None:
            self.meter.finished(self._context.broker_ms() - parcel.born_ms, written, is_hidden=self._hides)

    async def _next(self, pieces: Iterator[dict[str, Batch]]) -> dict[str, Batch] | None:
        if self._thread is None:
            return next(pieces, None)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, next, pieces, None)
        finally:
            self.meter.came_back()

    async def _note_failures(self, name: str, parcel: Parcel, records: Sequence[Record], now_ms: int) -> None:
        failures = [failure for failure in self._failures if failure.operator not in self._told_elsewhere]
        self._failures.clear()
        self.meter.set_aside(dead_letters=len(failures))
        wanted = {failure.offset for failure in failures}
        originals = parcel.originals
        is_source = self._inputs.by_name[name].plan.source is not None
        if is_source and any(offset not in originals for offset in wanted):
            originals = {record.offset: record for record in records if record.offset in wanted}
        await self._dead_letters.add(failures, parcel.origin, originals, now_ms=now_ms, may_write=self._may_open)

    @property
    def _may_open(self) -> bool:
        """Whether a transaction that is opened now will not wait for a slow function that fails on everything."""
        return self._thread is None or not self._streaks.is_failing_but_for(self._edges)

    def _touched(self) -> None:
        """Something happened that must be committed within the commit interval."""
        if not self._is_dirty:
            self._is_dirty = True
            self._commit_times.begun(now_s=time.monotonic())

    @property
    def _is_landmark_due(self) -> bool:
        return self._progress.is_landmark_due(now_ms=self._context.now_ms())

    async def _tell_news(self, now_ms: int) -> None:
        """Let all who read our edges know how far time has come."""
        for edge in self._outputs.edges:
            await self._outputs.write_blocks(edge, edge.news(self._origin), now_ms)

    async def _commit(self) -> None:
        now_ms = self._context.now_ms()
        await self._dead_letters.write(now_ms)
        await self._tell_news(now_ms)
        offsets = await self._progress.write(self._inputs, now_ms=now_ms, is_last=self._inbox.is_stopped)
        begun_s = time.monotonic()
        self._progress.landed(await self._writer.commit(self.plan.group, offsets))
        self._is_dirty = False
        self._commit_times.committed(time.monotonic() - begun_s)
        self.meter.committed()
        self._streaks.committed()
        self.commits += 1
