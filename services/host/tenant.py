"""One segment on this host, kept as the registry wants it. Each tenant acts by itself: none waits for another's drain.

What is wanted may change at any time; a tenant acts on the newest wish, and what can't be done (a flow that does not
compile, a topic that is missing) is told as `parked` and tried again, also after a pause that grows.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from services.host.blueprint import CannotRunError, blueprint
from services.host.reports import Reports
from services.host.seat import Seat
from services.host.segment import DRAIN_S_MAX, Segment
from services.host.segment_plan import SegmentPlan
from services.host.standby import Standby
from services.host.takeover import Title
from services.host.task_context import TaskContext
from services.host.wanted import Terms, Wanted
from services.process.broker import Broker
from topics.flow.specs import Python
from topics.messages import SegmentState, SegmentStep

log = structlog.get_logger(__name__)

RETRY_S_MIN, RETRY_S_MAX = 1.0, 30.0
UNKNOWN_S_MAX = 5.0
"""How long a flow may be unknown before that is called trouble."""

IsOurs = Callable[[str, int, int], bool]
"""Whether a segment's partition belongs to this host with this epoch, as far as it is known."""
StillOurs = Callable[[str, int, int], Awaitable[bool]]
"""The same, by the newest registry."""
IsElsewhere = Callable[[str, int, int], bool]
"""Whether a segment's partition has gone to another host, with a newer epoch than this."""
Drained = Callable[[str, int, int], Awaitable[None]]
"""Returns when nobody need wait any more for a segment's partition to be drained by the owner before this epoch."""


class NotKnownYetError(CannotRunError):
    """The registry has not told of the flow, or not of the revision that was placed."""


@dataclass(frozen=True, slots=True)
class House:
    """What all tenants of a host share. `let_go` is called when a partition that is elsewhere now has drained here."""

    context: TaskContext
    broker: Broker
    reports: Reports
    is_ours: IsOurs
    still_ours: StillOurs
    is_elsewhere: IsElsewhere
    drained: Drained
    let_go: Callable[[], None]
    data_folder: Path
    drain_s_max: float = DRAIN_S_MAX


class Tenant:
    """`want` tells it what is wanted from now on; `run` makes it so, and returns when nothing is wanted any more."""

    def __init__(self, segment_id: str, house: House) -> None:
        self.segment_id = segment_id
        self.segment: Segment | None = None
        self._house = house
        self._wanted = Wanted()
        self._planned: tuple[str, Terms] | None = None
        self._unknown_since_s: float | None = None
        self._changed = asyncio.Event()
        self._leaving: dict[int, asyncio.Task[None]] = {}
        """Partitions that are given up, each by itself: one may take twenty seconds, and others wait for theirs."""
        self._standing_down: set[asyncio.Task[None]] = set()
        self._unseated: dict[int, int] = {}
        """Partitions of which something was told though they have no seat, and their epochs then."""

    def want(self, wanted: Wanted) -> None:
        """Takes effect as soon as what is under way is done."""
        if wanted != self._wanted:
            self._wanted = wanted
            self._changed.set()

    async def run(self) -> None:
        """Until nothing is wanted and all is stopped."""
        pause_s = RETRY_S_MIN
        while True:
            self._changed.clear()
            wanted = self._wanted
            self._take_back(wanted)
            try:
                await self._settle(wanted)
                pause_s = RETRY_S_MIN
                is_settled = True
            except Exception as error:  # noqa: BLE001 - one segment's trouble, whatever it is, is not another's
                is_settled = False
                reason = str(error) if isinstance(error, CannotRunError) else f"{type(error).__name__}: {error}"
                log.warning("segment can't run", segment=self.segment_id, reason=reason, retry_s=pause_s)
                self._park(wanted, reason, "recovering" if self._is_early(error) else "parked")
            if is_settled and wanted.is_nothing and not self._changed.is_set():
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if is_settled else pause_s):
                    await self._changed.wait()
                    pause_s = RETRY_S_MIN
            pause_s = pause_s if is_settled else min(RETRY_S_MAX, pause_s * 2)

    async def _settle(self, wanted: Wanted) -> None:
        """Begin to give up what is not ours any more, and take what is new. What is given up and wanted again is taken
        when it is gone, of which we hear."""
        if wanted.is_nothing:
            await self._end()
            return
        self._release(wanted)
        if wanted.text is None:
            flow = self.segment_id.rpartition(".")[0]
            raise NotKnownYetError(
                f"revision {wanted.revision} of flow {flow} is not known; submit it again with stigmergy submit"
            )
        await self._prepare(wanted.text, wanted.terms)
        assert self.segment is not None
        taken = []
        for partition, placement in wanted.placements.items():
            if partition >= self.segment.plan.partitions:
                self._park_one(wanted, partition, f"the segment has {self.segment.plan.partitions} partitions")
            elif partition not in self.segment.seats:
                self._house.reports.stood_down(self.segment_id, partition)  # who owns it does not follow it
                taken.append(self.segment.own(partition, placement.epoch, placement.origin))
        for done in await asyncio.gather(*taken, return_exceptions=True):
            if isinstance(done, BaseException):
                raise done
        for partition in wanted.standbys:
            if partition < self.segment.plan.partitions:
                await self.segment.stand_by(partition)

    def _release(self, wanted: Wanted) -> None:
        if self.segment is None:
            return
        for partition, seat in self.segment.seats.items():
            is_ours = partition in wanted.placements and wanted.placements[partition].epoch == seat.epoch
            if not is_ours and partition not in self._leaving:
                self._leaving[partition] = asyncio.create_task(self._leave(self.segment, partition))
        for partition in self.segment.standbys:
            if partition not in wanted.standbys and partition not in wanted.placements:
                self._house.reports.stood_down(self.segment_id, partition)
                standing_down = asyncio.create_task(self.segment.stand_down(partition))
                self._standing_down.add(standing_down)
                standing_down.add_done_callback(self._standing_down.discard)

    async def _leave(self, segment: Segment, partition: int) -> None:
        """Give one up; whatever comes of it, what is wanted is looked at again then."""
        try:
            await segment.release(partition)
        except Exception as error:  # noqa: BLE001 - any: it is tried again, after a pause
            log.warning("given up badly", segment=self.segment_id, partition=partition, error=repr(error))
            await asyncio.sleep(RETRY_S_MIN)
        finally:
            del self._leaving[partition]
            self._changed.set()

    async def _prepare(self, text: str, terms: Terms) -> None:
        """A segment that runs by this text, which is left alone if nothing has changed what it does."""
        if self.segment is not None and self._planned == (text, terms):
            return
        plan = await blueprint(
            self.segment_id, text, self._house.broker, caller=self._house.context.caller, terms=terms
        )
        if self.segment is not None and not _is_same(self.segment.plan, plan):
            await self._end()
        if self.segment is None:
            self.segment = await self._begun(plan)
        self._planned = text, terms

    async def _begun(self, plan: SegmentPlan) -> Segment:
        segment = Segment(
            plan,
            self._house.context,
            data_folder=self._house.data_folder,
            on_state=self._tell,
            title=Title(
                is_ours=partial(self._house.is_ours, self.segment_id),
                still_ours=partial(self._house.still_ours, self.segment_id),
                drained=partial(self._house.drained, self.segment_id),
            ),
            on_standby=self._tell_standby,
            drain_s_max=self._house.drain_s_max,
        )
        try:
            await segment.begin()
        except BaseException:
            await segment.stop()
            raise
        self._house.reports.add(segment)
        return segment

    async def _end(self) -> None:
        if self.segment is None:
            return
        segment, self._planned = self.segment, None
        for partition in segment.standbys:
            self._house.reports.stood_down(self.segment_id, partition)
        try:
            await segment.stop()
            await asyncio.gather(*self._leaving.values(), *self._standing_down, return_exceptions=True)
        finally:
            self.segment = None  # not before: what it drains it still holds, and others wait for it
            self._house.let_go()
            self._house.reports.remove(segment)

    def _tell(self, _segment: Segment, seat: Seat) -> None:
        self._unseated.pop(seat.partition, None)
        is_elsewhere = self._tell_of(seat.partition, seat.epoch, seat.state, seat.reason, seat.step)
        if is_elsewhere and seat.state == "stopped":
            self._house.let_go()

    def _tell_of(
        self, partition: int, epoch: int, state: SegmentState, reason: str | None, step: SegmentStep | None = None
    ) -> bool:
        """How a partition is, unless it is elsewhere, and whether it is: the new owner speaks for it then; our last
        words could hide its first ones on the compacted topic."""
        if self._house.is_elsewhere(self.segment_id, partition, epoch):
            self._house.reports.forget(self.segment_id, partition)
            return True
        self._house.reports.state((self.segment_id, partition), epoch, state, reason, step=step)
        return False

    def _tell_standby(self, _segment: Segment, partition: int, standby: Standby) -> None:
        self._house.reports.standby(
            self.segment_id, partition, is_ready=standby.is_ready, lag=standby.lag, entries=standby.memory.entries_read
        )

    def holds(self, partition: int) -> bool:
        """Whether something of this partition may still run here."""
        seat = self.segment.seats.get(partition) if self.segment is not None else None
        return seat is not None and seat.state != "stopped"

    def stopped_ms(self, partition: int) -> int | None:
        """When the last record of a partition was processed that is about to leave; None if it does not run here."""
        seat = self.segment.seats.get(partition) if self.segment is not None else None
        return seat.task.processed_ms if seat is not None and seat.task is not None else None

    def _is_early(self, error: Exception) -> bool:
        """Flow and placement come by different topics, so the placement may be the first to be seen."""
        if not isinstance(error, NotKnownYetError):
            self._unknown_since_s = None
            return False
        now_s = time.monotonic()
        if self._unknown_since_s is None:
            self._unknown_since_s = now_s
        return now_s - self._unknown_since_s < UNKNOWN_S_MAX

    def _take_back(self, wanted: Wanted) -> None:
        """What was told of partitions that never got a seat, and are not wanted here any more: no seat ends it."""
        for partition in self._unseated.keys() - wanted.placements.keys():
            self._tell_of(partition, self._unseated.pop(partition), "stopped", None)

    def _park(self, wanted: Wanted, reason: str, state: SegmentState) -> None:
        for partition in wanted.placements:
            if self.segment is None or partition not in self.segment.seats:
                self._park_one(wanted, partition, reason, state)

    def _park_one(self, wanted: Wanted, partition: int, reason: str, state: SegmentState = "parked") -> None:
        epoch = self._unseated[partition] = wanted.placements[partition].epoch
        self._house.reports.state((self.segment_id, partition), epoch, state, reason or "no reason was given")


def _is_same(one: SegmentPlan, other: SegmentPlan) -> bool:
    """Whether a running segment can stay: its id says what it computes, the rest is where it reads and writes."""
    return _seen(one) == _seen(other)


def _seen(plan: SegmentPlan) -> tuple[object, ...]:
    spec, operators = plan.graph.spec, plan.segment.operators
    how = [
        (each.spec.blocking, each.spec.timeout_ms)
        for each in plan.graph.operators
        if each.name in operators and isinstance(each.spec, Python)
    ]
    return (
        plan.partitions,
        plan.inputs,
        plan.outputs,
        plan.commit_interval_s,
        plan.stretched_s_max,
        spec.delivery,
        spec.park_after,
        spec.state,
        how,
    )
