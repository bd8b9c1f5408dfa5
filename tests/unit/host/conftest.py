"""A task of a small flow, whose writer a test looks into."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.task import Task
from services.host.task_context import TaskContext
from tests.unit.host.stand_ins import Broker
from topics.flow.file import parse_graph

LARGE = 'large: {op: filter, input: orders, where: "size > 2"}'

MakePlan = Callable[..., SegmentPlan]
MakeTask = Callable[..., Task]
MakeRecord = Callable[..., Any]


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def plan() -> MakePlan:
    """The only segment of a flow with these operators, of which the last writes `results`."""

    def make(operators: str = LARGE, *, partitions: int = 1, source: str = "", more: str = "") -> SegmentPlan:
        last = operators.strip().splitlines()[-1].split(":")[0].strip()
        graph = parse_graph(
            f"flow: shop\n{more}\nsources: {{orders: {{topic: orders{source}}}}}\noperators:\n  {operators}\n"
            f"sinks: {{out: {{input: {last}, topic: results, key: user}}}}\n"
        )
        return plan_segment(graph, graph.segments[0].id, {"orders": 1, "results": partitions})

    return make


@pytest.fixture
def task(plan: MakePlan, broker: Broker) -> MakeTask:
    """A task of such a segment, to be made where a loop runs."""

    def make(*flow: str, context: TaskContext | None = None, **more: Any) -> Task:
        writer: Any = broker
        given = context or TaskContext("127.0.0.1:1")
        return Task(plan(*flow, **more), 0, 3, given, on_room=lambda: None, writer=writer)

    return make


@pytest.fixture
def record() -> MakeRecord:
    """A record as it is fetched."""
    return lambda offset, value, at_ms=0: SimpleNamespace(
        offset=offset, value=value, timestamp=at_ms, key=None, headers=()
    )
