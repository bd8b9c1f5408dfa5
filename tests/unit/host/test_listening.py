"""Whether a task listens, so that silence means that nothing came, is told by a clock that nobody can set."""

import asyncio
import time
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition

from services.host.fetch import BlockConsumer, _fetch_or_hang_up
from services.host.segment import LISTENING_S, Segment

AT, OTHER = TopicPartition("orders", 0), TopicPartition("clicks", 0)


class Assignment:
    """What aiokafka notes of each partition."""

    active = True

    def __init__(self) -> None:
        self.states: dict[TopicPartition, Any] = {at: SimpleNamespace(timestamp=None) for at in (AT, OTHER)}
        self.tps = set(self.states)

    def state_value(self, at: TopicPartition) -> Any:
        return self.states[at]


async def fetched(assignment: Assignment) -> None:
    """A fetch of both that was answered for one of them, by a clock that is an hour ahead."""

    async def fetch(_assignment: Any, _node_id: int, _request: Any) -> bool:
        assignment.states[AT].timestamp = int(time.time() * 1_000) + 3_600_000
        return True

    request = SimpleNamespace(topics=[("orders", [(0, 17, 1_000)]), ("clicks", [(0, 5, 1_000)])])
    fetcher = SimpleNamespace(_fetch_waiters=[], _client=SimpleNamespace(_conns={}))
    await _fetch_or_hang_up(fetcher, fetch, assignment, 1, request)


def test_a_clock_that_is_set_back_makes_no_silence_of_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """For an hour after that a broker that is away would seem to have said that nothing comes: windows would close."""
    assignment = Assignment()
    asyncio.run(fetched(assignment))
    consumer: Any = SimpleNamespace(
        _subscription=SimpleNamespace(subscription=SimpleNamespace(assignment=assignment)),
    )
    consumer.heard_s = lambda at: BlockConsumer.heard_s(consumer, at)
    segment: Any = SimpleNamespace(_consumer=consumer)

    def listens(*partitions: TopicPartition, unread: Collection[TopicPartition] = ()) -> bool:
        task: Any = SimpleNamespace(positions=dict.fromkeys(partitions, 0))
        return Segment._is_listening(segment, task, unread)

    assert listens(AT)
    assert not listens(AT, OTHER)
    assert listens(AT, OTHER, unread={OTHER})  # what waits to be taken is not asked for again meanwhile
    assert not listens(AT, TopicPartition("gone", 0))
    later_s = time.monotonic() + LISTENING_S + 0.1
    monkeypatch.setattr("services.host.segment.time.monotonic", lambda: later_s)
    assert not listens(AT)
