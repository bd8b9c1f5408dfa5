"""A host fences nobody on what the registry said long ago, and owns nothing that is another's by now."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.host import takeover
from services.host.seat import OverMemoryError, Seat
from services.host.segment import Segment
from services.host.takeover import Title
from services.host.task_context import TaskContext

EPOCH = 7


class World:
    """A registry, a clock, and a task that notes what is done with it."""

    def __init__(self) -> None:
        self.epoch = EPOCH
        """What the registry says; what is known here follows when it is asked."""
        self.known = EPOCH
        self.now_s = 100.0
        self.asked = 0
        self.done: list[str] = []
        self.unprocessed: dict[Any, int] = {}

    def last_report(self, **_: Any) -> None: ...

    async def still_ours(self, _partition: int, epoch: int) -> bool:
        self.asked += 1
        self.known = self.epoch
        return epoch == self.epoch

    async def connect(self) -> None:
        self.done.append("connect")

    async def fence(self) -> None:
        self.done.append("fence")

    async def recover(self, _committed: object) -> int:
        self.done.append("recover")
        return 1

    async def run(self) -> None:
        self.done.append("run")

    async def close(self) -> None:
        self.done.append("close")

    landmarks = None
    has_come_on = False
    positions: dict[Any, int] = {}  # noqa: RUF012 - never written


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(takeover, "time", SimpleNamespace(monotonic=lambda: made.now_s))
    return made


def taken_over(world: World, plan: Any, drained: Any, folder: Path) -> list[str]:
    """What comes of a partition that this host is given while another one drains it; the states that are told."""
    states: list[str] = []

    async def story() -> None:
        title = Title(lambda _partition, epoch: epoch == world.known, world.still_ours, drained)
        segment = Segment(
            plan(),
            TaskContext("127.0.0.1:1"),
            data_folder=folder,
            on_state=lambda _segment, seat: states.append(seat.state),
            title=title,
        )
        segment._new_task = lambda _seat: world  # type: ignore[assignment, method-assign, return-value]
        segment._assign = lambda: None  # type: ignore[method-assign]
        seat = segment.seats[0] = Seat(0, EPOCH, "origin")
        await asyncio.wait_for(segment._keep_running(seat), timeout=20)
        await segment._consumer.stop()

    asyncio.run(story())
    return states


def test_a_warm_target_asks_before_it_fences_and_once_more_while_it_reads(
    world: World, plan: Any, tmp_path: Path
) -> None:
    """The pause holds no question that nobody needs."""

    async def drained(_partition: int, _epoch: int) -> None:
        assert world.asked == 1
        world.now_s += 0.1

    assert "running" in taken_over(world, plan, drained, tmp_path)
    assert ["connect", "fence", "recover", "run", "close"] == world.done
    assert world.asked == 2


def test_a_target_that_was_frozen_while_it_waited_fences_nobody(world: World, plan: Any, tmp_path: Path) -> None:
    """Frozen for 7 s it was taken for lost, and the origin, which had drained, got the partition back and runs it."""

    async def drained(_partition: int, _epoch: int) -> None:
        await asyncio.sleep(0.01)  # it has been told that the partition is ours
        assert world.asked == 1
        world.now_s += 7
        world.epoch += 2

    assert "running" not in taken_over(world, plan, drained, tmp_path)
    assert ["connect", "close"] == world.done


def test_a_wait_that_ended_because_the_epoch_moved_on_is_no_drain(world: World, plan: Any, tmp_path: Path) -> None:
    """What is known here already need not be asked for."""

    async def drained(_partition: int, _epoch: int) -> None:
        await asyncio.sleep(0.01)
        world.known += 1

    taken_over(world, plan, drained, tmp_path)
    assert ["connect", "close"] == world.done


def test_who_has_fenced_too_late_does_not_become_the_owner(
    world: World, plan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was frozen between the answer and the fence."""

    async def drained(_partition: int, _epoch: int) -> None:
        return

    async def frozen_at_the_fence() -> None:
        world.done.append("fence")
        world.epoch += 1

    monkeypatch.setattr(world, "fence", frozen_at_the_fence)
    assert "running" not in taken_over(world, plan, drained, tmp_path)
    assert ["connect", "fence", "recover", "close"] == world.done


@pytest.mark.parametrize("step", ["drained", "recover"])
def test_who_is_refused_while_it_is_made_ready_parks_with_the_reason(
    world: World, plan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Its host has no room for it: what it has read so far is closed, and its neighbours run on."""

    async def drained(_partition: int, _epoch: int) -> None:
        if step == "drained":
            await asyncio.Event().wait()

    async def recover(_committed: object) -> int:
        return await asyncio.Event().wait()

    async def story() -> None:
        told: list[tuple[str, str | None]] = []
        segment = Segment(
            plan(),
            TaskContext("127.0.0.1:1"),
            data_folder=tmp_path,
            on_state=lambda _segment, seat: told.append((seat.state, seat.reason)),
            title=Title(still_ours=world.still_ours, drained=drained),
        )
        segment._new_task = lambda _seat: world  # type: ignore[assignment, method-assign, return-value]
        monkeypatch.setattr(world, "recover", recover)
        seat = segment.seats[0] = Seat(0, EPOCH, "origin")
        seat.running = asyncio.create_task(segment._keep_running(seat))
        for _ in range(50):
            await asyncio.sleep(0)
        seat.refuse(OverMemoryError("no room"))
        seat.refuse(OverMemoryError("again"))
        while seat.state != "parked":
            assert not seat.running.done()
            await asyncio.sleep(0)
        assert ("parked", "no room. It is tried again in 30 s, and at once when it is assigned again") == told[-1]
        assert "close" == world.done[-1]
        seat.refuse(OverMemoryError("it does nothing just now"))
        await segment.release(0)
        await segment._consumer.stop()

    asyncio.run(asyncio.wait_for(story(), timeout=20))


def test_what_is_being_rebuilt_can_be_weighed(plan: Any, tmp_path: Path) -> None:
    """The memory limit was blind to it until it ran."""

    async def story() -> None:
        segment = Segment(plan(), TaskContext("127.0.0.1:1"), data_folder=tmp_path, on_state=lambda *_: None)
        seat = Seat(0, EPOCH)
        task = segment._new_task(seat)
        assert seat.rebuilt is task._memory
        assert 0 == seat.rebuilt.resident_bytes
        await segment._consumer.stop()

    asyncio.run(story())
