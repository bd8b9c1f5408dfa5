"""Bugs that a streaming engine must not have, planted into a host's process from outside.

Each gives a host that works as long as nothing goes wrong, as such bugs do. `DELAY_S` is how long what should have been
one step takes as two.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Any

from services.host import host, progress
from services.host.memory import Memory
from services.host.segment_plan import SegmentPlan
from services.host.task import Task
from services.host.wanted import Wanted
from services.host.writer import Writer
from services.operators.aggregate import Aggregate
from services.operators.program import Program
from topics import catalogue

DELAY_S = 1.5

Changes = tuple[str, list[bytes], list[bytes | None]]


def commit_too_early() -> None:
    """Offsets are committed when records come in, as consumers with auto-commit do; results follow later."""
    process = Task._process

    async def committed_first(self: Any, input_name: str, records: list[Any]) -> None:
        each = self._inputs.by_name[input_name]
        first = each.next_offset
        if records and records[-1].offset >= first:
            each.next_offset = records[-1].offset + 1
            await self._commit()
            each.next_offset = first
        await process(self, input_name, records)

    Task._process = committed_first  # type: ignore[method-assign]


def ack_before_send() -> None:
    """Offsets are committed while outputs still wait in a buffer."""
    write, commit = Writer.write, Writer.commit

    async def held(self: Any, *arguments: Any, **options: Any) -> None:
        self.__dict__.setdefault("held", []).append((arguments, options))

    async def acknowledged(self: Any, group: str, offsets: Any) -> dict[str, int]:
        await commit(self, group, offsets)
        await asyncio.sleep(DELAY_S)
        waiting, self.held = self.__dict__.get("held", []), []
        for arguments, options in waiting:
            await write(self, *arguments, **options)
        return await commit(self, group, offsets)

    Writer.write = held  # type: ignore[method-assign]
    Writer.commit = acknowledged  # type: ignore[method-assign]


def epoch_ignored() -> None:
    """What was once assigned is kept, whatever the registry says later, and no transactional id fences anybody."""
    shared = SegmentPlan.transactional_id
    SegmentPlan.transactional_id = lambda self, partition: f"{shared(self, partition)}.{os.getpid()}"  # type: ignore[method-assign]
    wanted_of, kept = host.wanted_of, {}  # type: dict[str, dict[int, Any]]

    def kept_wanted(name: str, view: Any) -> dict[str, Wanted]:
        now = wanted_of(name, view)
        for segment, wanted in now.items():
            for partition, placement in wanted.placements.items():
                kept.setdefault(segment, {}).setdefault(partition, placement)
        return {
            segment: Wanted(view.flows[next(iter(placements.values())).flow], placements)
            for segment, placements in kept.items()
        }

    async def ours(*_: Any) -> bool:
        return True

    host.wanted_of = kept_wanted
    host.Host._still_ours = ours  # type: ignore[method-assign]
    host.Host._is_ours = lambda *_: True  # type: ignore[method-assign]


def changelog_after_output() -> None:
    """The changes of state follow in a transaction of their own."""
    drained, commit = progress.drained, Task._commit
    waiting: dict[Program, list[Changes]] = {}

    def nothing(program: Program) -> Iterator[Changes]:
        waiting[program] = list(drained(program))
        return iter(())

    async def committed(self: Any) -> None:
        await commit(self)
        changes = waiting.pop(self._program)
        if changes:
            await asyncio.sleep(DELAY_S)
            now_ms = self._context.now_ms()
            for operator, keys, values in changes:
                topic = self._memory.changelogs[operator]
                await self._writer.write(topic, self.partition, keys, values, [now_ms] * len(keys))
            note = self._progress._note.text()
            await self._writer.commit(self.plan.group, {at: (each, note) for at, each in self._inputs.offsets.items()})

    progress.drained = nothing
    Task._commit = committed  # type: ignore[method-assign]


def window_lost_on_restart() -> None:
    """Aggregates begin anew after a restart: their open windows are gone."""
    rebuild = Memory.rebuild

    async def forgetful(self: Any, place: Any) -> int:
        entries = await rebuild(self, place)
        for operator in self.program._operators.values():
            if isinstance(operator, Aggregate):
                for _ in operator.forget():
                    pass
        return entries

    Memory.rebuild = forgetful  # type: ignore[method-assign]


def edge_lost_on_restart() -> None:
    """The first blocks for other segments after a restart go nowhere, and their offsets are committed."""
    recover, write, commit = Task.recover, Writer.write, Writer.commit

    async def recovered(self: Any, committed: Any) -> int:
        entries = await recover(self, committed)
        self._writer.forgets = any(self.positions.values())
        return entries

    async def forgetful(self: Any, topic: str, *arguments: Any, **options: Any) -> Any:
        if self.__dict__.get("forgets") and catalogue.find(topic) is catalogue.EDGE:
            return None
        return await write(self, topic, *arguments, **options)

    async def committed_once(self: Any, group: str, offsets: Any) -> dict[str, int]:
        landed = await commit(self, group, offsets)
        self.forgets = False
        return landed

    Task.recover = recovered  # type: ignore[method-assign]
    Writer.write = forgetful  # type: ignore[method-assign]
    Writer.commit = committed_once  # type: ignore[method-assign]


def dead_letter_not_written() -> None:
    """A record that can't be processed is dropped without a word."""

    async def dropped(self: Any, *_: Any) -> None:
        self._failures.clear()

    Task._note_failures = dropped  # type: ignore[method-assign]


BUGS: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        commit_too_early,
        ack_before_send,
        epoch_ignored,
        changelog_after_output,
        window_lost_on_restart,
        edge_lost_on_restart,
        dead_letter_not_written,
    )
}
