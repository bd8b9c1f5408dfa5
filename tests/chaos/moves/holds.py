"""Points of a move at which a process holds still until a fault has struck.

The test arms a point for one partition and, if it matters, one process; the process that comes to it says so and waits
until the test lets it go on, at most `HOLD_S_MAX`: all by small files in one folder. `install` puts the points into a
process from outside, as planted bugs are; the product has no hook for it.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

POLL_S = 0.01
HOLD_S_MAX = 30.0
IN_TRANSACTION = {"warming": "proposing", "draining": "handing_over", "releasing": "releasing"}
"""The phase that a placement instance writes down, and the name of the point before it commits that."""


class Armed(msgspec.Struct, frozen=True):
    """Where to hold. `process` None: whoever comes by."""

    point: str
    segment: str
    partition: int
    process: str | None = None


@dataclass(frozen=True)
class Holds:
    """The test's side. `refuse`: the named process can't restore the partition, as if it broke at it."""

    folder: Path

    def arm(self, armed: Armed) -> None:
        self.clear()
        self.folder.mkdir(parents=True, exist_ok=True)
        _put(self.folder / "armed", msgspec.json.encode(armed))

    def refuse(self, armed: Armed) -> None:
        _put(self.folder / "refused", msgspec.json.encode(armed))

    def reached(self) -> str | None:
        """The process that holds; None if none has come by."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "reached").read_text()
        return None

    def clear(self) -> None:
        """Let go on whoever holds, and let nobody hold any more."""
        for name in ("armed", "refused", "reached"):
            (self.folder / name).unlink(missing_ok=True)


def _put(file: Path, content: bytes) -> None:
    part = file.with_suffix(".part")
    part.write_bytes(content)
    part.replace(file)


class _Points:
    """The process's side."""

    def __init__(self, folder: Path, process: str) -> None:
        self._folder = folder
        self._process = process

    async def at(self, point: str, segment: str, partition: int) -> None:
        """Hold here, if this point is armed."""
        armed = self._armed("armed")
        if armed is None or not self._means(armed, point, segment, partition):
            return
        _put(self._folder / "reached", self._process.encode())
        deadline_s = time.monotonic() + HOLD_S_MAX
        while self._armed("armed") == armed and time.monotonic() < deadline_s:
            await asyncio.sleep(POLL_S)

    def is_refused(self, segment: str, partition: int) -> bool:
        armed = self._armed("refused")
        return armed is not None and self._means(armed, "refused", segment, partition)

    def is_armed(self, point: str, segment: str, partition: int) -> bool:
        armed = self._armed("armed")
        return armed is not None and self._means(armed, point, segment, partition)

    def _means(self, armed: Armed, point: str, segment: str, partition: int) -> bool:
        is_here = (armed.point, armed.segment, armed.partition) == (point, segment, partition)
        return is_here and armed.process in (None, self._process)

    def _armed(self, name: str) -> Armed | None:
        try:
            return msgspec.json.decode((self._folder / name).read_bytes(), type=Armed)
        except FileNotFoundError:
            return None


def install_in_host(folder: Path, process: str) -> None:
    """The points at which a host holds: as target, as origin, and as origin that gets its partition back."""
    points = _Points(folder, process)
    _hold_between_tasks(points)
    _hold_last_commit(points)
    _hold_beginning(points)


def _hold_between_tasks(points: _Points) -> None:
    """A standby before it reads, and a segment before it lets a partition go."""
    from services.host.segment import Segment
    from services.host.standby import Standby

    follow, release = Standby._follow, Segment.release

    async def held_follow(self: Any) -> None:
        await points.at("warming", self._plan.segment.id, self._partition)
        await follow(self)

    async def held_release(self: Any, partition: int) -> None:
        if partition in self.seats:
            await points.at("draining", self.plan.segment.id, partition)
        await release(self, partition)

    Standby._follow = held_follow  # type: ignore[method-assign]
    Segment.release = held_release  # type: ignore[method-assign]


def _hold_last_commit(points: _Points) -> None:
    """A task that was told to stop, in its last transaction."""
    from services.host.task import Task

    run, stop, commit = Task.run, Task.stop, Task._commit
    leaving: set[Task] = set()

    def noted_stop(self: Any) -> None:
        leaving.add(self)
        stop(self)

    async def held_commit(self: Any) -> None:
        if self in leaving and points.is_armed("committing", self.plan.segment.id, self.partition):
            written = self._writer.commit

            async def held(*arguments: Any) -> Any:
                await points.at("committing", self.plan.segment.id, self.partition)
                return await written(*arguments)

            self._writer.commit = held
        await commit(self)

    async def held_run(self: Any) -> None:
        try:
            await run(self)
            await points.at("committing", self.plan.segment.id, self.partition)  # it had nothing to commit
        finally:
            leaving.discard(self)

    Task.stop = noted_stop  # type: ignore[method-assign]
    Task._commit = held_commit  # type: ignore[method-assign]
    Task.run = held_run  # type: ignore[method-assign]


def _hold_beginning(points: _Points) -> None:
    """A task before it fences the former owner, before and after it has read the state; or it can't begin at all."""
    from services.host.task import Task
    from services.operators.calls import BrokenFunctionError

    fence, recover = Task.fence, Task.recover

    async def held_fence(self: Any) -> None:
        for point in ("fencing", "returning"):
            await points.at(point, self.plan.segment.id, self.partition)
        await fence(self)

    async def held_recover(self: Any, committed: Any) -> int:
        segment, partition = self.plan.segment.id, self.partition
        await points.at("catching_up", segment, partition)
        if points.is_refused(segment, partition):
            raise BrokenFunctionError("the test says so")
        restored = await recover(self, committed)
        await points.at("activating", segment, partition)
        return restored

    Task.fence = held_fence  # type: ignore[method-assign]
    Task.recover = held_recover  # type: ignore[method-assign]


def install_in_placement(folder: Path, process: str) -> None:
    """The points at which a placement instance holds: all is sent, and nothing is committed."""
    from services.registry.fenced import FencedWriter
    from topics.messages import MoveRecord

    points = _Points(folder, process)
    write = FencedWriter.write

    async def held_write(self: Any, entries: Sequence[Any]) -> None:
        moves = [message for _, message in entries if isinstance(message, MoveRecord)]
        passed = [
            (IN_TRANSACTION[move.phase], move.segment, move.partition) for move in moves if move.phase in IN_TRANSACTION
        ]
        commit = self._producer.commit_transaction

        async def held() -> None:
            for point in passed:
                await points.at(*point)
            await commit()

        self._producer.commit_transaction = held
        try:
            await write(self, entries)
        finally:
            self._producer.commit_transaction = commit

    FencedWriter.write = held_write  # type: ignore[method-assign]
