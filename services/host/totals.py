"""What a host has added up since its segments came to it: the counters that Prometheus reads.

All of it is added once a second, from the rows that are reported anyway. The totals of a segment go with it: else a
host would tell of all flows that ever came and went.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from services.host.meter import Work
from services.registry.view import Slot
from topics.messages import Moments, OperatorMetrics, Sketch

OperatorKey = tuple[str, str, int]
"""Flow, operator and partition."""


@dataclass(slots=True)
class Sums:
    """Count, sum and sum of squares."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, more: Moments | Sketch) -> None:
        """Those, too."""
        self.count += more.count
        self.total += more.sum
        self.squares += more.sum_sq


@dataclass(slots=True)
class OperatorTotals:
    """One operator on one partition. `work` is what was committed; the rest is of all that was done."""

    work: Work = field(default_factory=Work)
    service_us: Sums = field(default_factory=Sums)
    gaps_us: Sums = field(default_factory=Sums)


@dataclass(slots=True)
class TaskTotals:
    """One partition of a segment."""

    wait_us: Sums = field(default_factory=Sums)
    latency_ms: Sums = field(default_factory=Sums)
    bytes_in: int = 0
    bytes_out: int = 0


class Totals:
    """Of all segments that are here."""

    def __init__(self) -> None:
        self.operators: dict[OperatorKey, OperatorTotals] = {}
        self.tasks: dict[Slot, TaskTotals] = {}

    def committed(self, done: Mapping[OperatorKey, Work]) -> None:
        """So much more is done for good."""
        for key, work in done.items():
            self._operator(key).work.add(work)

    def reported(self, rows: Sequence[OperatorMetrics]) -> None:
        """The rows of one task for one second; each of them repeats what is the task's."""
        for row in rows:
            operator = self._operator((row.flow, row.operator, row.partition))
            operator.service_us.add(row.service_us)
            operator.gaps_us.add(row.gaps_us)
        for row in rows[:1]:
            task = self.tasks.setdefault((row.segment, row.partition), TaskTotals())
            task.wait_us.add(row.wait_us)
            if row.latency_ms is not None:
                task.latency_ms.add(row.latency_ms)
            task.bytes_in += row.bytes_in
            task.bytes_out += row.bytes_out

    def ended(self, flow: str, segment: str, operators: Collection[str]) -> None:
        """A segment with these operators is here no longer."""
        for key in [key for key in self.operators if key[0] == flow and key[1] in operators]:
            del self.operators[key]
        for slot in [slot for slot in self.tasks if slot[0] == segment]:
            del self.tasks[slot]

    def _operator(self, key: OperatorKey) -> OperatorTotals:
        totals = self.operators.get(key)
        if totals is None:
            totals = self.operators[key] = OperatorTotals()
        return totals
