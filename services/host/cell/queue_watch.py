"""A host looks at its own queue, ten times a second: who comes soon will wait so long. Pure.

Tasks of a host take turns, so that all that waits there is one queue. A task whose functions run elsewhere keeps nobody
else waiting: it is a queue of its own. What a flow takes beside waiting is the least that it took in the last seconds,
on its way to here, without what waited here then: what comes after this segment is not known here, so that a warning
comes rather late than in vain. Both are of all records alike: what waited is seen at moments that no record chose, and
those that are timed are taken from every place of their batches.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from placement.fits.arrays import Array
from placement.hotspots import NO_BOUND_MS, HotSpot, NearParams, Outlook, Stops, near_leavers, near_spots
from placement.queueing.arrays import SUMS
from topics.messages import OperatorMetrics

QUIET_S = 10
"""Seconds of which the least counts."""
SERVICE_S = 10
"""What a record takes is the mean of so long."""
SEEN_S = 1.0
"""How fast who should leave comes now is told of so long."""
CALM_SHARE = 0.1
"""Nothing is near while less waits than this share of the tightest flow's slack."""

Slot = tuple[str, int]


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """One task at one look. `done` and `worked_us`: records and work since it is there; `lag`: records that wait."""

    slot: Slot
    flow: str
    operator: str
    """The first one of its segment."""
    bound_ms: float | None
    done: int
    worked_us: float
    lag: int
    waits: bool
    stays: bool = False
    """Nobody moves its flow without asking a person: there is no use in telling it to leave."""


@dataclass(frozen=True, slots=True)
class Entering:
    """How fast a flow comes: at the segment to which most comes, of those that it has here."""

    segment: str
    per_s: float
    """Less one standard error: half of what is counted of a steady flow is more than its rate, by chance alone."""


@dataclass(frozen=True, slots=True)
class Near:
    """A hot spot that is near, and where it was seen."""

    spot: HotSpot
    operator: str
    outlook: Outlook
    queue: Slot | None
    """None: the one that all share whose functions run here."""
    rates: Mapping[str, Entering]
    """Of each flow that stops there."""
    stay: frozenset[str]
    """Those of them that can't leave."""

    def leaving(self) -> tuple[str, ...]:
        """Who should leave because of it."""
        return near_leavers(self.outlook, 0, np.ones(len(self.outlook.flows)), self.spot, self.stay)


@dataclass(frozen=True, slots=True)
class _Lately:
    """One task, by what changed since looks before."""

    seen: TaskSeen
    per_s: float
    service_ms: float
    records: int
    """That came in `over_s`: the last second, or less for a task that is new."""
    over_s: float

    @property
    def load(self) -> float:
        return self.per_s * self.service_ms / 1e3

    @property
    def waiting_ms(self) -> float:
        return self.seen.lag * self.service_ms


class QueueWatch:
    """`measured` once a second, `look` in between: the hot spots that are near, the surest of each flow."""

    def __init__(self, host: str, params: NearParams) -> None:
        self._host, self._params = host, params
        self._looks: dict[Slot, deque[tuple[float, TaskSeen]]] = {}
        self._kept = round(max(SERVICE_S, params.lately_s) / params.look_s) + 1
        self._came = round(params.lately_s / params.look_s)
        self._services_ms: dict[Slot, float] = {}
        """Of each task what a record took lately, or when it last did any."""
        self._bases_ms: dict[str, deque[float]] = {}
        """Of each flow, what it took beside waiting here in each of the last seconds."""
        self._wait_ms: dict[str, float] = {}
        """Of each flow, what it had to wait here in the last second."""
        self._waits_ms: dict[Slot | None, deque[float]] = {}
        """Of each queue, what those had to wait who came at each look of the last second; None: the shared one."""

    def measured(self, rows: Iterable[OperatorMetrics]) -> None:
        """What hosts report of a second: how long records took, of each flow on its way to here."""
        found: dict[str, float] = {}
        for row in rows:
            if row.latency_ms is not None and row.latency_ms.count:
                mean_ms = row.latency_ms.sum / row.latency_ms.count
                found[row.flow] = max(found.get(row.flow, 0.0), mean_ms)
        for flow, mean_ms in found.items():
            base_ms = max(0.0, mean_ms - self._wait_ms.get(flow, 0.0))
            self._bases_ms.setdefault(flow, deque(maxlen=QUIET_S)).append(base_ms)

    def look(self, tasks: Sequence[TaskSeen], *, now_s: float) -> list[Near]:
        """The tasks that are there and have something to do."""
        for gone in self._looks.keys() - {task.slot for task in tasks}:
            del self._looks[gone]
            self._services_ms.pop(gone, None)
        lately = [each for task in tasks if (each := self._lately(task, now_s)) is not None]
        here = {task.flow for task in tasks}
        self._bases_ms = {flow: past for flow, past in self._bases_ms.items() if flow in here}
        queues: dict[Slot | None, list[_Lately]] = {None: []}
        for each in lately:
            queues.setdefault(each.seen.slot if each.seen.waits else None, []).append(each)
        self._waits_ms = {name: self._waits_ms.get(name, deque(maxlen=self._params.looks)) for name in queues}
        found = [near for name, queue in queues.items() for near in self._near(queue, name)]
        self._wait_ms = {
            each.seen.flow: fmean(self._waits_ms[name]) for name, queue in queues.items() for each in queue
        }
        surest = {near.spot.flow: near for near in sorted(found, key=lambda near: near.spot.sure)}
        return [surest[flow] for flow in sorted(surest)]

    def _lately(self, task: TaskSeen, now_s: float) -> _Lately | None:
        """None: it is not known for long enough."""
        looks = self._looks.setdefault(task.slot, deque(maxlen=self._kept))
        looks.append((now_s, task))
        if len(looks) <= self._came:
            return None
        (before_s, before), (_, first) = looks[-1 - self._came], looks[0]
        came = task.done + task.lag - before.done - before.lag
        done = task.done - first.done
        since_s, since = looks[max(0, len(looks) - 1 - round(SEEN_S / self._params.look_s))]
        if done > 0:
            self._services_ms[task.slot] = (task.worked_us - first.worked_us) / done / 1e3
        # What waits for a task that gets nothing done takes no less time than before; who rests fills no queue.
        service_ms = self._services_ms.get(task.slot, 0.0) if done > 0 or task.lag > 0 else 0.0
        # A host that is busy looks late.
        lately_s, over_s = (max(now_s - each_s, self._params.look_s) for each_s in (before_s, since_s))
        records = task.done + task.lag - since.done - since.lag
        return _Lately(task, max(0.0, came / lately_s), service_ms, records, over_s)

    def _near(self, queue: Sequence[_Lately], name: Slot | None) -> list[Near]:
        waits_ms = self._waits_ms[name]
        waits_ms.append(sum(each.waiting_ms for each in queue))
        known = sorted((each for each in queue if each.service_ms > 0), key=lambda each: each.seen.slot)
        flows = {each.seen.flow: each.seen.bound_ms for each in known}
        rooms_ms = [bound_ms - self._base_ms(flow) for flow, bound_ms in flows.items() if bound_ms is not None]
        tightest_ms = min((room_ms for room_ms in rooms_ms if room_ms > 0), default=None)
        if tightest_ms is None or max(waits_ms) < CALM_SHARE * tightest_ms:
            return []
        outlook = self._outlook(known, flows)
        operators = {each.seen.flow: each.seen.operator for each in reversed(known)}
        spots, rates = near_spots(outlook, 0, waits_ms, np.ones(len(flows)), self._params), _entering(known)
        stay = frozenset(each.seen.flow for each in known if each.seen.stays)
        return [Near(spot, operators[spot.flow], outlook, name, rates, stay) for spot in spots]

    def _outlook(self, queue: Sequence[_Lately], flows: Mapping[str, float | None]) -> Outlook:
        """Arrivals and services vary by chance: nobody measures that in half a second."""
        index = {flow: place for place, flow in enumerate(flows)}
        of = np.array([index[each.seen.flow] for each in queue])
        per_s, load = (np.array([getattr(each, name) for each in queue]) for name in ("per_s", "load"))
        count = len(flows)
        rate, work = np.bincount(of, per_s, count), np.bincount(of, load, count)
        service_ms = np.divide(1e3 * work, rate, out=np.zeros(count), where=rate > 0)
        ones: Array = np.ones(count)
        # Who goes through several segments here waits before each of them.
        times = Counter(flow for flow, _ in {(each.seen.flow, each.seen.slot[0]) for each in queue})
        weight = np.array([float(times[flow]) for flow in flows])
        here = np.zeros(count, dtype=np.int64)
        waiting_ms = np.bincount(of, np.array([each.waiting_ms for each in queue]), count).astype(float)
        stops = Stops(np.arange(count), here, rate / 1e3, service_ms, ones, ones, weight, waiting_ms)
        bounds_ms = np.array([NO_BOUND_MS if bound is None else bound for bound in flows.values()])
        base_ms = np.array([self._base_ms(flow) for flow in flows])
        return Outlook(tuple(flows), bounds_ms, base_ms, (self._host,), stops, np.zeros((SUMS, 1)), np.zeros(1))

    def _base_ms(self, flow: str) -> float:
        return min(self._bases_ms.get(flow, ()), default=0.0)


def _entering(tasks: Iterable[_Lately]) -> dict[str, Entering]:
    """Partitions of a segment are read side by side, segments one after the other."""
    came, per_s = defaultdict[tuple[str, str], int](int), defaultdict[tuple[str, str], float](float)
    for each in tasks:
        what = (each.seen.flow, each.seen.slot[0])
        came[what] += each.records
        per_s[what] += each.records / each.over_s
    found = {}
    for (flow, segment), records in sorted(came.items(), key=lambda item: item[1]):
        if records > 0:
            found[flow] = Entering(segment, per_s[flow, segment] * (1 - records**-0.5))
    return found
