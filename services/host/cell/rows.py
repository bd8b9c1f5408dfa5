"""What operators measured in the last seconds, kept for those who reckon with it. Pure."""

from collections import deque
from collections.abc import Iterable, Mapping

from placement.queueing import IDLE, Load, Stream
from services.host.cell.flow_measures import FlowMeasures, measure_heard
from topics.messages import OperatorMetrics

KEPT_S = 15
SPAN_S_MIN = 3.0
"""Rates over less than this are chance."""
ROWS_MAX = 50_000
OFF_S_MAX = 3
"""A second is told when it is over, and a busy host is late with it. One that is further off is by a wrong clock."""


class RecentRows:
    """The rows of the last seconds, by flow, each with its second: its host's, or if that can't be, by when it came."""

    def __init__(self) -> None:
        self._rows: dict[str, deque[tuple[int, OperatorMetrics]]] = {}

    def add(self, row: OperatorMetrics, *, second: int) -> None:
        """A host told of one second of one operator and partition; it came in `second`, by the broker's clock."""
        rows = self._rows.setdefault(row.flow, deque(maxlen=ROWS_MAX))
        # Seconds that a host counts are whole: of those in which they came, two may be the same, and the next is none.
        at = row.second if abs(second - row.second) <= OFF_S_MAX else second - 1
        rows.append((at, row))
        while abs(at - rows[0][0]) > KEPT_S:  # ahead: the broker's clock was set back
            rows.popleft()

    def forget(self, flow: str) -> None:
        """Nobody here asks for this flow any more."""
        self._rows.pop(flow, None)

    def measures(self, flow: str, capacities: Mapping[str, float]) -> FlowMeasures | None:
        """What they amount to, without the newest second, which is still being told; None while there are too few."""
        rows = self._rows.get(flow)
        if not rows:
            return None
        newest, oldest = max(at for at, _ in rows), min(at for at, _ in rows)
        if newest - oldest < SPAN_S_MIN:
            return None
        whole = [(at, row) for at, row in rows if at < newest]
        return measure_heard(whole, capacities, span_s=float(newest - oldest))


def load_of_rows(rows: Iterable[OperatorMetrics], capacity: float) -> Load:
    """The load of segments, from one second of their operators: what enters the first one waits for all of them."""
    entering: dict[tuple[str, int], int] = {}
    busy_ms: dict[tuple[str, int], float] = {}
    for row in rows:
        slot = (row.segment, row.partition)
        entering[slot] = max(entering.get(slot, 0), row.arrivals)
        busy_ms[slot] = busy_ms.get(slot, 0.0) + row.service_us.sum / 1e3
    load = IDLE
    for slot, count in sorted(entering.items()):
        if count:
            work = busy_ms[slot] / count * capacity
            load = load.plus(Stream(count / 1e3, work, 1.0, 1.0, 1.0).load(capacity))
    return load
