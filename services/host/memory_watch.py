"""The memory limit of a host: when it is passed by what is no garbage, whoever is to blame gives its memory back.

State that outgrows its host would take all its neighbours along when the kernel ends the process. So the largest
standby rests, since nobody needs it. If none has a fair share of the excess, the largest state that is being rebuilt is
parked, and only then the largest that works. Parked, one partition waits, with the reason and what to do about it.
Functions of python operators have limits of their own.
"""

import asyncio
import ctypes
import gc
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import psutil
import structlog

from services.host.ahead import Ahead
from services.host.seat import OverMemoryError
from services.host.segment import Segment
from services.host.standby import REST_S, Standby

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 1.0
RELIEF_S = 10.0
"""After one has given its memory back, so long until the next: it comes back little by little."""
RELIEVED_SHARE = 0.9
"""Of the limit; what is taken above that is the excess. Down to the limit, it would soon be passed again."""
FAIR_SHARE = 0.05
"""Of the excess: a smaller state is not to blame. States are weighed as changelogs hold them, and take some times as
much in memory."""
ADVICE = "Keep it on disk (state: disk), move partitions to other hosts, or raise --memory-limit"


@dataclass(frozen=True, slots=True)
class State:
    """Of one partition: about how much it takes in memory, and how it gives that back, when it is told why."""

    size_bytes: int
    give_back: Callable[[str], None]


class MemoryWatch:
    """`run` looks every second, until cancelled. `ahead`: the records that wait to be processed."""

    def __init__(self, limit_bytes: int, segments: Callable[[], Iterable[Segment]], ahead: Ahead) -> None:
        self._limit_bytes = limit_bytes
        self._segments = segments
        self._ahead = ahead
        self._process = psutil.Process(os.getpid())

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._used_bytes > self._limit_bytes:
                gc.collect()  # it takes its time, and still less than a partition that stands still for what is garbage
                ctypes.CDLL(None).malloc_trim(0)
                if (used_bytes := self._used_bytes) > self._limit_bytes:
                    self._relieve(used_bytes)
                    await asyncio.sleep(RELIEF_S)

    @property
    def _used_bytes(self) -> int:
        return int(self._process.memory_info().rss)

    def _relieve(self, used_bytes: int) -> None:
        told = f"the host takes {used_bytes >> 20} MB of the {self._limit_bytes >> 20} MB that it may"
        excess_bytes = used_bytes - RELIEVED_SHARE * self._limit_bytes
        segments = list(self._segments())
        weighed_bytes = 0
        for kind in (_followed, _rebuilt, _running):
            states = [state for segment in segments for state in kind(segment)]
            largest = max(states, key=lambda state: state.size_bytes, default=None)
            together_bytes = sum(state.size_bytes for state in states)
            if largest is not None and _is_to_blame(largest.size_bytes, together_bytes, excess_bytes):
                largest.give_back(told)
                return
            weighed_bytes += together_bytes
        log.warning(
            "too much memory, and no state to blame",
            reason=told,
            state_mb=weighed_bytes >> 20,
            fetched_mb=self._ahead.bytes >> 20,
        )


def _is_to_blame(largest_bytes: int, together_bytes: int, excess_bytes: float) -> bool:
    """Many small states may be too much together; then one after the other goes."""
    return largest_bytes > 0 and (largest_bytes >= FAIR_SHARE * excess_bytes or together_bytes >= excess_bytes)


def _followed(segment: Segment) -> Iterator[State]:
    for partition, standby in segment.followed().items():
        yield State(standby.resident_bytes, partial(_rest, standby, segment.plan.segment.id, partition))


def _rebuilt(segment: Segment) -> Iterator[State]:
    for seat in segment.seats.values():
        if seat.rebuilt is not None:
            size_bytes = seat.rebuilt.resident_bytes
            what = f"the state of this partition is being rebuilt, and has about {size_bytes >> 20} MB already"
            yield State(size_bytes, partial(_park, seat.refuse, what))


def _running(segment: Segment) -> Iterator[State]:
    for task in segment.tasks().values():
        size_bytes = task.resident_bytes
        yield State(
            size_bytes, partial(_park, task.fail, f"this partition has the most state, about {size_bytes >> 20} MB")
        )


def _rest(standby: Standby, segment_id: str, partition: int, told: str) -> None:
    log.warning("a standby rests", segment=segment_id, partition=partition, reason=told, again_s=REST_S)
    standby.rest()


def _park(fail: Callable[[Exception], None], what: str, told: str) -> None:
    fail(OverMemoryError(f"{told}; {what}. {ADVICE}"))
