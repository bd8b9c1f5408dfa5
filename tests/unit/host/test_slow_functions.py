"""A slow function finds no transaction that brokers give up before it is done: what is open is committed in time."""

import asyncio
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from services.host import inbox
from services.host.fetch import Block
from services.host.segment_plan import Input, SegmentPlan, plan_segment
from services.host.streaks import FailsOnEverythingError, Streaks
from services.host.task import OPEN_S_MAX, Task
from services.host.task_context import TaskContext
from services.host.writer import WriteError, WriterParams
from services.operators.calls import Answers, Caller, Chunk, Error
from tests.unit.host.stand_ins import Broker
from topics.catalogue import EDGE
from topics.flow import specs
from topics.flow.file import parse_graph
from topics.messages import Block as EdgeBlock

UNION = """
flow: shop
sources:
  orders: {topic: orders, key: user, partitions: 1, idle: 10s}
  refunds: {topic: refunds, key: user, partitions: 1, idle: 10s}
operators:
  all: {op: union, inputs: [orders, refunds]}
  score: {python: "shop:score", input: all}
sinks: {out: {input: score, topic: results}}
"""
WINDOWS = UNION.replace(
    "sinks: {out: {input: score",
    "  counts: {op: aggregate, input: score, by: [user], window: {size: 1s}, emit: {n: count()}}\n"
    "sinks: {out: {input: counts",
)
KEYED = """
flow: shop
sources: {orders: {topic: orders, key: user}}
operators:
  towns: {op: aggregate, input: orders, by: [town], emit: {n: count()}}
  score: {python: "shop:score", input: towns}
sinks: {out: {input: score, topic: results}}
"""
BRANCHES = """
flow: shop
park_after: 10000
sources: {orders: {topic: orders, key: user}}
operators:
  real: {op: filter, input: orders, where: "user != null"}
  score: {python: "shop:score", input: real}
  odd: {op: filter, input: real, where: "bad"}
  check: {python: "shop:check", input: odd}
sinks:
  out: {input: score, topic: results}
  checked: {input: check, topic: checked}
"""
BROKEN = """
flow: shop
sources: {orders: {topic: orders, key: user}}
operators: {check: {python: "shop:check", input: orders}}
sinks: {checked: {input: check, topic: checked}}
"""
LIMIT_S = WriterParams().transaction_timeout_ms / 1_000
FETCH = 8_700
"""Records in a megabyte."""


class Clock:
    """Moves on while a function is called, and when the test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.call_s = 0.003

    def monotonic(self) -> float:
        return self.now_s


class Called:
    """A function that takes its time for each record; `check` fails on all."""

    waits = True

    def __init__(self, name: str, clock: Clock) -> None:
        self._name, self._clock = name, clock

    def call(self, chunk: Chunk) -> Answers:
        self._clock.now_s += self._clock.call_s * len(chunk.records)
        if self._name == "shop:check":
            return Answers([[] for _ in chunk.records], {i: Error("KeyError", 1) for i in range(len(chunk.records))})
        return Answers([[each] for each in chunk.records])

    def check(self) -> None:
        return

    def close(self) -> None:
        return


class Context(TaskContext):
    """Its functions move the test's clock."""

    clock = Clock()

    def caller(self, spec: specs.Python) -> Caller:
        return Called(spec.call, self.clock)


class Limited(Broker):
    """Gives a transaction up that is open for too long."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._opened_s: float | None = None
        self.open_for_s: list[float] = []
        """How long each transaction was."""

    @property
    def open_s(self) -> float | None:  # type: ignore[override]
        return self._clock.now_s - self._opened_s if self._opened_s is not None else None

    async def write(self, *given: Any, **more: Any) -> asyncio.Future[None]:
        if self._opened_s is None:
            self._opened_s = self._clock.now_s
        return await super().write(*given, **more)

    async def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> dict[str, int]:
        self.open_for_s.append(self.open_s or 0.0)
        if self.open_for_s[-1] > LIMIT_S:
            raise WriteError(f"given up after {self.open_for_s[-1]:.1f} s")
        self._opened_s = None
        return await super().commit(group, offsets)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("services.host.task.time", SimpleNamespace(monotonic=clock.monotonic, thread_time=time.time))
    monkeypatch.setattr(Context, "clock", clock)
    return clock


@pytest.fixture
def limited(clock: Clock) -> Limited:
    return Limited(clock)


def planned(flow: str) -> SegmentPlan:
    """The last segment of a flow."""
    graph = parse_graph(flow)
    topics = dict.fromkeys(("orders", "refunds", "results", "checked"), 1)
    return plan_segment(graph, graph.segments[-1].id, topics)


def made(plan: SegmentPlan, writer: Any, streaks: Streaks | None = None) -> Task:
    return Task(plan, 0, 3, Context("127.0.0.1:1"), on_room=lambda: None, writer=writer, streaks=streaks)


def fetch(task: Task, name: str, values: list[bytes]) -> None:
    """These records wait for a task."""
    first = task._inputs.by_name[name].fetch_offset
    records = [
        SimpleNamespace(offset=first + i, value=value, timestamp=i * 1_000, key=None, headers=())
        for i, value in enumerate(values)
    ]
    task.take(task.fetched(name, Block(records)))


def block(edge: Input, rows: int) -> bytes:
    """What the segment before ours sends."""
    assert edge.writer is not None
    sent = EdgeBlock(
        segment=edge.writer,
        partition=0,
        epoch=1,
        watermark_ms=0,
        origin_topic="orders",
        origin_partition=0,
        keys=[None] * rows,
        times_ms=[0] * rows,
        offsets=list(range(rows)),
        values=[{"town": "Bath"}] * rows,
    )
    return EDGE.codec.encode(sent, topic=edge.topic)


async def to_the_end(task: Task) -> None:
    """All that was fetched, then stop."""
    running = asyncio.create_task(task.run())
    while not task._inbox.is_idle and not running.done():
        await asyncio.sleep(0)
    task.stop()
    await running


def results(broker: Broker) -> int:
    return sum(len(each.values) for each in broker.commits[-1] if each.topic == "results")


@pytest.mark.parametrize("is_new", [False, True], ids=["in this task", "before it"])
def test_one_bad_record_on_a_quiet_input_keeps_no_transaction_open(limited: Limited, *, is_new: bool) -> None:
    """Nothing was committed between portions ever after, also not after restarts: a fetch that takes the function
    longer than a transaction may last parked the partition for good."""
    streaks = Streaks(1_000)

    async def story() -> None:
        task = made(planned(UNION), limited, streaks)
        fetch(task, "refunds", [b"{"])
        if is_new:
            await to_the_end(task)
            task = made(planned(UNION), limited, streaks)
        fetch(task, "orders", [b'{"user": "ann"}'] * FETCH)
        await to_the_end(task)
        assert FETCH == results(limited)
        assert max(limited.open_for_s) < 2.0
        assert is_new == task.has_come_on

    asyncio.run(story())


def test_one_bad_record_on_a_quiet_input_does_not_keep_windows_open(
    limited: Limited, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While there was a backlog no silent input was given up, so all windows stayed in memory until its end."""
    process, written = Task._process, []

    async def process_and_tick(self: Task, *given: Any) -> None:
        await process(self, *given)
        self.tick(is_listening=True)
        written.append(sum(len(each.values) for each in limited.writes if each.topic == "results"))

    async def story() -> None:
        task = made(planned(WINDOWS), limited)
        fetch(task, "refunds", [b"{"])
        fetch(task, "orders", [b'{"user": "ann"}'] * 12)
        await to_the_end(task)

    clock.call_s = 2.0
    monkeypatch.setattr(Task, "_process", process_and_tick)
    asyncio.run(story())
    assert 5 <= written[-1]


def test_a_branch_that_fails_on_everything_does_not_let_another_one_s_transaction_grow_old(limited: Limited) -> None:
    """What the other one wrote stood in a transaction that waited for the end of the fetch, and was given up."""

    async def story() -> None:
        task = made(planned(BRANCHES), limited)
        fetch(task, "orders", [b'{"user": "ann", "bad": %s}' % (b"false", b"true")[i % 20 == 0] for i in range(FETCH)])
        await to_the_end(task)
        assert FETCH == results(limited)
        assert OPEN_S_MAX < max(limited.open_for_s) < OPEN_S_MAX + 2.0

    asyncio.run(story())


def test_nothing_of_what_a_function_fails_on_is_committed_before_it_parks(limited: Limited, clock: Clock) -> None:
    """Its records wait where they are, however long it takes until it is known to be broken."""
    clock.call_s = 0.02

    async def story() -> None:
        task = made(planned(BROKEN), limited)
        fetch(task, "orders", [b'{"user": "ann"}'] * FETCH)
        with pytest.raises(FailsOnEverythingError):
            await to_the_end(task)
        assert {"stig.flow.shop.landmarks"} == {each.topic for each in limited.writes}
        assert not task.has_come_on

    asyncio.run(story())


@pytest.mark.parametrize("together", [1, inbox.TOGETHER_RECORDS_MAX], ids=["one by one", "in one fetch"])
@pytest.mark.parametrize("call_s", [0.0005, 0.003, 0.0074, 0.0125])
def test_before_a_large_block_of_an_edge_what_is_open_is_committed(
    limited: Limited, clock: Clock, monkeypatch: pytest.MonkeyPatch, call_s: float, together: int
) -> None:
    """One record of an edge is a block of up to 2,000 rows. A transaction that was open when its turn came was given up
    before it was done: results appeared twice, or nothing was ever committed, though nothing had crashed."""
    monkeypatch.setattr(inbox, "TOGETHER_RECORDS_MAX", together)
    clock.call_s = call_s
    rows = [1] * 40 + [2_000] * 4 + [0] * 20 + [1, 2_000, 10, 2_000]

    async def story() -> None:
        plan = planned(KEYED)
        task = made(plan, limited)
        (edge,) = plan.inputs
        for count in rows:
            fetch(task, edge.name, [block(edge, count)])
        await to_the_end(task)
        assert sum(rows) == results(limited)
        assert max(limited.open_for_s) < 0.6 * LIMIT_S
        assert len(limited.commits) < 20

    asyncio.run(story())
