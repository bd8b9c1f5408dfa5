"""What a task measures: sums for each of its operators since the last report, as the models need them.

Everything is counted once for a batch, never once for a record: the records of a batch share its service time, and
their waits lie evenly between that of the first and that of the last.

Reports are made in the event loop at any time, also while a program that waits for a function is at work in a thread.
So that thread adds nothing up: it only notes, and the loop counts that when the thread is back.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from services.host.fetch import Record
from services.host.write_waits import WriteWaits
from services.host.writer import Written
from topics.messages import Moments, OperatorMetrics, Sketch

LATENCIES_MAX = 100
"""Samples kept between two reports."""


@dataclass(slots=True)
class _Sums:
    """Count, sum and sum of squares."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float, count: int = 1) -> None:
        self.count += count
        self.total += value * count
        self.squares += value * value * count

    def add_between(self, one: float, other: float, count: int) -> None:
        """So many values, evenly from the one to the other."""
        self.count += count
        self.total += (one + other) / 2 * count
        self.squares += (one * one + one * other + other * other) / 3 * count

    def moments(self) -> Moments:
        return Moments.rounded(self.count, self.total, self.squares)


@dataclass(slots=True)
class Work:
    """Records in and out of one operator, and how many its segment set aside, which stands at the first one."""

    arrivals: int = 0
    outputs: int = 0
    late: int = 0
    dropped: int = 0
    dead_letters: int = 0

    def add(self, other: "Work") -> None:
        """Count that, too."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class _Operator:
    """One operator since the last report."""

    arrivals: int = 0
    outputs: int = 0
    gaps_us: _Sums = field(default_factory=_Sums)
    batch: _Sums = field(default_factory=_Sums)
    service_us: _Sums = field(default_factory=_Sums)


class Meter:
    """`fetched` and `begun` when a batch comes in, `probe` after each operator (a Program calls it).

    A Program that is at work in a thread calls `note` instead, and `came_back` follows.
    """

    def __init__(self, flow: str, segment: str, partition: int, *, first: str) -> None:
        """`first`: the segment's first operator, on whose row stands what is the task's and no operator's."""
        self._names = (flow, segment, partition)
        self._first = first
        self._operators: dict[str, _Operator] = {}
        self._mark_s = time.perf_counter()
        self._arrived_s: dict[str, float] = {}
        self._gaps: dict[str, tuple[float, int]] = {}
        """Of the batch under way, by operator: how long after the one before it came, and with how many records. What
        was reported of it is taken out."""
        self._noted: list[tuple[str, int, int, float]] = []
        """What another thread is telling; nothing else of the meter is touched there."""
        self._wait_us = _Sums()
        self.bytes_in = 0
        self._latencies_ms: list[float] = []
        self._uncommitted: list[tuple[float, float]] = []
        """Latencies of results that nobody may read yet, and when they were finished."""
        self._write_waits = WriteWaits()
        self._undone: dict[str, Work] = {}
        """What belongs to the open transaction, by operator: if that is aborted, it was nothing."""
        self._done: dict[str, Work] = {}
        self._set_aside = Work()
        """Of what was committed, since the last report."""
        self.slowness = 1.0
        self.done, self.worked_us = 0, 0.0
        """Records, and what all operators took for them, since it is there."""
        self._busy_us = 0.0
        self._has_reported = False

    def fetched(self, records: Sequence[Record], *, now_ms: float) -> None:
        """Some records arrived, by the broker's clock: they waited since it got them, the first for the longest."""
        longest_us = max(0.0, (now_ms - records[0].timestamp) * 1_000)
        shortest_us = max(0.0, (now_ms - records[-1].timestamp) * 1_000)
        self._wait_us.add_between(longest_us, shortest_us, len(records))

    def begun(self) -> None:
        """A batch starts on its way through the operators."""
        self._count_gaps()
        self._gaps.clear()
        self.resumed()

    def resumed(self) -> None:
        """The rest of a batch goes on its way, after what came of it so far was written."""
        self._mark_s = time.perf_counter()

    def note(self, name: str, came_in: int, went_out: int) -> None:
        """In another thread, an operator has finished a batch."""
        self._noted.append((name, came_in, went_out, time.perf_counter()))

    def came_back(self) -> None:
        """The other thread is done with a batch."""
        noted, self._noted = self._noted, []
        for each in noted:
            self.probe(*each)

    def probe(self, name: str, came_in: int, went_out: int, now_s: float | None = None) -> None:
        """An operator has finished a batch, now or at that time."""
        if now_s is None:
            now_s = time.perf_counter()
        if came_in or went_out:
            operator = self._operators.get(name)
            if operator is None:
                operator = self._operators[name] = _Operator()
            operator.arrivals += came_in
            operator.outputs += went_out
            work = self._work(name)
            work.arrivals += came_in
            work.outputs += went_out
            if came_in:
                took_us = (now_s - self._mark_s) * 1e6 * self.slowness
                self._busy_us += took_us
                operator.service_us.add(took_us / came_in, came_in)
                operator.batch.add(went_out / came_in, came_in)
                self._arrived(name, came_in, now_s)
        self._mark_s = now_s

    def finish(self, records: int) -> None:
        """So many records are through all operators."""
        self.done += records
        self.worked_us = self._busy_us

    def set_aside(self, *, late: int = 0, dropped: int = 0, dead_letters: int = 0) -> None:
        """So many records leave the stream here, once that is committed."""
        self._work(self._first).add(Work(late=late, dropped=dropped, dead_letters=dead_letters))

    def _work(self, name: str) -> Work:
        work = self._undone.get(name)
        if work is None:
            work = self._undone[name] = Work()
        return work

    def take_done(self) -> dict[tuple[str, str, int], Work]:
        """What was committed since this was last asked, by flow, operator and partition."""
        flow, _, partition = self._names
        done, self._done = self._done, {}
        return {(flow, name, partition): work for name, work in done.items()}

    def _arrived(self, name: str, came_in: int, now_s: float) -> None:
        """However many slices a batch goes through an operator in, it came once."""
        gap = self._gaps.get(name)
        if gap is not None:
            self._gaps[name] = gap[0], gap[1] + came_in
        else:
            self._gaps[name] = now_s - self._arrived_s.get(name, math.inf), came_in
            self._arrived_s[name] = now_s

    def _count_gaps(self) -> None:
        for name, (gap_s, count) in self._gaps.items():
            if count and gap_s >= 0:  # else it was the first batch of all
                self._operators.setdefault(name, _Operator()).gaps_us.add(gap_s * 1e6 / count, count)

    def finished(self, latency_ms: float, written: Written | None = None, *, is_hidden: bool = False) -> None:
        """Results of a batch are on their way, so long after one of its records was written at the source.

        `written` tells when they are there: what they wait for on their way to a sink belongs to their latency. So does
        what they wait for the commit, if they are hidden until then.
        """
        now_s = time.perf_counter()
        if is_hidden and len(self._uncommitted) < LATENCIES_MAX:
            self._uncommitted.append((latency_ms, now_s))
        if written is not None and not written.done():  # what was answered meanwhile tells nothing of the way
            written.add_done_callback(partial(self._landed, None if is_hidden else latency_ms, now_s))
        elif not is_hidden:
            self._sample(latency_ms)

    def committed(self) -> None:
        """What was hidden may be read now, and what was done counts. The bare way to the sink the model knows."""
        for name, work in self._undone.items():
            self._done.setdefault(name, Work()).add(work)
            if name == self._first:
                self._set_aside.add(work)
        self._undone = {}
        now_s = time.perf_counter()
        for latency_ms, finished_s in self._uncommitted:
            self._sample(latency_ms + (now_s - finished_s) * 1e3 - self._write_waits.way_ms)
        self._uncommitted.clear()

    def _landed(self, latency_ms: float | None, finished_s: float, written: Written) -> None:
        if not written.cancelled() and written.exception() is None:
            wait_ms = self._write_waits.wait_ms((time.perf_counter() - finished_s) * 1e3)
            if latency_ms is not None:
                self._sample(latency_ms + wait_ms)

    def _sample(self, latency_ms: float) -> None:
        if len(self._latencies_ms) < LATENCIES_MAX:
            self._latencies_ms.append(max(0.0, latency_ms))

    def report(
        self, host: str, second: int, *, lag: int, state_bytes: Mapping[str, int], bytes_out: int
    ) -> list[OperatorMetrics]:
        """The sums of all operators that had something to do, which start again from zero.

        If none had, there is still a row when records were set aside, or wait: a stuck task must show. Without any rows
        nothing starts again: a result may be written in a second in which nothing came. Operators with state have a row
        whenever another one has, so that their sizes (`state_bytes`) add up to that of the task, and in its first
        report, which tells what it begins with.
        """
        self._count_gaps()
        # A batch may be under way in slices: its others arrive with those that are told now, not after them.
        self._gaps = {name: (min(gap_s, 0.0), 0) for name, (gap_s, _) in self._gaps.items()}
        flow, segment, partition = self._names
        aside = self._set_aside
        set_aside = {"late": aside.late, "dropped": aside.dropped, "dead_letters": aside.dead_letters}
        if any(set_aside.values()) or (lag and not self._operators):
            self._operators.setdefault(self._first, _Operator())
        if self._operators or not self._has_reported:
            for name in filter(state_bytes.get, state_bytes):
                self._operators.setdefault(name, _Operator())
        self._has_reported = True
        latency_ms = Sketch.of(self._latencies_ms) if self._latencies_ms else None
        rows = [
            OperatorMetrics(
                host=host,
                flow=flow,
                segment=segment,
                operator=name,
                partition=partition,
                second=second,
                arrivals=sums.arrivals,
                gaps_us=sums.gaps_us.moments(),
                batch=sums.batch.moments(),
                service_us=sums.service_us.moments(),
                wait_us=self._wait_us.moments(),
                outputs=sums.outputs,
                lag=lag,
                bytes_in=self.bytes_in,
                bytes_out=bytes_out,
                state_bytes=state_bytes.get(name, 0),
                latency_ms=latency_ms,
                **(set_aside if name == self._first else dict.fromkeys(set_aside, 0)),
            )
            for name, sums in sorted(self._operators.items())
        ]
        if rows:
            self._operators = {}
            self._wait_us = _Sums()
            self._latencies_ms = []
            self.bytes_in = 0
            self._set_aside = Work()
        return rows


@dataclass(frozen=True, slots=True)
class LastReport:
    """What a task that has ended had measured since its last report, and where it stood by then."""

    meter: Meter
    lag: int
    state_bytes: Mapping[str, int]
    bytes_out: int

    def rows(self, host: str, second: int) -> list[OperatorMetrics]:
        """As a task that runs reports them."""
        return self.meter.report(host, second, lag=self.lag, state_bytes=self.state_bytes, bytes_out=self.bytes_out)
