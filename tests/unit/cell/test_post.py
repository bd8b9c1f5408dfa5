"""When the post of a host counts as lagging."""

import asyncio
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition

from placement.scent import Announce
from services.host.cell.post import Post, inbox_of
from services.process.clock import BrokerClock
from topics.ants.envelope import Contents, Travelling, seal
from topics.ants.gate import Gate
from topics.catalogue import ANTS_ROUTING

KEY = b"k" * 32
NOW_MS = 1_000_000.0
PATIENCE_S = 20.0


class Fetches:
    """Gives one bunch of records after the other, then nothing for ever."""

    def __init__(self, *sent_ms: float, replays: int = 0) -> None:
        """`replays`: of the first bunch, after all others."""
        self._bunches = [self._bunch(number, at_ms) for number, at_ms in enumerate(sent_ms)]
        self._bunches += self._bunches[:1] * replays
        self.are_over = asyncio.Event()

    def _bunch(self, number: int, sent_ms: float) -> dict[TopicPartition, list[Any]]:
        topic = ANTS_ROUTING.name
        contents = Contents("edge", "b1", number, sent_ms, (Travelling(Announce("mid"), 0, sent_ms),))
        value = ANTS_ROUTING.codec.encode(seal(contents, key=KEY, topic=topic, target="mid"), topic=topic)
        at = TopicPartition(topic, inbox_of("mid"))
        return {at: [SimpleNamespace(key=b"mid", value=value, offset=number)]}

    async def getmany(self, *, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        if self._bunches:
            return self._bunches.pop(0)
        self.are_over.set()
        await asyncio.Event().wait()
        raise AssertionError


def lags_after(*sent_ms: float, replays: int = 0) -> bool:
    async def run() -> bool:
        gate = Gate("mid", KEY, opened_ms=0.0)
        clock = BrokerClock(local=lambda: NOW_MS)
        post = Post("127.0.0.1:1", gate, "b2", clock, on_contents=lambda contents, came_ms: None)
        fetches = Fetches(*sent_ms, replays=replays)
        post._consumer = fetches  # type: ignore[assignment]
        running = asyncio.create_task(post.run())
        async with asyncio.timeout(PATIENCE_S):
            await fetches.are_over.wait()
        running.cancel()
        return post.is_lagging

    return asyncio.run(run())


def test_ants_that_come_late_mean_lag() -> None:
    assert not lags_after(NOW_MS - 10)
    assert lags_after(NOW_MS - 5_000)


def test_ants_that_come_too_late_to_be_let_in_mean_lag_too() -> None:
    """A lag that sets in at once, as after a stall, brings nothing but such ants: it looked like no lag at all."""
    assert lags_after(NOW_MS - 40_000)


def test_the_lag_is_over_with_the_first_ant_that_comes_in_time() -> None:
    assert not lags_after(NOW_MS - 40_000, NOW_MS - 10)


def test_a_replay_means_no_lag() -> None:
    """Whoever writes old ants to the topics, again and again, must not keep this host's leaders from sending theirs."""
    assert not lags_after(NOW_MS - 40_000, NOW_MS - 10, replays=1)
