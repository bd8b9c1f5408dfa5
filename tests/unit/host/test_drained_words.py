"""A host's word that it has drained a partition: the new owner waits for it."""

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from services.host import host as host_module
from services.host.host import Host, HostParams
from services.host.seat import Seat
from services.host.tenant import Tenant
from topics.messages import Handover, Placement

PATIENCE_S = 20.0
MINE = Placement(
    segment="shop.1",
    partition=0,
    epoch=2,
    host="b",
    flow="shop",
    revision=1,
    operators=("large",),
    placed_ms=1,
    origin="a",
)


class Part:
    """Any part of the host that has nothing to do here."""

    def __init__(self, *_: Any, **__: Any) -> None: ...
    async def fresh(self) -> None: ...


class Publisher(Part):
    """Nothing arrives while `fails` is above zero; each try takes one off."""

    fails = 0

    def __init__(self, *_: Any) -> None:
        self.tried: list[Sequence[Any]] = []

    async def send(self, _: Any, messages: Sequence[Any], *, now_ms: int) -> object | None:
        self.tried.append(messages)
        self.fails -= 1
        return None if self.fails >= 0 else object()


class Ending:
    """A segment with two partitions, each of which has drained when the test says so."""

    standbys = ()

    def __init__(self) -> None:
        done: Any = SimpleNamespace(processed_ms=7)
        self.seats = {partition: Seat(partition, 1, state="running", task=done) for partition in (0, 1)}
        self.drained = {partition: asyncio.Event() for partition in self.seats}
        self.is_closed = asyncio.Event()

    async def stop(self) -> None:
        await asyncio.gather(*map(self._release, self.seats))
        await self.is_closed.wait()

    async def _release(self, partition: int) -> None:
        self.seats[partition].state = "draining"
        await self.drained[partition].wait()
        self.seats[partition].state = "stopped"


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Publisher:
    """All that a host made by `host` says goes there."""
    for name in ("Broker", "RegistryFollower", "CellService"):
        monkeypatch.setattr(host_module, name, Part)
    made = Publisher()
    monkeypatch.setattr(host_module, "Publisher", lambda *_: made)
    return made


def host() -> Host:
    return Host(HostParams("a", "r", 1.0, "nowhere:1", key=b"k" * 32))


@pytest.fixture
def play(
    monkeypatch: pytest.MonkeyPatch, publisher: Publisher
) -> Callable[[int, Callable[[Host], None]], list[Sequence[Handover]]]:
    """What a host tries to say of a partition that it has let go; `meanwhile` is called after the first try."""
    monkeypatch.setattr(host_module, "CONNECT_PAUSE_S", 0.01)

    def run(fails: int, meanwhile: Callable[[Host], None]) -> list[Sequence[Handover]]:
        publisher.fails = fails

        async def story() -> None:
            one = host()
            one.view.take(MINE)
            one._hand_over()
            one._hand_over()
            async with asyncio.timeout(PATIENCE_S):
                while not publisher.tried:
                    await asyncio.sleep(0)
                meanwhile(one)
                await asyncio.gather(*one._sending)
            one._hand_over()
            assert not one._sending

        asyncio.run(story())
        return publisher.tried

    return run


def test_the_word_is_said_again_until_it_has_arrived(play: Any) -> None:
    """Once lost, it left the partition to nobody until the move ran out of time; once arrived, it is not repeated."""
    tried = play(2, lambda _: None)
    assert 3 == len(tried)
    assert [("shop.1", 0, 1, "a")] == [(each.segment, each.partition, each.epoch, each.host) for each in tried[-1]]


def test_nothing_is_said_that_nobody_waits_for_any_more(play: Any) -> None:
    """The move was given up, or the new owner runs already."""
    back = msgspec.structs.replace(MINE, host="a", epoch=3, origin=None)
    assert 1 == len(play(5, lambda host: host.view.take(back)))


def test_a_host_that_stops_does_not_wait_for_it(play: Any) -> None:
    """Who is gone need not say that it has let go."""
    assert 2 >= len(play(5, lambda host: host.stop()))


def test_who_is_named_again_says_it_again_for_the_newer_epoch(publisher: Publisher) -> None:
    """Another revision in the middle of a move: its owner waits for the same host as the move's target did."""

    async def story() -> None:
        one = host()
        for epoch, owner in ((2, "b"), (3, "c")):
            one.view.take(msgspec.structs.replace(MINE, epoch=epoch, host=owner))
            one._hand_over()
            await asyncio.gather(*one._sending)

    asyncio.run(story())
    assert [1, 2] == [word.epoch for words in publisher.tried for word in words]


def test_of_a_segment_that_ends_only_the_partition_that_has_drained_is_told(publisher: Publisher) -> None:
    """Any news of the registry made the host say that all of them were drained, and their new owners fenced it in the
    middle of a commit: what it had in hand was done twice."""
    both = [MINE, msgspec.structs.replace(MINE, partition=1)]

    async def said(one: Host) -> list[tuple[int, int | None]]:
        """What the host has told by now, if there is news of the registry."""
        for _ in range(10):
            await asyncio.sleep(0)
        one._hand_over()
        await asyncio.gather(*one._sending)
        return [(word.partition, word.stopped_ms) for words in publisher.tried for word in words]

    async def story() -> None:
        one, segment = host(), Ending()
        house: Any = SimpleNamespace(reports=SimpleNamespace(remove=lambda _: None))
        tenant = Tenant("shop.1", house)
        tenant.segment = segment  # type: ignore[assignment]
        running = asyncio.create_task(tenant.run())  # nothing is wanted, so it ends
        one._tenants["shop.1"] = tenant, running
        for placement in both:
            one.view.take(placement)
        async with asyncio.timeout(PATIENCE_S):
            assert [] == await said(one)
            segment.drained[1].set()
            assert [(1, 7)] == await said(one)
            segment.drained[0].set()
            assert [(1, 7), (0, 7)] == await said(one)
            segment.is_closed.set()
            await running
        assert tenant.segment is None

    asyncio.run(story())
