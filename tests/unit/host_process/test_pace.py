"""A host that plays a slower one: its work takes as much longer as its capacity says, for all its tasks together."""

import asyncio
import time

from services.host.main import parse
from services.host.pace import FULL_PACE, Pace


def elapsed_s(slowness: float, tasks: int, worked_s: float) -> float:
    """The best of three: a machine that stands still for a moment is not the host's fault."""

    async def play() -> None:
        pace = Pace(slowness)
        await asyncio.gather(*(pace.rest(worked_s) for _ in range(tasks)))

    took_s = []
    for _ in range(3):
        begin_s = time.monotonic()
        asyncio.run(play())
        took_s.append(time.monotonic() - begin_s)
    return min(took_s)


def test_tasks_of_a_slow_host_wait_for_each_other() -> None:
    """One processor: four tasks with 10 ms of work each keep a host of a fifth of the speed busy for 160 ms more."""
    assert 0.16 <= elapsed_s(5.0, 4, 0.010) < 0.16 + 2.0


def test_a_host_at_its_own_pace_never_rests() -> None:
    """What everybody uses must cost nothing."""
    assert elapsed_s(FULL_PACE.slowness, 100, 10.0) < 2.0


def test_only_a_host_that_plays_its_capacity_is_slowed(monkeypatch) -> None:
    """A capacity alone is a claim about the machine; --play-capacity makes it true."""
    monkeypatch.setenv("STIGMERGY_CLUSTER_KEY", "k" * 64)
    monkeypatch.setattr("services.host.main.calibrate", lambda: 2.0)
    given = ["--name", "a", "--region", "r", "--bootstrap", "nowhere:1"]
    slowness = [
        parse([*given, *more])[0].slowness
        for more in ([], ["--capacity", "0.1"], ["--capacity", "0.1", "--play-capacity"], ["--play-capacity"])
    ]
    assert [1.0, 1.0, 20.0, 1.0] == slowness
