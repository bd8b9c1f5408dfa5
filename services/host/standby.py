"""A standby: it follows a partition that another host owns, and holds ready all that a takeover needs.

Its memory keeps up with the owner's changelogs, and its writer is connected to the brokers but has fenced nobody. So
what is left to do at a takeover is to fence, to read the last few changes, and to begin.
"""

import asyncio
from collections.abc import Callable

import structlog

from services.host.committed import Committed
from services.host.landmarks import Landmarks
from services.host.memory import Memory
from services.host.segment_plan import SegmentPlan
from services.host.snapshot import usable
from services.host.task_context import TaskContext
from services.host.task_input import TaskInputs
from services.host.writer import Writer
from services.process.ending import end

log = structlog.get_logger(__name__)

RETRY_S = 5.0
REST_S = 600.0
"""After its host had no room for it, so long until it follows again: longer than a move waits for its target to be
warm, so that a move which nobody has room for ends instead of filling the host again and again."""

OnRead = Callable[[int, "Standby"], None]
"""Called with a partition when its standby has become ready, whenever it has read since, and when it no longer is."""


class Standby:
    """Follows from its making on; `take` ends that and gives what it has to the task that takes over."""

    def __init__(
        self, plan: SegmentPlan, partition: int, context: TaskContext, *, committed: Committed, on_read: OnRead
    ) -> None:
        self.memory = context.memory(plan, partition)
        self.writer = Writer(context.bootstrap, plan.transactional_id(partition), context.writer)
        self.is_ready = False
        self.rests = False
        """Whether it has let go of everything, because its host had no room for it."""
        self.lag = 0
        self._plan = plan
        self._partition = partition
        self._context = context
        self._committed = committed
        self._on_read = on_read
        self._following = asyncio.create_task(self._follow())
        self._before_rest: asyncio.Task[None] | None = None

    @property
    def resident_bytes(self) -> int:
        """About how much it holds in memory."""
        return 0 if self.rests else self.memory.resident_bytes

    def rest(self) -> None:
        """Let go of what was read, and follow again after a while."""
        if not self.rests:
            self.rests = True
            self._before_rest, self._following = self._following, asyncio.create_task(self._rest())

    async def take(self) -> tuple[Memory, Writer]:
        """Follow no longer."""
        await self._end()
        if not self._following.cancelled():  # it had ended by itself, so nobody knows whether all was read
            await self.memory.close()
        return self.memory, self.writer

    async def close(self) -> None:
        """Follow no longer, and let go of everything."""
        await self._end()
        await self.memory.close()
        await self.writer.stop()
        await self.memory.discard()

    async def _end(self) -> None:
        """Also of what it did before it rests: nobody may read on into what is taken over."""
        await end([self._following, *([self._before_rest] if self._before_rest is not None else [])])

    async def _rest(self) -> None:
        """Who takes it meanwhile begins from nothing: the memory is closed before anything of it is forgotten."""
        assert self._before_rest is not None
        await end([self._before_rest])
        self.is_ready = False
        self._on_read(self._partition, self)
        await self.memory.close()
        await self.memory.empty()
        await asyncio.sleep(REST_S)
        self.rests, self._before_rest = False, None
        await self._follow()

    async def _follow(self) -> None:
        """Whatever goes wrong costs only the head start: what was read is forgotten, and read again after a while."""
        inputs = TaskInputs(self._plan.inputs, self._partition)
        landmarks = Landmarks(self._context.bootstrap, self._plan, self._partition)
        while True:
            try:
                await self.writer.connect(
                    [*self.memory.changelogs.values(), *(out.topic for out in self._plan.outputs)]
                )
                note = inputs.note(await self._committed(list(inputs.offsets)))
                place = (await landmarks.recall(note)).snapshot
                await self.memory.follow(usable(place, now_ms=self._context.now_ms()), self._has_read)
            except Exception as error:  # noqa: BLE001 - any: to follow no longer and still count as ready loses state
                log.warning(
                    "standby waits", segment=self._plan.segment.id, partition=self._partition, error=repr(error)
                )
                self.is_ready = False
                self._on_read(self._partition, self)
                await self.memory.close()
                await asyncio.sleep(RETRY_S)

    def _has_read(self, changes: int) -> None:
        self.is_ready, self.lag = True, changes
        self._on_read(self._partition, self)
