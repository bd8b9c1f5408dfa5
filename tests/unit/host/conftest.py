"""A task of a small flow, whose writer a test looks into."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.task import Task, TaskContext
from topics.flow.file import parse_graph

LARGE = 'large: {op: filter, input: orders, where: "size > 2"}'

MakePlan = Callable[..., SegmentPlan]
MakeTask = Callable[..., Task]
MakeRecord = Callable[..., Any]


@dataclass(frozen=True)
class Written:
    """What one write brought."""

    topic: str
    values: Sequence[bytes]
    times: Sequence[int]


class Broker:
    """Stands for a Writer, to a broker that answers when the test says so."""

    bytes_written = 0

    def __init__(self) -> None:
        self.writes: list[Written] = []
        self.answers: list[asyncio.Future[None]] = []
        self.commits: list[list[Written]] = []
        """What had been written by each commit, all of it."""

    async def write(
        self, topic: str, _partition: int, _keys: Any, values: Any, times: Any, **_more: Any
    ) -> asyncio.Future[None]:
        self.writes.append(Written(topic, values, times))
        self.answers.append(asyncio.Future())
        return self.answers[-1]

    async def commit(self, *_: Any) -> dict[str, int]:
        self.commits.append([*self.writes])
        return {}


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def plan() -> MakePlan:
    """The only segment of a flow with these operators, of which the last writes `results`."""

    def make(operators: str = LARGE, *, partitions: int = 1, more: str = "") -> SegmentPlan:
        last = operators.strip().splitlines()[-1].split(":")[0].strip()
        graph = parse_graph(
            f"flow: shop\n{more}\nsources: {{orders: {{topic: orders}}}}\noperators:\n  {operators}\n"
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
