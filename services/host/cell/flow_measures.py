"""What hosts measured of one flow in the last seconds, summed up for the model of that flow. Pure.

Times are brought to a host of capacity 1 on the way, so that sums over unequal hosts mean something.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from placement.fits.rates import VARIATION_MAX
from topics.messages import OperatorMetrics

COUNT_MIN = 20
"""A ratio of fewer records than this is chance."""


@dataclass(slots=True)
class OperatorSums:
    """One operator over all partitions and seconds."""

    arrivals: int = 0
    outputs: int = 0
    served: int = 0
    service_vwu: float = 0.0
    service_vwu2: float = 0.0
    gaps: int = 0
    weighted_ca2: float = 0.0

    @property
    def batch(self) -> float | None:
        """Records out for one record in."""
        return self.outputs / self.arrivals if self.arrivals >= COUNT_MIN else None

    @property
    def mean_vwu(self) -> float | None:
        """Service time of a record."""
        return self.service_vwu / self.served if self.served >= COUNT_MIN else None

    @property
    def variance_vwu2(self) -> float:
        """Variance of the service time; 0 where nothing was served."""
        if not self.served:
            return 0.0
        mean = self.service_vwu / self.served
        return min(max(0.0, self.service_vwu2 / self.served - mean * mean), VARIATION_MAX * mean * mean)

    @property
    def ca2(self) -> float | None:
        """Squared coefficient of variation of the times between arrivals."""
        return min(self.weighted_ca2 / self.gaps, VARIATION_MAX) if self.gaps >= COUNT_MIN else None

    def add(self, row: OperatorMetrics, capacity: float) -> None:
        """Take in one second of one partition."""
        self.arrivals += row.arrivals
        self.outputs += row.outputs
        self.served += row.service_us.count
        self.service_vwu += row.service_us.sum * capacity / 1e3
        self.service_vwu2 += row.service_us.sum_sq * (capacity / 1e3) ** 2
        gaps = row.gaps_us
        if gaps.count and gaps.sum > 0:
            # The long-run variation of merged streams is the mean of theirs by rate (Whitt's asymptotic method).
            self.gaps += gaps.count
            self.weighted_ca2 += gaps.count * max(0.0, gaps.sum_sq * gaps.count / gaps.sum**2 - 1)


@dataclass(slots=True)
class SegmentSums:
    """One segment over all partitions and seconds; `lags`: first and last (second, lag) of each partition."""

    bytes_in: int = 0
    bytes_out: int = 0
    lags: dict[int, tuple[tuple[int, int], tuple[int, int]]] = field(default_factory=dict)

    @property
    def lag_growth_per_s(self) -> float:
        """How many records more arrive a second than are processed; below 0 while it catches up."""
        return sum((last - first) / (end - start) for (start, first), (end, last) in self.lags.values() if end > start)


@dataclass(frozen=True, slots=True)
class FlowMeasures:
    """Sums over the last `span_s` seconds, by operator and by segment."""

    span_s: float
    operators: dict[str, OperatorSums]
    segments: dict[str, SegmentSums]

    def operator(self, name: str) -> OperatorSums:
        """The sums of one operator; zeros if it had nothing to do."""
        return self.operators.get(name, OperatorSums())

    def segment(self, segment_id: str) -> SegmentSums:
        """The sums of one segment; zeros if it had nothing to do."""
        return self.segments.get(segment_id, SegmentSums())


def measure_flow(rows: Iterable[OperatorMetrics], capacities: Mapping[str, float], *, span_s: float) -> FlowMeasures:
    """Sum up the rows of one flow. A host whose capacity nobody knows counts as one of capacity 1."""
    return measure_heard(((row.second, row) for row in rows), capacities, span_s=span_s)


def measure_heard(
    rows: Iterable[tuple[int, OperatorMetrics]], capacities: Mapping[str, float], *, span_s: float
) -> FlowMeasures:
    """The same of rows each of which comes with the second that it counts for, whatever its host's clock says."""
    assert span_s > 0, span_s
    measures = FlowMeasures(span_s, {}, {})
    seen: set[tuple[str, str, int, int]] = set()
    for at, row in sorted(rows, key=lambda each: (each[0], each[1].segment, each[1].partition, each[1].operator)):
        operator = measures.operators.setdefault(row.operator, OperatorSums())
        operator.add(row, capacities.get(row.host, 1.0))
        segment = measures.segments.setdefault(row.segment, SegmentSums())
        task_second = (row.host, row.segment, row.partition, row.second)
        if task_second in seen:
            continue  # every operator of a segment repeats the bytes and the lag of its task
        seen.add(task_second)
        segment.bytes_in += row.bytes_in
        segment.bytes_out += row.bytes_out
        now = (at, row.lag)
        segment.lags[row.partition] = (segment.lags.get(row.partition, (now, now))[0], now)
    return measures
