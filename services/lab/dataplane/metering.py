"""Measure: the processor time of measuring itself, in process.

Two hosts side by side can't show a cost of 2 %: the same host differs by more from one trial to the next. So a host
counts it itself while it works off a backlog.
"""

import time
from collections.abc import Callable
from types import SimpleNamespace

from services.host.meter import Meter
from services.lab.dataplane.contestants import altered
from services.lab.dataplane.ground import Backlog, BenchError, Ground
from services.lab.dataplane.throughput import contend
from services.lab.dataplane.workloads import WORKLOADS, Workload
from services.lab.results import Row

BATCH = 8_000
ROUNDS = 5_000


def shares(ground: Ground, backlog: Backlog, *, repetitions: int) -> list[Row]:
    """How much of its processor time a host measures and reports with."""
    return [
        Row.of(
            f"{workload.name}: measuring and reporting, share of a host's CPU",
            [_share(ground, backlog, workload) for _ in range(repetitions)],
            "%",
        )
        for workload in WORKLOADS
    ]


def _share(ground: Ground, backlog: Backlog, workload: Workload) -> float:
    file = ground.folder / "metering-share"
    file.unlink(missing_ok=True)
    ground.say(f"{workload.name}, a host that counts what measuring takes")
    contend(ground, altered("timed", "timed_host.py", str(file)), workload, backlog)
    try:
        return float(file.read_text()) * 100
    except FileNotFoundError:
        raise BenchError("the host ended without telling what measuring took") from None


def metering(repetitions: int) -> list[Row]:
    """What a batch through two operators costs its task's meter, and what a report of them costs."""
    meter = Meter("flow", "segment", 0, first="filter")
    records = [SimpleNamespace(timestamp=0)] * BATCH

    def batch() -> None:
        meter.fetched(records, now_ms=1)
        meter.begun()
        meter.probe("filter", BATCH, BATCH // 2)
        meter.probe("project", BATCH // 2, BATCH // 2)
        meter.finished(1.0)

    def report() -> None:
        batch()
        meter.report("host", 0, lag=0, state_bytes={}, bytes_out=0)

    return [
        Row.of("measuring a batch", [_cost_us(batch) for _ in range(repetitions)], "us CPU"),
        Row.of("reporting a task", [_cost_us(report) for _ in range(repetitions)], "us CPU"),
    ]


def _cost_us(action: Callable[[], None]) -> float:
    begin_s = time.process_time()
    for _ in range(ROUNDS):
        action()
    return (time.process_time() - begin_s) / ROUNDS * 1e6
