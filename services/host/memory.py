"""What a task remembers: its program with the tables, and the way to rebuild them on any host.

The owner of a partition rebuilds its memory after it has fenced the former owner. A standby keeps one up to date while
another host owns the partition; when it takes over, only the last few changes are missing.
"""

import asyncio
import tempfile
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

from services.host.changelog import changelog_topics
from services.host.disk import DiskState
from services.host.gently import gently
from services.host.meter import Meter
from services.host.replica import Replica
from services.host.segment_plan import SegmentPlan
from services.host.snapshot import SnapshotPlace
from services.host.state_sizes import StateSizes
from services.operators.calls import Caller
from services.operators.wiring import segment_program
from topics.flow import specs

TEMPORARY = Path(tempfile.gettempdir())
FOLLOW_PAUSE_S = 0.1
"""How long a standby rests after it has read: it is behind by little more than this."""
FOLLOW_POLL_S = 0.5
EMPTY_AFTER_S = 0.2
"""So long nothing is freed of what was left: it is left when a partition moves, and that is waited for."""

MakeCaller = Callable[[specs.Python], Caller]
"""How the functions of python operators are called."""


class Memory:
    """`rebuild` once to own it; or `follow` for a while first, then `rebuild`, which is quick."""

    def __init__(
        self, plan: SegmentPlan, partition: int, *, bootstrap: str, caller: MakeCaller, folder: Path = TEMPORARY
    ) -> None:
        """`folder`: where state goes that does not stay in memory."""
        self.meter = Meter(plan.flow, plan.segment.id, partition, first=plan.segment.operators[0])
        self.program = segment_program(plan.graph, plan.segment, caller=caller, probe=self.meter.probe)
        if self.program.waits:  # then it works in a thread of its own
            self.program.probe = self.meter.note
        on_disk = plan.graph.spec.state == "disk" and self.program.disk_tables
        self._disk = DiskState(self.program, folder / uuid.uuid4().hex) if on_disk else None
        self.changelogs = changelog_topics(plan.graph, self.program)
        self.positions = dict.fromkeys(self.changelogs, 0)
        """The next changelog offset for each operator with state."""
        # Nothing here may hold the memory itself: what is in a cycle stays until a collection, and those are rare.
        self._new_replica = partial(
            Replica,
            self.program,
            self.changelogs,
            plan.snapshots,
            partition,
            bootstrap=bootstrap,
            client_id=f"{plan.transactional_id(partition)}.replica",
        )
        self._replica: Replica | None = None
        self._closing: asyncio.Task[None] | None = None
        self._emptying: asyncio.Task[None] | None = None
        self.entries_read = 0

    async def follow(self, place: SnapshotPlace | None, on_read: Callable[[int], None]) -> None:
        """Keep up with the owner, until cancelled. `on_read` is told how many changes were unread, once all were read
        for the first time and then at every look."""
        if not self.changelogs:
            on_read(0)
            await asyncio.Event().wait()
        replica = await self._opened(place, is_gentle=True)
        await replica.catch_up()
        while True:
            self.entries_read = replica.entries_read
            await asyncio.sleep(FOLLOW_PAUSE_S)
            on_read(await replica.read(timeout_s=FOLLOW_POLL_S))

    async def rebuild(self, place: SnapshotPlace | None) -> int:
        """Read what is still missing, and be ready; returns how many entries have been read in all."""
        if not self.changelogs:
            return 0
        replica = await self._opened(place, is_gentle=False)
        await replica.catch_up()
        self.positions, self.entries_read = replica.positions, replica.entries_read
        self._closing = asyncio.create_task(self._close_replica())  # nobody should wait for that
        return self.entries_read

    @property
    def is_open(self) -> bool:
        """Whether it goes on where it was: a snapshot is not needed any more."""
        return self._replica is not None

    @property
    def resident_bytes(self) -> int:
        """About how much of what was read so far is in memory."""
        sizes = StateSizes(self.program)
        sizes.restored()
        return sizes.resident_bytes

    async def empty(self) -> None:
        """Forget what was read, little by little, while others have their turn."""
        await gently(self.program.forget())

    async def close(self) -> None:
        """Stop reading; what was read stays."""
        if self._closing is not None:
            await self._closing
        await self._close_replica()

    async def _close_replica(self) -> None:
        if self._replica is not None:
            replica, self._replica = self._replica, None
            await replica.close()

    async def discard(self) -> None:
        """Nobody needs what was read any more. What is on disk is gone when this returns; what is in memory goes little
        by little after that, while others have their turn."""
        await asyncio.to_thread(self._let_go)
        self._emptying = asyncio.create_task(self._empty())

    def _let_go(self) -> None:
        """Processes are ended and files removed, which may take its time."""
        self.program.close()
        if self._disk is not None:
            self._disk.close()

    async def _empty(self) -> None:
        await asyncio.sleep(EMPTY_AFTER_S)
        await self.empty()

    async def _opened(self, place: SnapshotPlace | None, *, is_gentle: bool) -> Replica:
        """The replica that goes on where it was, or a new one, which starts from nothing."""
        if self._replica is None:
            await self.empty()
            replica = self._new_replica()
            replica.is_gentle = is_gentle
            try:
                await replica.open(place)
            except BaseException:
                await replica.close()
                raise
            self._replica = replica
        self._replica.is_gentle = is_gentle
        return self._replica
