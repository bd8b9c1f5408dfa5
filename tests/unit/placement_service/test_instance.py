"""An instance and its parts, without a broker."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from services.placement import instance
from services.placement.instance import Instance
from services.placement.params import PlacementParams
from services.placement.situation import Situation
from services.process.clock import BrokerClock
from services.registry.changes import Entry
from services.registry.decisions import decision
from services.registry.fenced import FencedError
from tests.unit.registry_messages import registration
from topics import catalogue
from topics.messages import Decision, Placement

PATIENCE_S = 20.0
BROKER_MS = 5_000_000.0


class Part:
    """Any part that runs in the background: for ever, or until it `breaks`. `diary`: what the parts did, in order."""

    diary: list[str]
    breaks: asyncio.Event | None = None

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    async def run(self, *_: Any) -> None:
        try:
            await (self.breaks or asyncio.Event()).wait()
        finally:
            self.diary.append(f"{type(self).__name__.lower()} ended")
        raise RuntimeError("no more")


class Follower(Part):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def catch_up(self) -> None: ...
    async def reread(self) -> None: ...

    async def fresh(self) -> None:
        if self.breaks is not None and self.breaks.is_set():
            await asyncio.Event().wait()  # as the real one, which waits for what `run` reads


class Keeper(Part):
    """It always has the lease, and knows the broker's time."""

    clock = BrokerClock(local=lambda: BROKER_MS)

    def want(self, lease: str, *, after_s: float = 0.0) -> None: ...
    async def drop(self, lease: str) -> None: ...
    def term(self, lease: str) -> int:
        return 7

    def newest_term(self, lease: str) -> int | None:
        return None


class Watch(Part):
    def live(self) -> frozenset[str]:
        return frozenset()

    def lost(self, hosts: set[str], *, owners: set[str], now_ms: int) -> dict[str, int]:
        return {}


class Edges(Part):
    def __init__(self, *_: Any, situation: Callable[[], Situation], **__: Any) -> None:
        self.situation = situation

    def take_told(self) -> list[Any]:
        self.diary.append(f"it is {self.situation().now_ms}")
        return []


class Writer(Part):
    async def fence(self) -> None: ...

    async def write(self, entries: list[Entry]) -> None:
        for topic, message in entries:
            topic.codec.encode(message, topic=topic.name)
        self.diary += [f"{message.kind} {message.flow}" for _, message in entries if isinstance(message, Decision)]

    async def close(self) -> None:
        self.diary.append("writer closed")


class Cluster(Part):
    async def ensure(self, topics: Any) -> None: ...


PARTS: dict[str, type[Part]] = {
    "RegistryFollower": Follower,
    "LeaseKeeper": Keeper,
    "Watch": Watch,
    "EdgeLeaders": Edges,
    "FencedWriter": Writer,
    "Broker": Cluster,
}


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, asyncio.Event], list[str]]:
    """Puts the parts above in the place of the real ones; the named one breaks at the event."""

    def put(victim: str, breaks: asyncio.Event) -> list[str]:
        diary: list[str] = []
        for name, part in PARTS.items():
            more = {"diary": diary, "breaks": breaks if name == victim else None}
            monkeypatch.setattr(instance, name, type(part.__name__, (part,), more))
        return diary

    return put


@pytest.mark.parametrize("victim", ["Watch", "RegistryFollower", "EdgeLeaders"])
def test_an_active_instance_of_which_a_part_has_ended_gives_its_lease_back_and_ends(
    play: Callable[[str, asyncio.Event], list[str]], victim: str
) -> None:
    """An instance that hears nobody and keeps its lease keeps the others from acting, for ever."""
    breaks = asyncio.Event()
    diary = play(victim, breaks)

    async def run() -> Instance:
        one = Instance(PlacementParams("p", "127.0.0.1:1"))
        running = asyncio.create_task(one.run())
        async with asyncio.timeout(PATIENCE_S):
            while not one.is_active:
                await asyncio.sleep(0.01)
            breaks.set()
            with pytest.raises(RuntimeError, match="no more"):
                await running
        return one

    assert not asyncio.run(run()).is_active
    assert diary.index("writer closed") < diary.index("keeper ended"), "it must not write after its lease"


def test_an_active_instance_goes_by_the_brokers_time(play: Callable[[str, asyncio.Event], list[str]]) -> None:
    """Hosts do so too: by its own clock it would wait for words that seem too old for ever, or believe old ones."""
    diary = play("nobody", asyncio.Event())

    async def run() -> None:
        one = Instance(PlacementParams("p", "127.0.0.1:1"))
        running = asyncio.create_task(one.run())
        async with asyncio.timeout(PATIENCE_S):
            while not diary:
                await asyncio.sleep(0.01)
            one.stop()
            await running

    asyncio.run(run())
    assert f"it is {BROKER_MS:.0f}" == diary[0]


def test_a_flow_of_which_something_cannot_be_written_holds_up_no_other(
    play: Callable[[str, asyncio.Event], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended the instance, and each that took over from it: nothing was placed any more."""
    diary = play("nobody", asyncio.Event())
    wide = Placement(
        segment="wide.1",
        partition=0,
        epoch=1,
        host="a",
        flow="wide",
        revision=1,
        operators=tuple(f"operator-{number}" for number in range(10_000)),
        placed_ms=1,
    )
    told: list[Entry] = [(catalogue.PLACEMENTS, wide)]
    told += [decision("placed", "what", "why", by="p", now_ms=1, flow=flow) for flow in ("wide", "slim")]
    monkeypatch.setattr(instance.EdgeLeaders, "take_told", lambda _: [told.pop(0) for _ in list(told)])

    async def run() -> None:
        one = Instance(PlacementParams("p", "127.0.0.1:1"))
        running = asyncio.create_task(one.run())
        async with asyncio.timeout(PATIENCE_S):
            while not diary:
                await asyncio.sleep(0.01)
            assert one.is_active
            one.stop()
            await running

    asyncio.run(run())
    assert ["placed slim", "refused wide"] == diary[:2]


def test_an_instance_that_has_to_read_the_registry_anew_lets_another_one_act_meanwhile(
    play: Callable[[str, asyncio.Event], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One write had failed, for a broker's hiccup. It kept the lease while it read a month of decisions, and nothing
    was placed although the other instance had all of it in memory."""
    diary = play("nobody", asyncio.Event())
    held = [7]

    def want(_: object, lease: str, *, after_s: float = 0.0) -> None:
        diary.append(f"wants {lease}, others first: {after_s > 0}")

    async def drop(_: object, lease: str) -> None:
        diary.append(f"let go of {lease}")
        held.clear()

    async def reread(_: object) -> None:
        diary.append("read anew")

    async def write(*_: object) -> None:
        raise FencedError("a hiccup", "wait")

    told: list[Entry] = [decision("placed", "what", "why", by="p", now_ms=1, flow="f")]
    monkeypatch.setattr(instance.LeaseKeeper, "want", want)
    monkeypatch.setattr(instance.LeaseKeeper, "drop", drop)
    monkeypatch.setattr(instance.LeaseKeeper, "term", lambda *_: held[0] if held else None)
    monkeypatch.setattr(instance.RegistryFollower, "reread", reread)
    monkeypatch.setattr(instance.FencedWriter, "write", write)
    monkeypatch.setattr(instance.EdgeLeaders, "take_told", lambda _: told)

    async def run() -> None:
        one = Instance(PlacementParams("p", "127.0.0.1:1"))
        running = asyncio.create_task(one.run())
        async with asyncio.timeout(PATIENCE_S):
            while diary.count("wants placement, others first: True") == 0:
                await asyncio.sleep(0.01)
            assert not one.is_active
            one.stop()
            await running

    asyncio.run(run())
    course = ["let go of placement", "writer closed", "read anew", "wants placement, others first: True"]
    assert ["wants placement, others first: False", *course] == diary[:5]


def test_of_decisions_an_instance_keeps_what_it_asks_for() -> None:
    """It has no use for the others. Leaders tell by the minute that a flow stays where it is, and the topic keeps a
    month: all of it stood in the memory of each instance."""
    view = Instance(PlacementParams("p", "127.0.0.1:1"))._view
    told = [("kept", None), ("kept", "r-1"), ("leader", None), ("leader-refused", None), ("failed_over", None)]
    for kind, request in told:
        view.take(decision(kind, "what", "why", by="a", now_ms=1, flow="f", request=request)[1])
    assert told[1:4] == [(each.kind, each.request) for each in view.decisions.values()]
    view.take(registration("a"))
    assert ["a"] == list(view.hosts)
