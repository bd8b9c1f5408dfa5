"""An input that is silent is given up after the flow's `idle`, also while another one is worked off from a backlog."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED, READ_UNCOMMITTED

from services.host.fetch import Block, BlockConsumer
from services.host.segment_plan import plan_segment
from services.host.task import TICK_S_MAX, Task
from services.host.task_context import TaskContext
from topics.flow.file import parse_graph

GRAPH = parse_graph("""
flow: shop
sources:
  orders: {topic: orders, key: user, partitions: 1, idle: 10s}
  refunds: {topic: refunds, key: user, partitions: 1, idle: 10s}
operators:
  all: {op: union, inputs: [orders, refunds]}
  counts: {op: aggregate, input: all, by: [user], window: {size: 1s}, emit: {n: count()}}
sinks: {out: {input: counts, topic: results}}
""")
REFUNDS = TopicPartition("refunds", 0)
ROUNDS = 12
"""Of a tick each: more than twice `idle`."""


class Clock:
    """The monotonic one."""

    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("services.host.task.time.monotonic", clock.monotonic)
    return clock


@pytest.fixture
def task(broker: Any) -> Any:
    """Of both sources; to be made where a loop runs."""
    plan = plan_segment(GRAPH, GRAPH.segments[0].id, {"orders": 1, "refunds": 1, "results": 1})
    return lambda: Task(plan, 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=broker)


def results(broker: Any) -> int:
    return sum(len(each.values) for each in broker.writes if each.topic == "results")


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def backlog(task: Task, record: Any, clock: Clock, *, unread: set[TopicPartition]) -> None:
    """One order a second, by event time; whenever time is told, the next ones wait already."""
    for offset in range(ROUNDS):
        task.take(task.fetched("orders", Block([record(offset, b'{"user": "ada"}', offset * 1_000)])))
        clock.now_s += TICK_S_MAX
        task.tick(is_listening=True, unread=unread)
        await turns()


def test_a_silent_input_is_given_up_while_another_one_has_a_backlog(
    task: Any, record: Any, broker: Any, clock: Clock
) -> None:
    """The windows of the whole backlog would stay open, in memory, until its end."""

    async def story() -> None:
        running_task = task()
        running = asyncio.create_task(running_task.run())
        await backlog(running_task, record, clock, unread=set())
        assert results(broker) >= ROUNDS - 2
        running_task.stop()
        await running

    asyncio.run(story())


def test_an_input_of_which_something_waits_is_not_silent(task: Any, record: Any, broker: Any, clock: Clock) -> None:
    """Its records wait for those of others, in the inbox, the consumer or at the broker; to close windows without them
    would make late ones of them, and another result of a slow host."""

    async def story() -> None:
        running_task = task()
        running = asyncio.create_task(running_task.run())
        await backlog(running_task, record, clock, unread={REFUNDS})
        assert 0 == results(broker)
        refund = running_task.fetched("refunds", Block([record(0, b'{"user": "ada"}', 0)]))  # but not yet here
        clock.now_s += TICK_S_MAX
        running_task.tick(is_listening=True)
        await turns()
        assert 0 == results(broker)
        running_task.take(refund)
        await turns()
        running_task.stop()
        await running
        assert not [each.topic for each in broker.writes if "late" in each.topic]

    asyncio.run(story())


def test_who_does_not_listen_takes_nobody_for_silent(task: Any, record: Any, broker: Any, clock: Clock) -> None:
    """After its segment was assigned anew a consumer knows of nothing that waits; what was silent before has to be
    heard of again before it is given up."""

    async def story() -> None:
        running_task = task()
        running = asyncio.create_task(running_task.run())
        running_task.take(running_task.fetched("refunds", Block([record(0, b'{"user": "ada"}', 0)])))
        await backlog(running_task, record, clock, unread={REFUNDS})
        assert 0 == results(broker)
        running_task.tick(is_listening=False)
        await turns()
        assert 0 == results(broker)
        running_task.stop()
        await running

    asyncio.run(story())


def test_a_task_that_is_told_to_stop_gives_nobody_up_any_more(
    task: Any, record: Any, broker: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have left a block half done, whose rest nobody sees waiting; the next owner would find it late."""
    process = Task._process

    async def process_and_stop(self: Task, *args: Any) -> None:
        await process(self, *args)
        self.tick(is_listening=True)
        self.stop()

    async def story() -> None:
        running_task = task()
        running = asyncio.create_task(running_task.run())
        for _ in range(ROUNDS):
            clock.now_s += TICK_S_MAX
            running_task.tick(is_listening=True)
            await turns()
        orders = [record(offset, b'{"user": "ada"}', offset * 2_000) for offset in range(3)]
        running_task.take(running_task.fetched("orders", Block(orders)))
        await running
        assert 0 == results(broker)

    monkeypatch.setattr(Task, "_process", process_and_stop)
    asyncio.run(story())


@pytest.mark.parametrize(
    ("isolation", "lso", "highwater", "expected"),
    [
        (READ_UNCOMMITTED, -1, 8, True),
        (READ_UNCOMMITTED, -1, 7, False),
        (READ_COMMITTED, 8, 9, True),
        (READ_COMMITTED, 7, 9, False),
        (READ_COMMITTED, None, None, False),
    ],
)
def test_what_the_last_answer_told_of_is_unread(
    isolation: int, lso: int | None, highwater: int | None, expected: bool
) -> None:
    """A task that is quick finds its inbox empty between two fetches of a backlog. What belongs to an open transaction
    nobody may read yet: who waits for that waits for its writer."""
    state = SimpleNamespace(lso=lso, highwater=highwater, _position=7)
    assignment = SimpleNamespace(tps={REFUNDS}, state_value=lambda _at: state)
    consumer: Any = SimpleNamespace(
        _fetcher=SimpleNamespace(_records={}, _isolation_level=isolation),
        _subscription=SimpleNamespace(subscription=SimpleNamespace(assignment=assignment)),
    )
    assert expected == BlockConsumer.has_unread(consumer, REFUNDS)
    assert not BlockConsumer.has_unread(consumer, TopicPartition("gone", 0))
    consumer._fetcher._records = {REFUNDS: "an answer"}
    assert BlockConsumer.has_unread(consumer, REFUNDS)
