"""A host over its memory limit takes memory from those who are to blame for it, and from nobody else."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from services.host import memory_watch as watch_module
from services.host.ahead import Ahead
from services.host.memory_watch import MemoryWatch

LIMIT = 1_000


class Part:
    """A standby, the memory of a task that does not run yet, or a task."""

    def __init__(self, resident_bytes: int) -> None:
        self.resident_bytes = resident_bytes
        self.told: list[str] = []

    def rest(self) -> None:
        self.told.append("rest")

    def fail(self, error: Exception) -> None:
        self.told.append(str(error))

    refuse = fail


def segment(*, followed: list[Part] = [], rebuilt: list[Part] = [], running: list[Part] = []) -> Any:  # noqa: B006
    """A segment with these partitions."""
    seats = [SimpleNamespace(rebuilt=each, refuse=each.refuse) for each in rebuilt]
    return SimpleNamespace(
        plan=SimpleNamespace(segment=SimpleNamespace(id="shop.1")),
        followed=lambda: dict(enumerate(followed)),
        seats=dict(enumerate([*seats, *(SimpleNamespace(rebuilt=None) for _ in running)])),
        tasks=lambda: dict(enumerate(running)),
    )


def relieved(used_bytes: int, *segments: Any) -> None:
    MemoryWatch(LIMIT, lambda: segments, Ahead())._relieve(used_bytes)


def test_a_standby_rests_before_anybody_is_parked() -> None:
    """Nobody needs it. It was not looked at, and one running partition after another was parked for it."""
    small, standby, other, running = Part(10), Part(400), Part(500), Part(600)
    relieved(1_500, segment(followed=[small], running=[running]), segment(followed=[standby], rebuilt=[other]))
    assert (["rest"], [], [], []) == (standby.told, small.told, other.told, running.told)


def test_what_is_rebuilt_is_parked_before_its_neighbours() -> None:
    """A partition that does not fit was tried again after its pause, and then a neighbour was parked for it."""
    standby, large, running = Part(1), Part(400), Part(600)
    relieved(1_500, segment(followed=[standby], rebuilt=[Part(300), large], running=[running]))
    assert ([], []) == (standby.told, running.told)
    (told,) = large.told
    assert told.startswith("the host takes 0 MB of the 0 MB that it may; the state of this partition is being rebuilt")
    assert "raise --memory-limit" in told


def test_of_those_that_run_the_largest_is_parked() -> None:
    parts = [Part(400), Part(500)]
    relieved(1_500, segment(running=parts))
    assert [0, 1] == [len(part.told) for part in parts]


def test_who_has_little_is_not_parked_for_what_is_no_state() -> None:
    """It would give nearly nothing back, and stand still for nothing; so would the next one, and all others."""
    parts = [Part(20), Part(0), Part(29)]
    relieved(1_500, segment(running=parts))
    assert [0, 0, 0] == [len(part.told) for part in parts]


def test_many_small_states_are_too_much_together() -> None:
    """If none of them gave way the kernel would end the host, with all of them."""
    parts = [Part(20) for _ in range(30)]
    relieved(1_500, segment(running=parts))
    assert 1 == sum(len(part.told) for part in parts)


@pytest.mark.parametrize(("garbage_bytes", "parked"), [(600, 0), (100, 1)])
def test_nobody_is_parked_for_garbage(monkeypatch: pytest.MonkeyPatch, garbage_bytes: int, parked: int) -> None:
    """Of the 1,500 bytes that are taken, 1,000 are allowed."""
    used, largest = 1_500, Part(500)

    def collect() -> None:
        nonlocal used
        used -= garbage_bytes

    async def story() -> None:
        watch = MemoryWatch(LIMIT, lambda: [segment(running=[Part(1), largest])], Ahead())
        watch._process = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=used))  # type: ignore[assignment]
        running = asyncio.create_task(watch.run())
        began_s = time.monotonic()
        while used == 1_500 and time.monotonic() < began_s + 10:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        running.cancel()

    monkeypatch.setattr(watch_module, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(watch_module, "gc", SimpleNamespace(collect=collect))
    asyncio.run(story())
    assert parked == len(largest.told)
