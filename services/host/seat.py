"""A seat: the place of one partition on a host, and how often and after what pause its task is tried again.

A task that fails is made anew after a pause that grows. One that keeps failing parks, with its reason, and is tried
again after a long pause: what an operator needs may come back without anybody touching the flow.
"""

import asyncio
from dataclasses import dataclass, field

from aiokafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError

from services.host.beginnings import FirstRecordsGoneError
from services.host.disk import StateFullError
from services.host.landmarks import OffsetsLostError
from services.host.memory import Memory
from services.host.streaks import FailsOnEverythingError, Streaks
from services.host.task import Task
from services.host.writer import Writer
from services.operators.calls import BrokenFunctionError
from topics.messages import SegmentState, SegmentStep

RESTART_PAUSE_S_MIN, RESTART_PAUSE_S_MAX = 0.1, 5.0
OUTAGE_PAUSE_S_MAX = 1.0
FAILURES_MAX = 8
"""So many failures in a row, without a commit between them, park a task."""
BROKEN_MAX = 3
"""The same for what is known not to pass by itself, such as an operator that has failed on many records."""
PARKED_PAUSE_S_MIN, PARKED_PAUSE_S_MAX = 30.0, 600.0
PASSING = (KafkaConnectionError, KafkaTimeoutError)
OUTAGES_COUNTED_MAX = 10
PARKED_COUNTED_MAX = 10


class OverMemoryError(Exception):
    """The host takes too much memory, and this partition is to blame for it: it is parked at once."""


AT_ONCE = (OverMemoryError, OffsetsLostError)
"""What parks without a second try."""
BROKEN = (BrokenFunctionError, FailsOnEverythingError, StateFullError, FirstRecordsGoneError, *AT_ONCE)


@dataclass(slots=True)
class Seat:
    """The place of one partition: its task, if it runs, and how it is. `origin`: who drains it before we may fence.

    `rebuilt` is the memory of a task that does not run yet; who sets `refused` then lets it fail with that error.
    """

    partition: int
    epoch: int
    origin: str | None = None
    state: SegmentState = "recovering"
    step: SegmentStep | None = None
    reason: str | None = None
    failures: int = 0
    failures_max: int = FAILURES_MAX
    outages: int = 0
    parked: int = 0
    streaks: Streaks | None = None
    memory: Memory | None = field(default=None, repr=False)
    writer: Writer | None = field(default=None, repr=False)
    rebuilt: Memory | None = field(default=None, repr=False)
    refused: asyncio.Future[Exception] | None = field(default=None, repr=False)
    task: Task | None = field(default=None, repr=False)
    running: asyncio.Task[None] | None = field(default=None, repr=False)

    def failed(self, error: Exception, *, has_committed: bool) -> None:
        """Its task failed, after it `has_committed` or before.

        An outage of the cluster passes by itself, so it never parks a task; what the task can't do does.
        """
        if has_committed:
            self.failures = self.outages = self.parked = 0
        if isinstance(error, AT_ONCE):
            self.failures = BROKEN_MAX - 1
        self.failures_max = BROKEN_MAX if isinstance(error, BROKEN) else FAILURES_MAX
        if is_passing(error):
            self.outages = min(OUTAGES_COUNTED_MAX, self.outages + 1)
        else:
            self.failures, self.outages = self.failures + 1, 0
        self.reason = str(error) if isinstance(error, BROKEN) else f"{type(error).__name__}: {error}"

    def refuse(self, error: Exception) -> None:
        """Let it fail while it is made ready."""
        if self.refused is not None and not self.refused.done():
            self.refused.set_result(error)

    @property
    def has_tries_left(self) -> bool:
        """Whether it is made anew soon; else it is to be parked."""
        return self.failures < self.failures_max

    @property
    def restart_pause_s(self) -> float:
        """How long to wait before the next try."""
        pause_s = RESTART_PAUSE_S_MIN * 2 ** (self.failures + self.outages - 1)
        return min(OUTAGE_PAUSE_S_MAX if self.outages else RESTART_PAUSE_S_MAX, pause_s)

    def park(self) -> float:
        """Count that it is parked once more, and say so; returns how long to wait before it is tried again."""
        pause_s = min(PARKED_PAUSE_S_MAX, PARKED_PAUSE_S_MIN * 2**self.parked)
        self.parked = min(PARKED_COUNTED_MAX, self.parked + 1)
        self.reason = f"{self.reason}. It is tried again in {pause_s:.0f} s, and at once when it is assigned again"
        return pause_s


def is_passing(error: BaseException | None) -> bool:
    """Whether a failure is the cluster's and will pass, as while brokers restart.

    A time-out is aiokafka's own: while a partition has no leader, its batches find no room. It does not call it
    retriable.
    """
    while error is not None:
        if isinstance(error, KafkaError) and (error.retriable or isinstance(error, PASSING)):
            return True
        error = error.__cause__
    return False
