"""A stand-in for Kafka's consumer: a cluster with one topic of one partition."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from topics.messages import Message
from topics.topic import Topic


class OneTopic:
    """`log`: messages, or None for garbage, and when each was appended; `later` come while somebody waits for them."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.is_there = True
        self.log: list[tuple[Message | None, int]] = []
        self.later: list[tuple[Message | None, int]] = []
        self.read = 0
        """Records that were given out."""
        self._at = 0

    def stand_in(self, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever makes a reader in this module gets this one."""

        @contextmanager
        def reader(_: str) -> Iterator[OneTopic]:
            yield self

        monkeypatch.setattr(module, "reader", reader)

    def list_topics(self, *, timeout: float) -> Any:
        return SimpleNamespace(topics={self.topic.name: None} if self.is_there else {})

    def get_watermark_offsets(self, _: TopicPartition, *, timeout: float) -> tuple[int, int]:
        return 0, len(self.log)

    def offsets_for_times(self, wanted: list[TopicPartition], *, timeout: float) -> list[TopicPartition]:
        (at,) = wanted
        found = next((number for number, (_, at_ms) in enumerate(self.log) if at_ms >= at.offset), -1)
        return [TopicPartition(at.topic, 0, found)]

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._at = partitions[0].offset if partitions else 0

    def poll(self, _: float) -> Any:
        if self._at >= len(self.log) and self.later:
            self.log.append(self.later.pop(0))
        if self._at >= len(self.log):
            return self._record(None, 0, SimpleNamespace(code=lambda: KafkaError._PARTITION_EOF))
        self._at, self.read = self._at + 1, self.read + 1
        return self._record(*self.log[self._at - 1], None)

    def _record(self, message: Message | None, at_ms: int, error: Any) -> Any:
        name = self.topic.name
        values = {
            "topic": name,
            "partition": 0,
            "offset": self._at - 1,
            "error": error,
            "key": self.topic.key_of(message) if message is not None else None,
            "value": self.topic.codec.encode(message, topic=name) if message is not None else b"garbage",
            "timestamp": (2, at_ms),
        }
        return SimpleNamespace(**{each: lambda value=value: value for each, value in values.items()})
