"""What a host makes of topics that grow: all segments expect the same of each other, and nobody waits in vain."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from services.host.blueprint import CannotRunError, blueprint
from services.host.plan_topics import declarations
from services.host.segment_plan import Input, SegmentPlan, plan_segment
from services.host.task_input import NewWriterError, TaskInputs
from services.host.wanted import Terms
from topics.catalogue import EDGE
from topics.flow.file import parse_graph
from topics.messages import Block
from topics.topic import Declaration

FLOW = """
flow: shop
sources:
  orders: {topic: orders, key: userMORE}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
  pages: {op: aggregate, input: large, by: [page], emit: {n: count()}}
sinks:
  out: {input: pages, topic: results}
"""
TEXT = FLOW.replace("MORE", "")
LARGE, PAGES = (segment.id for segment in parse_graph(TEXT).segments)


class Cluster:
    """A broker with a topic of so many partitions. `ensured`: what it was asked to make."""

    def __init__(self, orders: int) -> None:
        self.counts = {"orders": orders, "results": 2}
        self.ensured: list[Declaration] = []

    async def partitions(self) -> dict[str, int]:
        return self.counts

    async def bytes_max(self, _topics: object) -> dict[str, int]:
        return {}

    async def ensure(self, declared: list[Declaration]) -> tuple[()]:
        self.ensured = declared
        return ()


def planned(segment: str, *, broker: int, text: str = TEXT, **told: int) -> SegmentPlan:
    cluster: Any = Cluster(broker)
    none: Any = lambda spec: None  # noqa: E731 - stands for the caller of functions, of which there are none
    return asyncio.run(blueprint(segment, text, cluster, caller=none, terms=Terms(source_partitions=told)))


def test_the_registry_says_how_many_writers_an_edge_has() -> None:
    """A host that was started after the topic grew waited for writers that nobody had placed: no window ever closed."""
    (edge,) = planned(PAGES, broker=8, orders=4).inputs
    assert 4 == edge.upstream_partitions
    assert 4 == planned(LARGE, broker=8, orders=4).partitions
    (edge,) = planned(PAGES, broker=8, orders=8).inputs
    assert 8 == edge.upstream_partitions


def test_what_was_placed_before_anything_was_counted_goes_by_the_broker() -> None:
    (edge,) = planned(PAGES, broker=8).inputs
    assert 8 == edge.upstream_partitions


def test_a_broker_that_knows_of_fewer_partitions_is_asked_again() -> None:
    """It may just not have heard; a plan with fewer would leave some of what was placed to nobody."""
    with pytest.raises(CannotRunError, match="had 8 partitions, the broker says 4"):
        planned(LARGE, broker=4, orders=8)


def test_a_flow_that_says_how_many_partitions_there_are_is_to_be_corrected() -> None:
    """Whatever it was placed by."""
    text = FLOW.replace("MORE", ", partitions: 4")
    large, _ = (segment.id for segment in parse_graph(text).segments)
    with pytest.raises(CannotRunError, match="4 partitions, the broker says 8"):
        planned(large, broker=8, text=text, orders=4)


HAND_OVER = """
flow: shop
sources:
  orders: {topic: orders, key: userMORE}
operators:
  large:  {op: filter, input: orders, where: "size > 2"}
  pages:  {op: aggregate, input: large, by: [page], emit: {n: count()}}
  back:   {op: aggregate, input: pages, by: [n], emit: {k: count()}}
  all:    {op: union, inputs: [large, back]}
  last:   {op: aggregate, input: all, by: [user], emit: {k: count()}}
sinks:
  out: {input: last, topic: results}
"""


def growing(text: str) -> dict[str, bool]:
    """Which of its topics may grow, without what all flows have alike."""
    graph = parse_graph(text)
    found = {}
    for segment in graph.segments:
        plan = plan_segment(graph, segment.id, {"orders": 4, "results": 4})
        changelog = f"stig.flow.shop.changelog.{segment.operators[0]}"
        found |= {each.name: each.may_grow for each in declarations(plan, [changelog])}
    return {name.removeprefix("stig.flow.shop."): may for name, may in found.items() if "edge" in name or "log" in name}


def test_what_follows_a_source_grows_with_it_and_what_the_flow_counts_does_not() -> None:
    """With another number behind a re-key, keys would go to tasks that do not know them."""
    found = growing(HAND_OVER.replace("MORE", ""))
    may_grow = {"edge.large.TO.all.0", "changelog.large", "changelog.back"}
    must_not = {
        "edge.large.TO.pages.0",
        "edge.pages.TO.back.0",
        "edge.all.TO.last.0",
        "changelog.pages",
        "changelog.last",
    }
    assert dict.fromkeys(may_grow, True) | dict.fromkeys(must_not, False) == found
    assert not any(growing(HAND_OVER.replace("MORE", ", partitions: 4")).values())


def block(partition: int, watermark_ms: int) -> SimpleNamespace:
    sent = Block(
        segment=LARGE,
        partition=partition,
        epoch=1,
        origin_topic="orders",
        origin_partition=partition,
        values=[{"page": 1}],
        keys=[None],
        times_ms=[watermark_ms],
        offsets=[0],
        watermark_ms=watermark_ms,
    )
    return SimpleNamespace(value=EDGE.codec.encode(sent, topic="edge"), offset=0, headers=())


def test_a_writer_that_is_news_is_not_passed_over() -> None:
    """Its host may hear of it before ours does. What it sends waits on the edge until we know whom to expect."""
    edge = Input("large", "edge", 1, None, None, 4, None, writer=LARGE)
    with pytest.raises(NewWriterError, match=r"partition 4 of .* and 4 were known"):
        list(TaskInputs([edge], 0).read("large", [block(4, 1_000)], now_ms=0))
