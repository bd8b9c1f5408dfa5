"""A standby that can't follow says so and begins anew: it is never taken for ready with a state that has holes."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from placement.moves import MoveParams
from services.host import standby as under_test
from services.host.disk import StateFullError
from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.snapshot import SnapshotPlace
from services.host.standby import Standby
from services.host.task_context import TaskContext
from topics.flow.file import parse_graph

FLOW = """
flow: counts
sources: {packets: {topic: packets}}
operators:
  counted: {op: aggregate, input: packets, by: [src], emit: {n: count()}}
sinks: {out: {input: counted, topic: counts}}
"""


class Memory:
    """Follows without an end, or until what it is given is raised."""

    def __init__(self, *errors: Exception) -> None:
        self.changelogs = {"counted": "changes"}
        self.is_open = False
        self.followed = self.emptied = 0
        self.fail = asyncio.Event()
        self._errors = list(errors)

    async def follow(self, _place: SnapshotPlace | None, on_read: Callable[[int], None]) -> None:
        self.is_open = True
        self.followed += 1
        on_read(0)
        if not self._errors:
            await asyncio.Event().wait()
        await self.fail.wait()
        raise self._errors.pop(0)

    async def close(self) -> None:
        self.is_open = False

    async def empty(self) -> None:
        assert not self.is_open, "what is half forgotten must not be gone on with"
        self.emptied += 1

    @property
    def resident_bytes(self) -> int:
        return 0 if self.emptied else 400


class Writer:
    """Is connected at once."""

    def __init__(self, *_: object) -> None:
        pass

    async def connect(self, _topics: object) -> None:
        return


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "Writer", Writer)
    monkeypatch.setattr(under_test, "RETRY_S", 0.01)


def plan() -> SegmentPlan:
    graph = parse_graph(FLOW)
    return plan_segment(graph, graph.segments[-1].id, {"packets": 1, "counts": 1})


class Told:
    """What a standby has told of itself: whether it is ready, in the order of the changes."""

    def __init__(self) -> None:
        self.ready: list[bool] = []

    def __call__(self, _partition: int, standby: Standby) -> None:
        if [standby.is_ready] != self.ready[-1:]:
            self.ready.append(standby.is_ready)


def standing_by(memory: Memory, told: Callable[[int, Standby], None]) -> Standby:
    context: Any = SimpleNamespace(
        bootstrap="127.0.0.1:1", writer=None, memory=lambda _plan, _partition: memory, now_ms=TaskContext("").now_ms
    )

    async def committed(partitions: Any) -> Any:
        return dict.fromkeys(partitions, (0, ""))

    return Standby(plan(), 0, context, committed=committed, on_read=told)


@pytest.mark.parametrize("error", [StateFullError("no space left"), RuntimeError("unheard of")])
def test_a_standby_that_fails_is_not_ready_until_it_has_begun_anew(error: Exception) -> None:
    """Whatever it is: a move would hand the partition to it, with all that it has missed."""

    async def story() -> None:
        memory, told = Memory(error), Told()
        standby = standing_by(memory, told)
        while told.ready != [True]:
            await asyncio.sleep(0)
        memory.fail.set()
        while told.ready[-1]:
            await asyncio.sleep(0)
        assert not memory.is_open, "it begins from nothing, whether it tries again or another takes it"
        while memory.followed < 2:
            await asyncio.sleep(0)
        assert (memory, True) == ((await standby.take())[0], memory.is_open)
        assert [True, False, True] == told.ready

    asyncio.run(asyncio.wait_for(story(), timeout=30))


def test_what_a_standby_leaves_that_has_ended_is_not_gone_on_with() -> None:
    """Nobody knows how much of it is there."""

    def breaks(_partition: int, standby: Standby) -> None:
        if not standby.is_ready:
            raise RuntimeError("nobody listens")

    async def story() -> None:
        memory = Memory(StateFullError("no space left"))
        memory.fail.set()
        standby = standing_by(memory, breaks)
        await asyncio.wait([standby._following])
        assert "nobody listens" in str(standby._following.exception())
        assert memory.is_open
        await standby.take()
        assert not memory.is_open

    asyncio.run(asyncio.wait_for(story(), timeout=30))


def test_a_standby_that_there_is_no_room_for_rests_and_then_follows_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made again at once, it would fill the host again. A move that waits for it hears that it is not ready."""
    monkeypatch.setattr(under_test, "REST_S", 0.05)

    async def story() -> None:
        memory, told = Memory(), Told()
        standby = standing_by(memory, told)
        while told.ready != [True]:
            await asyncio.sleep(0)
        assert 400 == standby.resident_bytes
        standby.rest()
        standby.rest()
        assert 0 == standby.resident_bytes, "it is not blamed twice"
        while told.ready[-1]:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (1, 1) == (memory.emptied, memory.followed)
        while memory.followed < 2:
            await asyncio.sleep(0.01)
        assert ([True, False, True], False) == (told.ready, standby.rests)
        await standby.take()

    asyncio.run(asyncio.wait_for(story(), timeout=30))


@pytest.mark.parametrize("turns", range(8))
def test_who_takes_over_from_a_standby_that_begins_to_rest_gets_all_or_nothing(turns: int) -> None:
    """Half of a state would be taken for the whole of it."""

    async def story() -> None:
        memory, told = Memory(), Told()
        standby = standing_by(memory, told)
        while told.ready != [True]:
            await asyncio.sleep(0)
        standby.rest()
        for _ in range(turns):
            await asyncio.sleep(0)
        taken, _ = await standby.take()
        assert taken.is_open != bool(memory.emptied)
        assert 1 == memory.followed

    asyncio.run(asyncio.wait_for(story(), timeout=30))


def test_the_rest_of_a_standby_outlasts_the_move_that_waits_for_it() -> None:
    """So the move is given up, and its target told to follow no longer, before it fills the host again."""
    assert MoveParams().warming_ms_max / 1_000 < under_test.REST_S
