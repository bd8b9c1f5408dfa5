"""What all tasks and standbys of a host share: the cluster, clocks, settings, and how state and functions begin."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from services.host.ahead import Ahead
from services.host.memory import TEMPORARY, Memory
from services.host.pace import FULL_PACE, Pace
from services.host.segment_plan import SegmentPlan
from services.host.writer import WriterParams
from services.isolated.caller import IsolatedCaller, IsolationParams
from services.operators.calls import Caller
from topics.flow import specs

ClockMs = Callable[[], int]


def wall_clock_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What all tasks of a host share. `broker_ms`: the brokers' time, as well as it is known here. `ahead`: what is
    fetched for them and waits."""

    bootstrap: str
    allow: tuple[str, ...] = ()
    now_ms: ClockMs = wall_clock_ms
    broker_ms: Callable[[], float] = wall_clock_ms
    writer: WriterParams = field(default_factory=WriterParams)
    isolation: IsolationParams = field(default_factory=IsolationParams)
    state_folder: Path = TEMPORARY
    pace: Pace = FULL_PACE
    ahead: Ahead = field(default_factory=Ahead)

    def memory(self, plan: SegmentPlan, partition: int) -> Memory:
        """An empty one."""
        return Memory(plan, partition, bootstrap=self.bootstrap, caller=self.caller, folder=self.state_folder)

    def caller(self, spec: specs.Python) -> Caller:
        """What calls a user's function: from a process of its own."""
        return IsolatedCaller(spec, allow=self.allow, params=self.isolation)
