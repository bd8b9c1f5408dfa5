"""A host's word that it has drained a partition: the new owner waits for it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from services.host import host as host_module
from services.host.host import Host, HostParams
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


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[Host], None]], list[Sequence[Handover]]]:
    """What a host tries to say of a partition that it has let go; `meanwhile` is called after the first try."""
    for name in ("Broker", "RegistryFollower", "CellService"):
        monkeypatch.setattr(host_module, name, Part)
    monkeypatch.setattr(host_module, "CONNECT_PAUSE_S", 0.01)

    def run(fails: int, meanwhile: Callable[[Host], None]) -> list[Sequence[Handover]]:
        publisher = Publisher()
        publisher.fails = fails
        monkeypatch.setattr(host_module, "Publisher", lambda *_: publisher)

        async def story() -> None:
            one = Host(HostParams("a", "r", 1.0, "nowhere:1", key=b"k" * 32))
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
