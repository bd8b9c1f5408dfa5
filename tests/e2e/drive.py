"""A drive: flows run, records flow at a steady rate, the test does what it does meanwhile; then all of it is judged.

    with Drive(stigmergy, [STEADY], seed=1) as drive:
        drive.until_results(300)
        stigmergy.hosts["host-1"].kill()
    outcome = drive.judge()

The judge is the oracle of the fault test. The gap is what a consumer sees that reads along: the longest time without a
new result, from the first record to the last result.
"""

import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, TopicPartition

from services.host.segment_plan import SegmentPlan, plan_segment
from services.registry.snapshot import read_registry
from services.testing import Flow, RunningStigmergy, until
from tests.chaos.feed import Feeder, pieces
from tests.chaos.flows import Case
from tests.chaos.observed import Observer
from tests.chaos.rest import settle
from tests.chaos.verdict import Verdict, judge
from topics.messages import TappedEdge

PARTITIONS = 2
RATE_PER_S = 150
LASTS_S_MAX = 200.0
"""So long records flow at most, unless a drive says otherwise."""


@dataclass(frozen=True)
class Outcome:
    """What came of a drive, over all its flows."""

    verdicts: dict[str, Verdict]
    gap_s: float
    seed: int

    @property
    def problems(self) -> list[str]:
        return [f"{flow}: {problem}" for flow, each in self.verdicts.items() for problem in each.problems]

    def __str__(self) -> str:
        results, lost, twice = (
            sum(getattr(each, name) for each in self.verdicts.values()) for name in ("results", "lost", "duplicated")
        )
        return f"{results} results, {lost} lost, {twice} duplicated, longest gap {self.gap_s:.1f} s"


class Listener:
    """A user's consumer: reads the sinks as results come, and notes when."""

    def __init__(self, bootstrap: str, topics: Sequence[str]) -> None:
        self.arrivals_s: list[float] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"e2e-{uuid.uuid4().hex[:8]}",
                "fetch.wait.max.ms": 50,
                "log_level": 0,
            }
        )
        known = self._consumer.list_topics(timeout=30.0).topics
        self._consumer.assign([TopicPartition(topic, each, 0) for topic in topics for each in known[topic].partitions])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def gap_s(self, begun_s: float) -> float:
        """The longest time between two results, or between the beginning and the first."""
        times = [begun_s, *self.arrivals_s]
        return max((after - before for before, after in pairwise(times)), default=0.0)

    def _run(self) -> None:
        while not self._stop.is_set():
            record = self._consumer.poll(0.1)
            if record is not None and record.error() is None:
                self.arrivals_s.append(time.monotonic())
        self._consumer.close()


class Drive:
    """Enter it: the flows run and records begin to flow. Leave it: the last records are sent. Then `judge`.

    All flows read the same topics.
    """

    def __init__(
        self,
        stigmergy: RunningStigmergy,
        cases: Sequence[Case],
        *,
        seed: int,
        delivery: str = "exactly_once",
        state: str = "memory",
        lasts_s: float = LASTS_S_MAX,
    ) -> None:
        self.stigmergy, self.seed = stigmergy, seed
        mark = uuid.uuid4().hex[:6]
        self._cases = {f"{case.name}-{mark}": case for case in cases}
        sources = sorted({name for case in cases for name in case.sources})
        self._sources = {name: f"{mark}.{name}" for name in sources}
        self._texts = {
            flow: case.text(
                flow,
                delivery=delivery,
                state=state,
                partitions=PARTITIONS,
                topics=self._sources | {name: f"{flow}.{name}" for name in case.sinks},
                gate="/no/gate",
            )
            for flow, case in self._cases.items()
        }
        fed = pieces(
            seed,
            sources,
            partitions=PARTITIONS,
            records=int(RATE_PER_S * lasts_s),
            lasts_s=lasts_s,
            poison_at_s=(1.0, 3.0),
        )
        ends = len(sources) * PARTITIONS
        self._fed, self._last = fed[:-ends], [replace(piece, at_s=0.0) for piece in fed[-ends:]]
        self.flows: list[Flow] = []

    def __enter__(self) -> Self:
        self.flows = [self.stigmergy.submit(text, keep_names=True) for text in self._texts.values()]
        sinks = [flow.topics[name] for flow in self.flows for name in self._cases[flow.name].sinks]
        self._listener = Listener(self.stigmergy.bootstrap, sinks)
        self._feeder = Feeder(self.stigmergy.bootstrap, self._sources, self._fed)
        self._begun_s = time.monotonic()
        self._begun_ms = time.time_ns() // 1_000_000
        self._feeder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feeder.stop()
        if kind is not None:
            self._listener.close()
            return
        self._feeder.finish()
        last = Feeder(self.stigmergy.bootstrap, self._sources, self._last)
        last.start()
        last.finish()

    @property
    def flow(self) -> Flow:
        """The only one."""
        (flow,) = self.flows
        return flow

    def until_results(self, count: int) -> None:
        """Waits until a consumer has seen so many results."""
        until(lambda: len(self._listener.arrivals_s) >= count, f"{count} results have come")

    def until_further_results(self, count: int = 100) -> None:
        """Waits for so many results from now on."""
        self.until_results(len(self._listener.arrivals_s) + count)

    def resubmit(self, flow: Flow) -> None:
        """Submits a flow of this drive again, after it was withdrawn."""
        self.stigmergy.submit(self._texts[flow.name], keep_names=True)

    def reads(self, flow: Flow) -> dict[str, tuple[TappedEdge, ...]]:
        """Each segment that runs for a flow by itself -> the edges of other flows that it reads."""
        entries = read_registry(self.stigmergy.bootstrap).placements.values()
        return {each.segment: each.reads for each in entries if each.flow == flow.name and each.host is not None}

    def judge(self) -> Outcome:
        """Waits until all is at rest, and compares with the oracle."""
        observer = Observer(self.stigmergy.bootstrap)
        counts = dict.fromkeys((topic for flow in self.flows for topic in flow.topics.values()), PARTITIONS)
        verdicts = {}
        try:
            for flow in self.flows:
                reads = self.reads(flow)
                plans: list[SegmentPlan] = [
                    plan_segment(flow.graph, each.id, counts, reads[each.id])
                    for each in flow.graph.segments
                    if each.id in reads
                ]
                read = settle(observer, plans)
                for source in flow.graph.spec.sources:
                    read.setdefault(source.topic, observer.rows(source.topic))
                order = self._cases[flow.name].order
                # What is late or dead in a shared segment is told once, by the flow that runs it.
                teller = next((edge.tap.server for edges in reads.values() for edge in edges), flow.name)
                verdicts[flow.name] = judge(
                    observer, flow.graph, plans, read, order, begun_ms=self._begun_ms, teller=teller
                )
            seen = sum(each.results for each in verdicts.values())
            until(lambda: len(self._listener.arrivals_s) >= seen, "the consumer has seen what is there")
        finally:
            self._listener.close()
        return Outcome(verdicts, self._listener.gap_s(self._begun_s), self.seed)
