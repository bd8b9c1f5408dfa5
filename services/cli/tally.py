"""Live figures from the metrics topics: what the rows of the last seconds amount to, per operator and host. Pure."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from topics.messages import HostMetrics, OperatorMetrics, Sketch

WINDOW_S = 5


class OperatorLine(msgspec.Struct, frozen=True):
    """One operator of one flow on one host, over the last seconds."""

    flow: str
    operator: str
    host: str
    partitions: int
    in_per_s: float
    out_per_s: float
    service_us: float
    wait_ms: float
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    lag: int
    state_bytes: int
    dead_letters: int
    late: int


class HostLine(msgspec.Struct, frozen=True):
    """One host, as it reported last."""

    host: str
    cpu: float
    memory_bytes: int
    operators: int
    loop_delay_ms_max: float


class Tally:
    """Takes rows in as they come and forgets those that are older than the window."""

    def __init__(self) -> None:
        self._operators: list[OperatorMetrics] = []
        self._hosts: dict[str, HostMetrics] = {}

    def add(self, row: OperatorMetrics | HostMetrics) -> None:
        """One row of a metrics topic."""
        if isinstance(row, HostMetrics):
            self._hosts[row.host] = row
        else:
            self._operators.append(row)

    def operator_lines(self, *, now_s: int, flow: str | None = None) -> list[OperatorLine]:
        """By flow, operator and host. The present second is not over yet, so it does not count."""
        self._operators = [row for row in self._operators if row.second >= now_s - WINDOW_S]
        groups: dict[tuple[str, str, str], list[OperatorMetrics]] = {}
        for row in self._operators:
            if row.second < now_s and flow in (None, row.flow):
                groups.setdefault((row.flow, row.operator, row.host), []).append(row)
        return [_line(*names, rows) for names, rows in sorted(groups.items())]

    def host_lines(self, *, now_s: int) -> list[HostLine]:
        """The hosts that have reported within the window."""
        return [
            HostLine(row.host, row.cpu, row.memory_bytes, row.operators, row.loop_delay_ms_max)
            for _, row in sorted(self._hosts.items())
            if row.second >= now_s - WINDOW_S
        ]


def _line(flow: str, operator: str, host: str, rows: list[OperatorMetrics]) -> OperatorLine:
    latency = _together([row.latency_ms for row in rows if row.latency_ms is not None])
    newest = {row.partition: row for row in sorted(rows, key=lambda row: row.second)}
    return OperatorLine(
        flow=flow,
        operator=operator,
        host=host,
        partitions=len(newest),
        in_per_s=sum(row.arrivals for row in rows) / WINDOW_S,
        out_per_s=sum(row.outputs for row in rows) / WINDOW_S,
        service_us=_mean(row.service_us for row in rows),
        wait_ms=_mean(row.wait_us for row in rows) / 1_000,
        latency_ms_p50=latency.quantile(0.5) if latency is not None else None,
        latency_ms_p99=latency.quantile(0.99) if latency is not None else None,
        lag=sum(row.lag for row in newest.values()),
        state_bytes=sum(row.state_bytes for row in newest.values()),
        dead_letters=sum(row.dead_letters for row in rows),
        late=sum(row.late for row in rows),
    )


def _mean(moments: Iterable[Any]) -> float:
    taken = list(moments)
    count = sum(each.count for each in taken)
    return sum(each.sum for each in taken) / count if count else 0.0


def _together(sketches: list[Sketch]) -> Sketch | None:
    """The sketch of all their samples."""
    if not sketches:
        return None
    buckets: Counter[int] = Counter()
    for each in sketches:
        buckets.update(dict(each.buckets))
    return Sketch(
        count=sum(each.count for each in sketches),
        sum=sum(each.sum for each in sketches),
        sum_sq=sum(each.sum_sq for each in sketches),
        min=min(each.min for each in sketches),
        max=max(each.max for each in sketches),
        buckets=tuple(sorted(buckets.items())),
    )
