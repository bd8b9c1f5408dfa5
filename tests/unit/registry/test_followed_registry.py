"""Reading the registry again and again: only what is new is read."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from services.registry import asking
from services.registry.asking import wait_answers
from services.registry.snapshot import FollowedRegistry
from topics.catalogue import DECISIONS, HOSTS
from topics.messages import Decision


def decided(number: int, request: str = "r") -> Decision:
    return Decision(
        decision=f"d-{number}", kind="moved", by="p", decided_ms=number, what="", why="", flow="f", request=request
    )


class Consumer:
    """A cluster of one topic. `read` counts the records that were given out."""

    def __init__(self) -> None:
        self.log: list[Decision] = []
        self.names = [DECISIONS.name]
        self.read = 0
        self._at = 0

    def list_topics(self, *, timeout: float) -> Any:
        return SimpleNamespace(topics=dict.fromkeys(self.names))

    def get_watermark_offsets(self, _: TopicPartition, *, timeout: float) -> tuple[int, int]:
        return 0, len(self.log)

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._at = partitions[0].offset if partitions else 0

    def poll(self, _: float) -> Any:
        if self._at >= len(self.log):
            return self._record(None, SimpleNamespace(code=lambda: KafkaError._PARTITION_EOF))
        self._at, self.read = self._at + 1, self.read + 1
        return self._record(self.log[self._at - 1], None)

    def _record(self, message: Decision | None, error: Any) -> Any:
        topic, offset = DECISIONS.name, self._at - 1
        value = DECISIONS.codec.encode(message, topic=topic) if message is not None else None
        key = DECISIONS.key_of(message) if message is not None else None
        values = {"topic": topic, "partition": 0, "offset": offset, "error": error, "key": key, "value": value}
        values["timestamp"] = (2, self._at)
        return SimpleNamespace(**{name: lambda each=each: each for name, each in values.items()})


@pytest.fixture
def consumer() -> Consumer:
    return Consumer()


def test_what_was_read_is_not_read_again(consumer: Consumer) -> None:
    """The history of a cluster is long, and commands that wait look five times a second."""
    registry = FollowedRegistry(consumer, [DECISIONS])  # type: ignore[arg-type]
    consumer.log = [decided(number) for number in range(50)]
    assert 50 == len(registry.read().decisions)
    consumer.log.append(decided(50))
    for _ in range(5):
        assert 51 == len(registry.read().decisions)
    assert 51 == consumer.read


def test_a_topic_that_comes_later_is_read_then(consumer: Consumer) -> None:
    registry = FollowedRegistry(consumer, [DECISIONS, HOSTS])  # type: ignore[arg-type]
    consumer.names = []
    assert {} == registry.read().decisions
    consumer.names, consumer.log = [DECISIONS.name], [decided(1)]
    assert ["d-1"] == list(registry.read().decisions)


def test_answers_are_waited_for_without_reading_the_history_again(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only those on the request count."""
    consumer.log = [decided(number, "another") for number in range(30)]

    def passing(_: float) -> None:
        consumer.log.append(decided(len(consumer.log)))

    class Followed:
        def __enter__(self) -> FollowedRegistry:
            return FollowedRegistry(consumer, [DECISIONS])  # type: ignore[arg-type]

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(asking, "followed_registry", lambda *_: Followed())
    monkeypatch.setattr(asking.time, "sleep", passing)
    answers = wait_answers("nowhere", "r", lambda found: len(found) >= 3, deadline_s=float("inf"))
    assert ["d-30", "d-31", "d-32"] == [each.decision for each in answers]
    assert 33 == consumer.read
