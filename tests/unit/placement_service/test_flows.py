"""Reading flows of the registry: beside the loop that acts, and patiently."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaException

from services.placement import flows
from services.placement.flows import RETRY_S_MAX, Flows
from services.placement.params import RECOUNT_S
from services.registry import submit
from topics.messages import FlowRevision

PATIENCE_S = 20.0
TEXT = """
flow: shop
sources:
  orders: {topic: orders, key: user}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
sinks:
  out: {input: large, topic: results}
"""
SHOP = FlowRevision(flow="shop", revision=1, state="submitted", text=TEXT, delivery="at_least_once", changed_ms=0)


class Cluster:
    """Topics as the test says; `asked` counts the questions, and `answers` holds them up while it is not set."""

    def __init__(self) -> None:
        self.topics = {"results": 2}
        self.asked = 0
        self.answers = threading.Event()
        self.answers.set()

    def topic_partitions(self, _: object) -> dict[str, int]:
        self.asked += 1
        assert self.answers.wait(PATIENCE_S)
        return dict(self.topics)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    monkeypatch.setattr(flows, "topic_partitions", found.topic_partitions)
    monkeypatch.setattr(flows, "connect", lambda _: None)
    return found


def play(
    story: Callable[[Flows, Callable[..., Any]], Coroutine[Any, Any, None]], revision: FlowRevision = SHOP
) -> None:
    """`look(now_s)` looks, lets what began come to its end, and looks again."""

    async def run() -> None:
        revisions = {revision.flow: revision}
        reader = Flows("nowhere", on_read=lambda: None)

        async def look(now_s: float) -> dict[str, str]:
            told = reader.look(revisions, now_s=now_s)
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
            return told | reader.look({}, now_s=now_s)

        await story(reader, look)
        await reader.stop()

    asyncio.run(run())


def test_a_flow_that_cannot_be_read_is_tried_again_after_longer_and_longer_pauses(cluster: Cluster) -> None:
    """The active instance looks ten times a second: all topics of the cluster were listed each time."""

    async def story(_: Flows, look: Any) -> None:
        assert "orders" in (await look(0.0))["shop"]
        tries_s, now_s = [0.0], 0.0
        while now_s < 200.0:
            now_s = round(now_s + 0.1, 1)
            before = cluster.asked
            assert {} == await look(now_s), "the same trouble is told once"
            if cluster.asked > before:
                tries_s.append(now_s)
        pauses_s = [round(b - a, 1) for a, b in pairwise(tries_s)]
        assert [1.0, 2.0, 4.0, 8.0, 16.0, RETRY_S_MAX, RETRY_S_MAX] == pauses_s[:7]

    play(story)


def test_a_flow_is_read_when_its_topic_has_come(cluster: Cluster) -> None:
    async def story(reader: Flows, look: Any) -> None:
        await look(0.0)
        cluster.topics["orders"] = 2
        await look(1.0)
        assert [2] == list(reader.known["shop"].partitions.values())
        asked = cluster.asked
        await look(RECOUNT_S - 0.1)
        assert asked == cluster.asked, "once"

    play(story)


def test_a_withdrawn_flow_is_known_whatever_became_of_its_topics(cluster: Cluster) -> None:
    """Else nobody would free its partitions, if its user deleted the topics first."""

    async def story(reader: Flows, look: Any) -> None:
        await look(0.0)
        assert "withdrawn" == reader.known["shop"].revision.state
        assert 0 == cluster.asked

    play(story, msgspec.structs.replace(SHOP, state="withdrawn"))


def test_nobody_waits_while_a_flow_is_read(cluster: Cluster) -> None:
    """Moves and lost hosts do not wait for a broker that is slow to list its topics."""

    async def story(reader: Flows, look: Any) -> None:
        cluster.topics["orders"] = 2
        cluster.answers.clear()
        for _ in range(3):
            assert {} == reader.look({"shop": SHOP}, now_s=0.0)
            await asyncio.sleep(0.01)
        assert {} == reader.known
        cluster.answers.set()
        await look(0.0)
        assert ["shop"] == list(reader.known)
        assert 1 == cluster.asked

    play(story)


def test_a_sink_that_cannot_be_made_in_time_is_told_and_tried_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time-out ended the instance, and then each of the others."""
    cluster.topics = {"orders": 2}
    late = SimpleNamespace(create_topics=lambda wanted, **_: {each.topic: Future() for each in wanted})
    monkeypatch.setattr(flows, "connect", lambda _: late)
    monkeypatch.setattr(submit, "TIMEOUT_S", 0.01)

    async def story(reader: Flows, look: Any) -> None:
        assert "topic results could not be made" in (await look(0.0))["shop"]
        cluster.topics["results"] = 2
        assert {} == await look(1.0)
        assert ["shop"] == list(reader.known)

    play(story)


def test_a_topic_that_grows_is_seen_and_one_that_shrinks_or_is_gone_is_not(cluster: Cluster) -> None:
    """Records in the new partitions are for somebody; but what runs can't give up partitions that it has read."""

    async def story(reader: Flows, look: Any) -> None:
        for number, (found, counted) in enumerate([(2, 2), (5, 5), (None, 5), (3, 5), (8, 8)]):
            cluster.topics = {"results": 2} | ({"orders": found} if found else {})
            before = cluster.asked
            assert {} == await look(number * RECOUNT_S)
            assert 1 == cluster.asked - before, "one request, however many flows there are"
            known = reader.known["shop"]
            assert ([counted], {"orders": counted}) == (list(known.partitions.values()), known.topics)

    play(story)


def test_a_broker_that_does_not_answer_is_asked_again_later(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance must not end because a count failed."""

    async def story(reader: Flows, look: Any) -> None:
        cluster.topics["orders"] = 2
        await look(0.0)

        def silent(_: object) -> dict[str, int]:
            raise KafkaException("nobody answers")

        with monkeypatch.context() as patched:
            patched.setattr(flows, "topic_partitions", silent)
            assert {} == await look(RECOUNT_S)
        cluster.topics["orders"] = 3
        await look(2 * RECOUNT_S)
        assert {"orders": 3} == reader.known["shop"].topics

    play(story)


def test_a_flow_that_says_how_many_partitions_there_are_stays_so_and_it_is_told_once(cluster: Cluster) -> None:
    """Its author must correct it: the number is part of how its records are keyed."""
    pinned = msgspec.structs.replace(SHOP, text=TEXT.replace("key: user", "key: user, partitions: 2"))

    async def story(reader: Flows, look: Any) -> None:
        cluster.topics["orders"] = 2
        await look(0.0)
        cluster.topics["orders"] = 4
        assert "the broker says 4" in (await look(RECOUNT_S))["shop"]
        assert {} == await look(2 * RECOUNT_S)
        assert {"orders": 2} == reader.known["shop"].topics

    play(story, pinned)


def test_a_withdrawn_flow_is_counted_too_while_its_topics_are_there(cluster: Cluster) -> None:
    """Others may read what it still runs."""

    async def story(reader: Flows, look: Any) -> None:
        await look(0.0)
        await look(RECOUNT_S)
        assert {} == reader.known["shop"].topics
        cluster.topics["orders"] = 2
        await look(2 * RECOUNT_S)
        assert {"orders": 2} == reader.known["shop"].topics

    play(story, msgspec.structs.replace(SHOP, state="withdrawn"))
