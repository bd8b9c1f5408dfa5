"""When a task writes its snapshots: not while others wait for its commit, and also if it has had its partition for a
short time only."""

import asyncio
from typing import Any

import pytest

from services.host import progress as progress_module
from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.snapshot import CHANGES_MIN, PIECE_ENTRIES, PIECES_MAX, SnapshotPlace
from services.host.task import Task
from services.host.task_context import TaskContext
from topics.flow.file import parse_graph

FLOW = """
flow: counts
sources: {packets: {topic: packets}}
operators:
  counted: {op: aggregate, input: packets, by: [src], emit: {n: count()}}
sinks: {out: {input: counted, topic: counts}}
"""
ENTRIES = (PIECES_MAX + 1) * PIECE_ENTRIES


def plan() -> SegmentPlan:
    """Of the segment that counts."""
    graph = parse_graph(FLOW)
    return plan_segment(graph, graph.segments[-1].id, {"packets": 1, "counts": 1})


@pytest.fixture
def counting(broker: Any) -> Any:
    """Makes a task with so many entries, where a loop runs."""

    def make(entries: int = ENTRIES) -> Task:
        task = Task(plan(), 0, 3, TaskContext("127.0.0.1:1"), on_room=lambda: None, writer=broker)
        task._program.restore("counted/windows", {f"s{i}": [i] for i in range(entries)})
        return task

    return make


def pieces(broker: Any, task: Task) -> int:
    return sum(each.topic == task.plan.snapshots for each in broker.writes)


def test_what_others_wait_for_carries_nothing_of_a_snapshot(counting: Any, broker: Any) -> None:
    """The first commit of an owner, and its last one, are in the pause of a moved partition."""

    async def story() -> None:
        task = counting()
        task._progress._snapshots.changed(3 * ENTRIES)
        await task._commit()
        assert pieces(broker, task) == 0
        await task._commit()
        assert PIECES_MAX == pieces(broker, task)
        task.stop()
        await task._commit()
        assert PIECES_MAX == pieces(broker, task)

    asyncio.run(story())


def test_others_have_their_turn_between_two_pieces(counting: Any, broker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pieces of a commit at once would hold up every task of the host."""
    turns: list[int] = []

    async def sleep(_pause_s: float) -> None:
        turns.append(len(broker.writes))

    async def story() -> None:
        task = counting()
        task._progress._snapshots.changed(3 * ENTRIES)
        await task._commit()
        monkeypatch.setattr(progress_module.asyncio, "sleep", sleep)
        before = len(broker.writes)
        await task._commit()
        assert [before + i for i in range(1, PIECES_MAX + 1)] == turns

    asyncio.run(story())


@pytest.mark.parametrize(
    ("place_at", "is_due"), [(None, True), (0, True), (CHANGES_MIN - 1, True), (CHANGES_MIN, False)]
)
def test_changes_of_former_owners_count(counting: Any, place_at: int | None, is_due: bool) -> None:
    """A partition that moves every hour would else have its whole changelog read when its host dies."""

    async def story() -> None:
        task = counting(10)
        if place_at is not None:
            task._progress._snapshots.place = SnapshotPlace(1, 0, 0, 1, {"counted": place_at})
        task._progress.restored({"counted": 2 * CHANGES_MIN})
        assert is_due == task._progress._snapshots.is_due

    asyncio.run(story())
