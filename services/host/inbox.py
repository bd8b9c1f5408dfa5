"""A task's inbox: the blocks that were fetched for it and what else it is told to do, in the order in which they came.

It bounds what is fetched ahead, for its task and, with others, for the host (`ahead`). Small blocks that wait right
behind one another leave it together: a batch costs as much as a hundred records, so a trickle of records must not
become as many batches.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from services.host.ahead import Ahead
from services.host.fetch import Block, Record

if TYPE_CHECKING:
    from services.host.task import Task

BLOCKS_MAX = 3
"""With so many blocks that are not yet processed, no more are fetched, unless they are small."""
SMALL_BYTES_MAX = 256 * 1024
"""Blocks of fewer bytes in all are fetched whatever their number."""
BYTES_MAX = 8 * 2**20
"""With so many bytes that are not yet processed, no more are fetched. Only what was compressed comes so large: a fetch
of 1 MiB may become a hundred, and then one block is under way at a time."""
TOGETHER_RECORDS_MAX = 2_000
"""Blocks leave together up to about so many records."""


class Order(Enum):
    """What a task is told to do beside processing blocks."""

    TICK = "tick"
    COMMIT = "commit"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class FetchedBlock:
    """All records that one fetch brought for one input of one task."""

    task: "Task"
    input_name: str
    records: Block


Entry = FetchedBlock | Order | Exception


class Inbox:
    """`announce` a block when it is fetched, `put` it when it comes; `done` when what `next` gave is processed."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Entry] = asyncio.Queue()
        self._held: Entry | None = None
        self._under_way: Counter[str] = Counter()
        self._under_way_bytes = 0
        self._ahead: Ahead | None = None
        """Where the bytes under way count for the host."""
        self._is_short = False
        """Whether the host was full when the last block came."""
        self._is_stopped = False
        self._is_closed = False

    @property
    def has_room(self) -> bool:
        """Whether more blocks may be fetched. What it says changes only with its own blocks, so that whoever waits for
        room is woken by `done`; with nothing under way there always is."""
        has_many = self._is_short or self._under_way.total() >= BLOCKS_MAX
        return self._under_way_bytes < (SMALL_BYTES_MAX if has_many else BYTES_MAX)

    @property
    def is_stopped(self) -> bool:
        """Whether nothing but the end comes next."""
        return self._is_stopped

    @property
    def is_idle(self) -> bool:
        """Whether all that was fetched is processed."""
        return not self.unread

    @property
    def unread(self) -> set[str]:
        """The inputs of which something was fetched that is not yet processed."""
        return {input_name for input_name, count in self._under_way.items() if count}

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return self._held is None and self._queue.empty()

    def announce(self, block: FetchedBlock) -> None:
        """This block was fetched, and is on its way."""
        self._under_way[block.input_name] += 1
        self._under_way_bytes += block.records.size_bytes
        if not self._is_closed and (ahead := block.records.ahead) is not None:
            self._ahead = ahead
            ahead.bytes += block.records.size_bytes
            self._is_short = ahead.is_full

    def put(self, entry: Entry) -> None:
        """Behind all others."""
        if not self._is_closed:
            self._queue.put_nowait(entry)

    def stop(self) -> None:
        """Nothing but the end comes next. What still waits is the next owner's: none of it has been processed, and a
        host that is slow, or far behind, must not keep the next owner waiting for it."""
        self._is_stopped = True
        self._queue.put_nowait(Order.STOP)  # wakes whoever waits

    def close(self) -> None:
        """Drop what waits, and what still comes: blocks name their task, so that each would hold the other."""
        self._is_closed, self._held, self._queue = True, None, asyncio.Queue()
        if self._ahead is not None:
            self._ahead.bytes -= self._under_way_bytes
            self._ahead = None

    async def next(self, timeout_s: float | None) -> list[FetchedBlock] | Order | Exception:
        """What to do next: blocks of one input, or an order; a commit if nothing comes in time."""
        entry = Order.STOP if self._is_stopped else await self._first(timeout_s)
        return self._with_followers(entry) if isinstance(entry, FetchedBlock) else entry

    def done(self, blocks: Sequence[FetchedBlock]) -> None:
        """These blocks are processed."""
        for block in blocks:
            self._under_way[block.input_name] -= 1
        done_bytes = sum(block.records.size_bytes for block in blocks)
        self._under_way_bytes -= done_bytes
        if self._ahead is not None:
            self._ahead.bytes -= done_bytes

    async def _first(self, timeout_s: float | None) -> Entry:
        if self._held is not None:
            held, self._held = self._held, None
            return held
        if not self._queue.empty():
            return self._queue.get_nowait()
        if timeout_s is None:
            return await self._queue.get()
        # Cheaper than a timeout, and a batch waits here each time. One that comes too late is an order for nothing.
        reminder = asyncio.get_running_loop().call_later(timeout_s, self._queue.put_nowait, Order.COMMIT)
        try:
            return await self._queue.get()
        finally:
            reminder.cancel()

    def _with_followers(self, block: FetchedBlock) -> list[FetchedBlock]:
        blocks, records = [block], len(block.records)
        while records < TOGETHER_RECORDS_MAX and not self._queue.empty():
            following = self._queue.get_nowait()
            if not isinstance(following, FetchedBlock) or following.input_name != block.input_name:
                self._held = following
                break
            blocks.append(following)
            records += len(following.records)
        return blocks


def joined(blocks: Sequence[FetchedBlock]) -> list[Record]:
    """The records of some blocks, in order."""
    return blocks[0].records if len(blocks) == 1 else [record for block in blocks for record in block.records]
