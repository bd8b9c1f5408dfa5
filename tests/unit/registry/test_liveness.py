"""Which hosts live, asked by a command whose clock may be wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from services.registry import liveness
from services.registry.liveness import live_hosts
from topics.catalogue import METRICS_HOSTS
from topics.messages import HostMetrics, Moments

LONG_AGO_MS = 1_000_000
"""By any clock that a machine has today."""


class Broker:
    """`log`: who reported, and when that was appended; `later` come while somebody waits for them."""

    def __init__(self) -> None:
        self.log: list[tuple[str, int]] = []
        self.later: list[tuple[str, int]] = []
        self._at = 0

    def list_topics(self, *, timeout: float) -> Any:
        return SimpleNamespace(topics={METRICS_HOSTS.name: None})

    def get_watermark_offsets(self, _: TopicPartition, *, timeout: float) -> tuple[int, int]:
        return 0, len(self.log)

    def offsets_for_times(self, wanted: list[TopicPartition], *, timeout: float) -> list[TopicPartition]:
        (at,) = wanted
        found = next((number for number, (_, at_ms) in enumerate(self.log) if at_ms >= at.offset), -1)
        return [TopicPartition(at.topic, 0, found)]

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._at = partitions[0].offset

    def poll(self, _: float) -> Any:
        if self._at >= len(self.log) and self.later:
            self.log.append(self.later.pop(0))
        if self._at >= len(self.log):
            return self._record(None, 0, SimpleNamespace(code=lambda: KafkaError._PARTITION_EOF))
        self._at += 1
        return self._record(*self.log[self._at - 1], None)

    def _record(self, host: str | None, at_ms: int, error: Any) -> Any:
        row = HostMetrics(
            host=host or "x",
            boot_id="1",
            second=1,
            cpu=0.5,
            memory_bytes=1,
            capacity=1.0,
            operators=0,
            loop_delay_ms=Moments(0, 0.0, 0.0),
            loop_delay_ms_max=0.0,
            clock_offset_ms=0.0,
        )
        value = METRICS_HOSTS.codec.encode(row, topic=METRICS_HOSTS.name) if host else b"garbage"
        values = {"topic": METRICS_HOSTS.name, "partition": 0, "offset": self._at - 1, "error": error, "value": value}
        return SimpleNamespace(
            **{name: lambda each=each: each for name, each in values.items()}, timestamp=lambda: (2, at_ms)
        )


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    found = Broker()

    @contextmanager
    def reader(_: str) -> Iterator[Any]:
        yield found

    monkeypatch.setattr(liveness, "reader", reader)
    return found


def test_a_wrong_clock_takes_nobody_for_dead_and_no_dead_host_for_alive(broker: Broker) -> None:
    """On a laptop five seconds ahead every host of the cluster was silent."""
    broker.log = [("gone", LONG_AGO_MS - 5_001), ("late", LONG_AGO_MS - 4_000), ("", LONG_AGO_MS - 10)]
    broker.later = [("a", LONG_AGO_MS)]
    assert ["a", "late"] == sorted(live_hosts("nowhere", silent_s=5.0))


def test_how_long_a_host_may_be_silent_is_the_clusters_setting(broker: Broker) -> None:
    broker.log = [("slow", LONG_AGO_MS - 9_000)]
    broker.later = [("a", LONG_AGO_MS)]
    assert ["a", "slow"] == sorted(live_hosts("nowhere", silent_s=10.0))


def test_where_no_report_comes_nobody_lives(broker: Broker) -> None:
    """However new the last one is by the clock of whoever asks."""
    broker.log = [("a", LONG_AGO_MS)]
    assert {} == live_hosts("nowhere", silent_s=0.05)
    broker.log = []
    assert {} == live_hosts("nowhere", silent_s=60.0), "and who never heard of any need not wait"
