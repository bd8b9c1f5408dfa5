"""State that leaves a host is freed, little by little, and without the collector, which hardly ever runs there."""

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from services.host import memory as memory_module
from services.host import standby as standby_module
from services.host.fetch import Block
from services.host.memory import Memory
from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.standby import Standby
from services.host.task import Task
from services.host.task_context import TaskContext
from topics.flow.file import parse_graph

FLOW = """
flow: shop
sources: {orders: {topic: orders}}
operators:
  counted: {op: aggregate, input: orders, by: [user], window: {size: 1h, emit: change}, emit: {n: count()}}
sinks: {out: {input: counted, topic: counts}}
"""
TABLE = "counted/windows"


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def plan() -> SegmentPlan:
    """Of the segment that counts."""
    graph = parse_graph(FLOW)
    return plan_segment(graph, graph.segments[-1].id, {"orders": 1, "counts": 1})


class Marker(list[Any]):
    """A state of which one can tell whether it is still there."""


class Replica:
    """Reads nothing, for ever."""

    entries_read = 0
    is_gentle = False
    positions: dict[str, int] = {}  # noqa: RUF012 - never written

    def __init__(self, program: Any, *_: Any, **__: Any) -> None:
        self._program = program

    async def open(self, _place: object) -> None: ...
    async def catch_up(self) -> None: ...
    async def close(self) -> None: ...
    async def read(self, *, timeout_s: float) -> int:
        await asyncio.sleep(timeout_s)
        return 0


class Writer:
    """Is connected at once, and stopped."""

    def __init__(self, *_: object) -> None: ...
    async def connect(self, _topics: object) -> None: ...
    async def stop(self) -> None: ...


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> TaskContext:
    monkeypatch.setattr(memory_module, "Replica", Replica)
    monkeypatch.setattr(standby_module, "Writer", Writer)
    return TaskContext("127.0.0.1:1")


def marked(memory: Memory) -> "weakref.ref[Marker]":
    """Give it a state that can be watched, below an index that holds its key."""
    marker = Marker([1])
    memory.program.restore(TABLE, {(0, "a"): marker})
    return weakref.ref(marker)


async def committed(partitions: Any) -> Any:
    return dict.fromkeys(partitions, (0, ""))


async def let_go_in_time(reference: "weakref.ref[Marker]") -> None:
    """Some turns, in which whoever was ended lets go of what it has."""
    for _ in range(20):
        await asyncio.sleep(0)
    assert reference() is None, gc.get_referrers(reference())


def test_a_memory_is_freed_with_its_last_reference(context: TaskContext) -> None:
    memory = context.memory(plan(), 0)
    reference = marked(memory)
    del memory
    assert reference() is None


@pytest.mark.parametrize("leave", [Standby.take, Standby.close])
def test_a_standby_leaves_nothing_behind(
    context: TaskContext, leave: Callable[[Standby], Awaitable[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cancelled in the middle of what it does, and that is kept with all that it had in hand."""
    monkeypatch.setattr(memory_module, "EMPTY_AFTER_S", 0.0)

    async def story() -> None:
        ready = asyncio.Event()
        standby = Standby(plan(), 0, context, committed=committed, on_read=lambda *_: ready.set())
        await ready.wait()
        reference = marked(standby.memory)
        await leave(standby)
        del standby
        await let_go_in_time(reference)

    asyncio.run(story())


def test_a_task_that_leaves_with_records_in_hand_leaves_nothing_behind(
    context: TaskContext, record: Any, broker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the next owner's. Each block names the task that it came for, whenever it comes."""

    async def discard(_: Memory) -> None: ...
    async def stop() -> None: ...

    monkeypatch.setattr(Memory, "discard", discard)  # what is emptied would be gone anyhow
    broker.stop = stop

    async def story() -> None:
        leaving = Task(plan(), 0, 3, context, on_room=lambda: None, writer=broker)
        reference, name = marked(leaving._memory), leaving.plan.inputs[0].name
        leaving.take(leaving.fetched(name, Block([record(0, b'{"user": "a"}')])))
        late = leaving.fetched(name, Block([record(1, b'{"user": "a"}')]))
        await leaving.close()
        leaving.take(late)
        del leaving, late
        await let_go_in_time(reference)

    asyncio.run(story())


def test_what_is_discarded_goes_little_by_little(context: TaskContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others must not wait until 100,000 keys are freed, nor the memory until nobody has a hold on it."""
    monkeypatch.setattr(memory_module, "EMPTY_AFTER_S", 0.0)
    keys = 100_000

    async def story() -> list[int]:
        memory = context.memory(plan(), 0)
        memory.program.restore(TABLE, {(0, f"key {i}"): [i] for i in range(keys)})
        await memory.discard()
        left = [keys]
        async with asyncio.timeout(60):
            while memory._emptying is not None and not memory._emptying.done():
                await asyncio.sleep(0)
                left.append(len(memory.program.tables[TABLE].data))
        assert not memory.program._operators["counted"]._grouping._due._keys  # type: ignore[attr-defined]
        return left

    left = asyncio.run(story())
    assert 0 == left[-1]
    assert max(before - after for before, after in pairwise(left)) <= 2_000


def test_what_a_standby_read_is_forgotten_little_by_little_when_it_begins_anew(context: TaskContext) -> None:
    async def story() -> list[int]:
        memory = context.memory(plan(), 0)
        table = memory.program.tables[TABLE]
        memory.program.restore(TABLE, {(0, f"key {i}"): [i] for i in range(20_000)})
        opening = asyncio.create_task(memory._opened(None, is_gentle=True))
        left = [len(table.data)]
        while not opening.done():
            await asyncio.sleep(0)
            left.append(len(table.data))
        return left

    left = asyncio.run(story())
    assert 0 == left[-1]
    assert max(before - after for before, after in pairwise(left)) <= 2_000
