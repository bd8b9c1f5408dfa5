"""The original that a dead letter carries is the record of a source, never a block of an edge."""

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from services.host.segment_plan import plan_segment
from services.host.task import Task
from services.host.task_context import TaskContext
from services.operators.calls import Caller, LocalCaller
from topics.catalogue import DEAD_LETTERS, EDGE
from topics.flow import specs
from topics.flow.file import parse_graph
from topics.messages import Block, DeadLetter

FLOW = """
flow: shop
sources:
  orders: {topic: orders, key: user}
  returns: {topic: returns, key: item}
operators:
OPERATORS
sinks:
  out: {input: roots, topic: results}
"""
REAL = '  real: {op: filter, input: orders, where: "n > 0"}'
ONCE = "  once: {op: dedupe, input: returns, by: [user], within: 1h}"
ALL = "  all: {op: union, inputs: [real, once]}"
ROOTS = "  roots: {python: 'math:sqrt', input: all}  # which fails on every record"
EDGE_TOPIC = "stig.flow.shop.edge.returns-in.TO.once.0"
VALUE = {"user": "ann", "n": 1}


class Context(TaskContext):
    """Calls functions in this process."""

    def caller(self, spec: specs.Python) -> Caller:
        return LocalCaller(spec, allow=["math"])


def letters(broker: Any) -> list[DeadLetter]:
    """What the dead-letter topic has got."""
    topic = "stig.flow.shop.dead-letters"
    raws = [value for each in broker.writes if each.topic == topic for value in each.values]
    return [DEAD_LETTERS.codec.decode(raw, topic=topic, partition=0, offset=0) for raw in raws]


def record(value: bytes) -> Any:
    return SimpleNamespace(offset=5, value=value, key=b"ann", timestamp=0, headers=())


@pytest.mark.parametrize(
    "operators", [(REAL, ONCE, ALL, ROOTS), (ONCE, REAL, ALL, ROOTS)], ids=["source first", "edge first"]
)
def test_of_two_inputs_only_that_of_the_source_gives_originals(operators: tuple[str, ...], broker: Any) -> None:
    """A replay would send the block into the user's source. Where the edge is the first input, originals got lost."""
    graph = parse_graph(FLOW.replace("OPERATORS", "\n".join(operators)))
    segment = next(each for each in graph.segments if "all" in each.operators)
    plan = plan_segment(graph, segment.id, {"orders": 1, "returns": 1, "results": 1})
    edge, writer = next((each.name, each.writer) for each in plan.inputs if each.source is None)
    assert writer is not None
    original = msgspec.json.encode(VALUE)
    block = Block(
        segment=writer,
        partition=0,
        epoch=1,
        watermark_ms=0,
        origin_topic="returns",
        origin_partition=0,
        keys=[b"ann"],
        times_ms=[0],
        offsets=[5],
        values=[VALUE],
    )

    async def story() -> None:
        task = Task(plan, 0, 3, Context("127.0.0.1:1"), on_room=lambda: None, writer=broker)
        await task._process("orders", [record(original)])
        await task._process(edge, [record(EDGE.codec.encode(block, topic=EDGE_TOPIC))])
        await task._dead_letters.write(0)
        ours, theirs = letters(broker)
        assert (original, None, "orders") == (ours.value, ours.computed, ours.origin.topic)
        assert ("one", "returns", 5) == (theirs.computed, theirs.origin.topic, theirs.origin.offset)

    asyncio.run(story())
