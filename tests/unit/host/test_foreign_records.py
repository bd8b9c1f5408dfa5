"""What somebody else writes to an edge topic becomes a dead letter with its origin, and the segment goes on."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.streaks import FailsOnEverythingError
from services.host.task import Task
from services.host.task_context import TaskContext
from topics.catalogue import DEAD_LETTERS, EDGE
from topics.flow.file import parse_graph
from topics.messages import Block, DeadLetter

FLOW = """
flow: shop
park_after: 20
sources:
  orders: {topic: orders, key: user}
operators:
  towns: {op: aggregate, input: orders, by: [town], emit: {n: count()}}
sinks:
  out: {input: towns, topic: results}
"""
LETTERS = "stig.flow.shop.dead-letters"


@pytest.fixture
def plan() -> SegmentPlan:
    """The segment behind the re-key."""
    graph = parse_graph(FLOW)
    segment = next(each for each in graph.segments if "towns" in each.operators)
    return plan_segment(graph, segment.id, {"orders": 1, "results": 1})


def block(plan: SegmentPlan, offset: int) -> Any:
    (edge,) = plan.inputs
    assert edge.writer is not None
    sent = Block(
        segment=edge.writer,
        partition=0,
        epoch=1,
        watermark_ms=0,
        origin_topic="orders",
        origin_partition=0,
        keys=[None],
        times_ms=[0],
        offsets=[offset],
        values=[{"town": "Bath"}],
    )
    return record(EDGE.codec.encode(sent, topic=edge.topic), offset)


def record(value: bytes | None, offset: int) -> Any:
    return SimpleNamespace(offset=offset, value=value, key=b"k", timestamp=5, headers=(("h", b"1"),))


def written(broker: Any, topic: str) -> list[bytes]:
    return [value for each in broker.writes if each.topic == topic for value in each.values]


def letters(broker: Any) -> list[DeadLetter]:
    return [DEAD_LETTERS.codec.decode(raw, topic=LETTERS, partition=0, offset=0) for raw in written(broker, LETTERS)]


def test_a_stranger_s_record_becomes_a_dead_letter_and_the_others_are_counted(plan: SegmentPlan, broker: Any) -> None:
    """It raised, and so did every try: the partition was parked for good, without a letter."""
    (edge,) = plan.inputs
    records = [block(plan, 0), record(b"hello", 1), block(plan, 2), record(None, 3), block(plan, 4)]

    async def story() -> None:
        task = Task(plan, 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=broker)
        await task._process(edge.name, records)
        await task._dead_letters.write(0)

    asyncio.run(story())
    assert [b'{"town":"Bath","n":1}', b'{"town":"Bath","n":2}', b'{"town":"Bath","n":3}'] == written(broker, "results")
    assert [(edge.topic, 0, 1), (edge.topic, 0, 3)] == [
        (each.origin.topic, each.origin.partition, each.origin.offset) for each in letters(broker)
    ]
    assert [(edge.name, b"hello"), (edge.name, None)] == [(each.operator, each.value) for each in letters(broker)]
    assert "expected Block version 1" in letters(broker)[0].error


def test_a_flood_of_them_parks_the_segment(plan: SegmentPlan, broker: Any) -> None:
    """Somebody takes the edge for a topic of theirs; or what is wrong is our reader, and the blocks are ours."""
    (edge,) = plan.inputs
    records = [record(b"hello", offset) for offset in range(20)]

    async def story() -> None:
        task = Task(plan, 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=broker)
        await task._process(edge.name, records[:19])
        with pytest.raises(FailsOnEverythingError, match="failed on 20 records in a row"):
            await task._process(edge.name, records[19:])

    asyncio.run(story())
