"""Committed offsets must not be forgotten; where they are, a task that has run before does not begin anew."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import TopicPartition

from services.host import remembered
from services.host.beginnings import FirstRecordsGoneError
from services.host.landmarks import LANDMARK_EVERY_MS, Landmarks, OffsetsLostError
from services.host.remembered import Note, Remembered, pack, read_note
from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.task import Task
from services.host.task_context import TaskContext
from tests.unit.host.stand_ins import Broker
from topics.catalogue import LANDMARKS
from topics.flow.file import parse_graph
from topics.messages import Landmark

AT = TopicPartition("orders", 0)
NOW_MS = 1_700_000_000_000
PACKED = pack(Remembered())


class Clock:
    """Stands still until it is set."""

    now_ms = NOW_MS


Recovered = Callable[[int, str], Awaitable[Task]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shop(plan: Any) -> SegmentPlan:
    made: SegmentPlan = plan(source=", idle: 1ms")
    return made


@pytest.fixture
def recovered(task: Any, clock: Clock) -> Recovered:
    """A task that found this commit."""

    async def recover(offset: int, note: str) -> Task:
        context = TaskContext("127.0.0.1:1", now_ms=lambda: clock.now_ms)
        made: Task = task(source=", idle: 1ms", context=context)

        async def committed(_partitions: list[TopicPartition]) -> dict[TopicPartition, tuple[int, str]]:
            return {AT: (offset, note)}

        await made.recover(committed)
        return made

    return recover


def commits(broker: Broker) -> list[tuple[int, str]]:
    return [each[AT] for each in broker.offsets]


def landmarks_of(broker: Broker) -> list[Landmark]:
    topic = "stig.flow.shop.landmarks"
    assert {topic} >= {each.topic for each in broker.writes}
    values = [value for each in broker.writes for value in each.values]
    return [LANDMARKS.codec.decode(value, topic=topic, partition=0, offset=0) for value in values]


async def ticked_until_committed(task: Task, broker: Broker, count: int) -> None:
    async with asyncio.timeout(60):
        while len(broker.offsets) < count:
            task.tick(is_listening=True)
            await asyncio.sleep(0.01)


def test_an_idle_task_commits_again_what_it_has_committed(recovered: Recovered, broker: Broker, clock: Clock) -> None:
    """Brokers forget an offset after its last commit, also while the task runs."""

    async def story() -> None:
        found = Note(NOW_MS - LANDMARK_EVERY_MS + 1, 12, PACKED).text()
        task = await recovered(42, found)
        running = asyncio.create_task(task.run())
        for _ in range(3):
            task.tick(is_listening=True)
            await asyncio.sleep(0)
        assert [] == commits(broker)
        clock.now_ms += 1
        await ticked_until_committed(task, broker, 1)
        task.stop()
        await running
        ((offset, text),) = commits(broker)
        assert (42, NOW_MS + 1) == (offset, read_note(text).landmark_ms)
        (landmark,) = landmarks_of(broker)
        assert ({"orders": 42}, 3, NOW_MS + 1) == (landmark.offsets, landmark.epoch, landmark.committed_ms)

    asyncio.run(story())


def test_a_task_that_rests_is_woken_for_its_landmark_alone(recovered: Recovered, broker: Broker, clock: Clock) -> None:
    """Time moves nothing any more, and fifty tasks that wake each second for that are a tenth of a core."""

    async def story() -> None:
        task = await recovered(42, Note(NOW_MS, 12, PACKED).text())
        running = asyncio.create_task(task.run())
        async with asyncio.timeout(60):
            while not task.rests:
                task.tick(is_listening=True)
                await asyncio.sleep(0.01)
        task.tick(is_listening=True)
        assert task._inbox.is_empty
        clock.now_ms += LANDMARK_EVERY_MS
        await ticked_until_committed(task, broker, 1)
        task.stop()
        await running

    asyncio.run(story())


@pytest.mark.parametrize("found", ["", Note(NOW_MS - LANDMARK_EVERY_MS, 12, PACKED).text()])
def test_what_was_committed_long_ago_is_committed_before_anything_is_tried(
    recovered: Recovered, broker: Broker, found: str
) -> None:
    """A task that fails on its next record, and is parked for weeks, must not lose its place; nor is it progress."""

    async def story() -> None:
        task = await recovered(42, found)
        task.fail(RuntimeError("always"))
        with pytest.raises(RuntimeError, match="always"):
            await task.run()
        assert [42] == [offset for offset, _ in commits(broker)]
        assert not task.has_come_on

    asyncio.run(story())


def test_a_takeover_does_not_wait_for_a_landmark_that_is_young(recovered: Recovered, broker: Broker) -> None:
    """A commit more would be part of the pause of every move."""

    async def story() -> None:
        task = await recovered(42, Note(NOW_MS - 1_000, 12, PACKED).text())
        task.stop()
        await task.run()
        assert [] == commits(broker)

    asyncio.run(story())


def test_what_is_too_much_for_an_offset_goes_into_the_landmark(
    recovered: Recovered, broker: Broker, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same transaction, so that it always belongs to that offset; the note tells from where to look."""
    monkeypatch.setattr(remembered, "NOTE_LENGTH_MAX", 10)

    async def story() -> None:
        task = await recovered(42, "")
        running = asyncio.create_task(task.run())
        await ticked_until_committed(task, broker, 1)
        clock.now_ms += LANDMARK_EVERY_MS
        await ticked_until_committed(task, broker, 2)
        task.stop()
        await running
        assert [Note(NOW_MS, 0, None), Note(NOW_MS + LANDMARK_EVERY_MS, 41, None)] == [
            read_note(text) for _, text in commits(broker)
        ]
        assert all(each.remembered for each in landmarks_of(broker))

    asyncio.run(story())


class Read(Landmarks):
    """Finds what it was given."""

    found: Landmark | None = None

    async def last(self, *, from_offset: int = 0) -> Landmark | None:
        return self.found

    async def all(self) -> list[Landmark]:
        return [self.found] if self.found is not None else []


def landmark(**more: Any) -> Landmark:
    given = {"segment": "shop.1", "partition": 0, "epoch": 1, "committed_ms": NOW_MS, "offsets": {"orders": 42}}
    return Landmark(**{**given, **more})


def test_a_task_that_has_run_before_says_where_it_stood_and_what_to_do(shop: SegmentPlan) -> None:
    """It would read everything again, on top of its state; only a person can know better."""
    landmarks = Read("127.0.0.1:9092", shop, 0)
    asyncio.run(landmarks.check_new())
    landmarks.found = landmark()
    with pytest.raises(OffsetsLostError) as told:
        asyncio.run(landmarks.check_new())
    reason = str(told.value)
    assert "on 2023-11-14 22:13 UTC" in reason
    assert (
        f"kafka-consumer-groups --bootstrap-server 127.0.0.1:9092 --group {shop.group} --topic orders:0 "
        "--reset-offsets --to-offset 42 --execute"
    ) in reason


@pytest.mark.parametrize("found", [None, landmark()])
def test_a_landmark_that_should_remember_and_does_not_is_trouble(shop: SegmentPlan, found: Landmark | None) -> None:
    """Going on without watermarks would set records aside as late, or wait for ever."""
    landmarks = Read("127.0.0.1:9092", shop, 0)
    landmarks.found = found
    with pytest.raises(OffsetsLostError, match="is gone from there"):
        asyncio.run(landmarks.recall(Note(NOW_MS, 3, None)))


EDGES = """
flow: shop
sources:
  orders: {topic: orders}
operators:
  counts: {op: aggregate, input: orders, by: [item], emit: {n: count()}}
  totals: {op: aggregate, input: counts, by: [n], emit: {m: count()}}
sinks:
  out: {input: totals, topic: results}
"""


def reader() -> SegmentPlan:
    """The segment that reads the flow's last edge."""
    graph = parse_graph(EDGES)
    return plan_segment(graph, graph.segments[-1].id, {"orders": 1, "results": 1})


@pytest.mark.parametrize(
    ("found", "is_fine"),
    [
        (None, False),
        (landmark(offsets={"orders": 42}), False),
        (landmark(offsets={reader().inputs[0].topic: 3}, partition=1), False),
        (landmark(segment="shop.of-the-revision-before", offsets={reader().inputs[0].topic: 3}), True),
    ],
    ids=["nobody", "who reads another topic", "who reads another partition", "a former revision"],
)
def test_who_is_first_to_read_an_edge_reads_all_of_it_or_nothing(found: Landmark | None, is_fine: bool) -> None:
    """A reader may have been parked for longer than its edge keeps records: they would be skipped without a word. But
    a revision's reader is new as well, and what is gone before it has been read."""
    landmarks = Read("127.0.0.1:9092", reader(), 0)
    landmarks.found = found
    at = TopicPartition(reader().inputs[0].topic, 0)
    asyncio.run(landmarks.check_read({at: 0}))
    if is_fine:
        asyncio.run(landmarks.check_read({at: 7}))
    else:
        with pytest.raises(FirstRecordsGoneError, match=f"--topic {at.topic}:0 --reset-offsets --to-offset 7 --exec"):
            asyncio.run(landmarks.check_read({at: 7}))


def test_a_source_begins_where_its_owner_lets_it_begin(shop: SegmentPlan) -> None:
    """Its records may be kept for an hour only, and nobody promised us more."""
    asyncio.run(Read("127.0.0.1:9092", shop, 0).check_read({AT: 7}))
