"""What a host reports of its segments: statuses when they change and from time to time, measurements once a second.

Statuses, standbys and handovers are compared with those of other hosts, so their times are the broker's.

Everything is read from the segments when it is due; processing records costs nothing for it but the sums of `meter`.
"""

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import psutil

from services.host.loop_delay import LoopDelay
from services.host.meter import LastReport, Meter
from services.host.publisher import Publisher
from services.host.segment import Segment
from services.host.totals import OperatorKey, Totals
from services.host.unending import unending
from services.process.clock import BrokerClock
from services.registry.view import Slot
from topics import catalogue
from topics.messages import (
    Handover,
    HostMetrics,
    OperatorMetrics,
    SegmentState,
    SegmentStatus,
    SegmentStep,
    StandbyStatus,
    clip,
)

STATUS_EVERY_S = 3.0
METRICS_EVERY_S = 1.0

Step = SegmentStep | None


@dataclass(frozen=True, slots=True)
class Standing:
    """How one partition of one segment is, on this host, since when."""

    epoch: int
    state: SegmentState
    since_ms: int
    reason: str | None = None
    step: Step = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Who reports."""

    host: str
    boot_id: str
    capacity: float


class Reports:
    """`state` notes changes; `run` publishes, until it is cancelled; `last_words` publishes what is left."""

    def __init__(self, identity: Identity, publisher: Publisher, clock: BrokerClock) -> None:
        self.standings: dict[Slot, Standing] = {}
        self.rows: list[OperatorMetrics] = []
        self.totals = Totals()
        self.host_row: HostMetrics | None = None
        self._identity = identity
        self._publisher = publisher
        self._segments: dict[str, Segment] = {}
        self._last_reports: deque[LastReport] = deque()
        """Of segments that have ended."""
        self._news: dict[Slot, Standing] = {}
        self._standbys: dict[Slot, StandbyStatus] = {}
        self._standby_news: list[StandbyStatus] = []
        self._has_news = asyncio.Event()
        self._delay = LoopDelay()
        self._process = psutil.Process(os.getpid())
        self._cpu_s = time.process_time()
        self._measured_s = time.monotonic()
        self._clock = clock

    def add(self, segment: Segment) -> None:
        """Report on this segment from now on."""
        self._segments[segment.plan.segment.id] = segment

    def remove(self, segment: Segment) -> None:
        """It has ended, and its totals go with it."""
        plan = segment.plan
        self._segments.pop(plan.segment.id, None)
        self._last_reports += segment.last_reports
        self.totals.ended(plan.flow, plan.segment.id, plan.segment.operators)

    def segments(self) -> list[Segment]:
        """Those that are reported on."""
        return [*self._segments.values()]

    def state_bytes(self) -> dict[OperatorKey, int]:
        """About how much operators remember, of all partitions that run here."""
        return {
            (segment.plan.flow, operator, partition): size
            for segment in self._segments.values()
            for partition, task in segment.tasks().items()
            for operator, size in task.state_bytes.items()
        }

    def state(self, slot: Slot, epoch: int, state: SegmentState, reason: str | None, *, step: Step = None) -> None:
        """A partition changed its state; it is told at once."""
        standing = Standing(epoch, state, self._now_ms(), reason, step)
        before = self.standings.get(slot)
        if before is not None and replace(before, since_ms=standing.since_ms) == standing:
            return
        if state == "stopped":
            self.standings.pop(slot, None)
        else:
            self.standings[slot] = standing
        self._news[slot] = standing
        self._has_news.set()

    def forget(self, segment_id: str, partition: int) -> None:
        """Another host reports on this partition now."""
        self.standings.pop((segment_id, partition), None)
        self._news.pop((segment_id, partition), None)

    def standby(self, segment_id: str, partition: int, *, is_ready: bool, lag: int, entries: int) -> None:
        """How well a partition is followed. That it has become ready is told at once, the rest from time to time."""
        slot = (segment_id, partition)
        before = self._standbys.get(slot)
        self._standbys[slot] = StandbyStatus(
            segment=segment_id,
            partition=partition,
            host=self._identity.host,
            is_ready=is_ready,
            lag=lag,
            entries=entries,
            reported_ms=self._now_ms(),
        )
        if before is None or before.is_ready != is_ready:
            self._standby_news.append(self._standbys[slot])
            self._has_news.set()

    def stood_down(self, segment_id: str, partition: int) -> None:
        """A partition is not followed any more."""
        before = self._standbys.pop((segment_id, partition), None)
        if before is not None:
            self._standby_news.append(msgspec.structs.replace(before, is_ready=False, reported_ms=self._now_ms()))
            self._has_news.set()

    def handover(self, slot: Slot, epoch: int, *, stopped_local_ms: int | None) -> Handover:
        """The word that a partition is drained. `stopped_local_ms`: when its last record was done, by our clock."""
        return Handover(
            segment=slot[0],
            partition=slot[1],
            epoch=epoch,
            host=self._identity.host,
            drained_ms=self._now_ms(),
            stopped_ms=int(self._clock.at_ms(stopped_local_ms)) if stopped_local_ms is not None else None,
        )

    async def hand_over(self, words: Sequence[Handover]) -> bool:
        """Tell the new owners that these partitions are drained. Whether it has arrived."""
        return await self._publisher.send(catalogue.HANDOVERS, words, now_ms=self._now_ms()) is not None

    async def run(self) -> None:
        """Publishes until cancelled. Measurements are advice: one that can't be made must not end the host."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tell_news())
            group.create_task(unending(self._measure, lambda _: None))
            group.create_task(self._delay.run())

    async def last_words(self) -> None:
        """Publishes the states that were not yet told, and what tasks measured until they ended."""
        news, self._news = self._news, {}
        await self._publish(news)
        now_ms = int(self._clock.local_ms())
        await self._publisher.send(
            catalogue.METRICS_OPERATORS, list(self._operator_rows(now_ms // 1_000)), now_ms=now_ms
        )

    def lag(self, slot: Slot) -> int | None:
        """Input records not yet processed; None while nobody knows."""
        segment = self._segments.get(slot[0])
        return segment.lag(slot[1]) if segment is not None else None

    async def _tell_news(self) -> None:
        told_s = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, told_s + STATUS_EVERY_S - time.monotonic())):
                    await self._has_news.wait()
            self._has_news.clear()
            news, self._news = self._news, {}
            if time.monotonic() >= told_s + STATUS_EVERY_S:
                told_s = time.monotonic()
                news = self.standings | news
                self._standby_news += self._standbys_now()
            await self._publish(news)
            standbys, self._standby_news = self._standby_news, []
            await self._publisher.send(catalogue.STANDBYS, standbys, now_ms=self._now_ms())

    def _standbys_now(self) -> list[StandbyStatus]:
        """What still counts is said anew: who waits for it must know that we live."""
        now_ms = self._now_ms()
        return [msgspec.structs.replace(each, reported_ms=now_ms) for each in self._standbys.values()]

    async def _publish(self, standings: dict[Slot, Standing]) -> None:
        now_ms = self._now_ms()
        rows = [self._status(slot, standing, now_ms) for slot, standing in standings.items()]
        await self._publisher.send(catalogue.SEGMENTS_STATUS, rows, now_ms=now_ms)

    def _status(self, slot: Slot, standing: Standing, now_ms: int) -> SegmentStatus:
        lag = self.lag(slot)
        return SegmentStatus(
            segment=slot[0],
            partition=slot[1],
            host=self._identity.host,
            epoch=standing.epoch,
            state=standing.state,
            since_ms=standing.since_ms,
            reported_ms=now_ms,
            lag=lag or 0,
            is_lag_known=lag is not None,
            reason=clip(standing.reason) if standing.reason else None,
            step=standing.step,
        )

    def _now_ms(self) -> int:
        return int(self._clock.now_ms())

    async def _measure(self) -> None:
        """By our own clock: no second may come twice, or never, because the broker's became better known."""
        while True:
            now_ms = int(self._clock.local_ms())
            self.rows = list(self._operator_rows(now_ms // 1_000))
            self.host_row = self._host_metrics(now_ms // 1_000)
            await self._publisher.send(catalogue.METRICS_OPERATORS, self.rows, now_ms=now_ms)
            sent_ms = self._clock.local_ms()
            landed = await self._publisher.send(catalogue.METRICS_HOSTS, [self.host_row], now_ms=now_ms)
            if landed is not None and landed.timestamp is not None and landed.timestamp >= 0:
                self._clock.exchanged(sent_ms=sent_ms, stamped_ms=landed.timestamp, answered_ms=self._clock.local_ms())
            await asyncio.sleep(METRICS_EVERY_S - self._clock.local_ms() % 1_000 / 1_000)

    def _operator_rows(self, second: int) -> Iterable[OperatorMetrics]:
        host = self._identity.host
        for _, segment in sorted(self._segments.items()):
            for each in _taken(segment.last_reports):
                yield from self._added_up(each.meter, each.rows(host, second))
            for partition, task in segment.tasks().items():
                rows = task.report(host, second, lag=segment.lag(partition) or 0)
                yield from self._added_up(task.meter, rows)
        for each in _taken(self._last_reports):
            yield from each.rows(host, second)

    def _added_up(self, meter: Meter, rows: Sequence[OperatorMetrics]) -> Sequence[OperatorMetrics]:
        self.totals.committed(meter.take_done())
        self.totals.reported(rows)
        return rows

    def _host_metrics(self, second: int) -> HostMetrics:
        cpu_s, measured_s = time.process_time(), time.monotonic()
        used = (cpu_s - self._cpu_s) / max(1e-3, measured_s - self._measured_s)
        self._cpu_s, self._measured_s = cpu_s, measured_s
        delays, longest_ms = self._delay.take()
        return HostMetrics(
            host=self._identity.host,
            boot_id=self._identity.boot_id,
            second=second,
            cpu=round(max(0.0, used), 4),
            memory_bytes=self._process.memory_info().rss,
            capacity=self._identity.capacity,
            operators=sum(len(each.plan.segment.operators) for each in self._segments.values()),
            loop_delay_ms=delays,
            loop_delay_ms_max=longest_ms,
            clock_offset_ms=round(self._clock.offset_ms, 3),
        )


def _taken(reports: deque[LastReport]) -> Iterator[LastReport]:
    while reports:
        yield reports.popleft()
