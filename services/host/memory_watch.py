"""The memory limit of a host: when it is passed by what is no garbage, the partition with the most state in memory is
parked.

State that outgrows its host would take all its neighbours along when the kernel ends the process. Parked, one segment
waits, with the reason and what to do about it. Functions of python operators have limits of their own.
"""

import asyncio
import ctypes
import gc
import os
from collections.abc import Callable, Iterable

import psutil
import structlog

from services.host.seat import OverMemoryError
from services.host.segment import Segment

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 1.0
RELIEF_S = 10.0
"""After parking one, so long until the next: its memory comes back little by little."""


class MemoryWatch:
    """`run` looks every second, until cancelled."""

    def __init__(self, limit_bytes: int, segments: Callable[[], Iterable[Segment]]) -> None:
        self._limit_bytes = limit_bytes
        self._segments = segments
        self._process = psutil.Process(os.getpid())

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._used_bytes > self._limit_bytes:
                gc.collect()  # it takes its time, and still less than a partition that stands still for what is garbage
                ctypes.CDLL(None).malloc_trim(0)
                if (used_bytes := self._used_bytes) > self._limit_bytes:
                    self._park_largest(used_bytes)
                    await asyncio.sleep(RELIEF_S)

    @property
    def _used_bytes(self) -> int:
        return int(self._process.memory_info().rss)

    def _park_largest(self, used_bytes: int) -> None:
        tasks = [task for segment in self._segments() for task in segment.tasks().values()]
        largest = max(tasks, key=lambda task: task.resident_bytes, default=None)
        told = f"the host takes {used_bytes >> 20} MB of the {self._limit_bytes >> 20} MB that it may"
        if largest is None or not largest.resident_bytes:
            log.warning("too much memory, and no state to blame", reason=told)
            return
        largest.fail(
            OverMemoryError(
                f"{told}; this partition has the most state, about {largest.resident_bytes >> 20} MB. Keep it on disk "
                f"(state: disk), move partitions to other hosts, or raise --memory-limit"
            )
        )
