"""The registry as it comes in: every message with the moment at which a reader saw it, by one clock.

To read the registry anew for each look would take more processor time than what is measured.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from confluent_kafka import Consumer, TopicPartition

from services.lab.dataplane.ground import wait_until
from services.registry.view import CORE, RegistryView, Slot
from services.tasks import partitions_of
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import Message

T = TypeVar("T")

TOPICS = (*CORE, catalogue.DECISIONS)
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Seen:
    """A message, and when it came (monotonic)."""

    at_s: float
    message: Message


@dataclass(slots=True)
class Watch:
    """`of` asks the registry as it is now; `since` tells what has come."""

    _view: RegistryView = field(default_factory=RegistryView)
    _seen: list[Seen] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, topic: str, key: bytes | None, value: bytes | None, *, offset: int, at_s: float) -> None:
        """One record."""
        with self._lock:
            message = self._view.apply(topic, key, value, partition=0, offset=offset)
            if message is not None:
                self._seen.append(Seen(at_s, message))

    def of(self, ask: Callable[[RegistryView], T]) -> T:
        """What the registry answers; the view is not to be kept."""
        with self._lock:
            return ask(self._view)

    def since(self, at_s: float) -> list[Seen]:
        """What has come since then, in order."""
        with self._lock:
            return [each for each in self._seen if each.at_s >= at_s]

    def until(self, condition: Callable[[RegistryView], bool], *, timeout_s: float, what: str) -> None:
        """Returns when the registry is so. Raises BenchError when that takes too long."""
        wait_until(lambda: self.of(condition), timeout_s=timeout_s, what=what)


def runs(view: RegistryView, slot: Slot, *, at: str | None = None) -> bool:
    """Whether its owner, which is this host if one is given, has said that it runs."""
    placed, told = view.placements.get(slot), view.statuses.get(slot)
    return (
        placed is not None
        and told is not None
        and placed.host is not None
        and at in (None, placed.host)
        and (told.host, told.epoch, told.state) == (placed.host, placed.epoch, "running")
    )


def slots_of(text: str, *, partitions: int = 1) -> frozenset[Slot]:
    """All that a flow consists of, if its sources have so many partitions."""
    graph = parse_graph(text)
    topics = dict.fromkeys((source.topic for source in graph.spec.sources), partitions)
    return frozenset(
        (segment.id, number) for segment in graph.segments for number in range(partitions_of(graph, segment, topics))
    )


@contextmanager
def watching(bootstrap: str) -> Iterator[Watch]:
    """A watch, from here to the end of the context."""
    watch, stop = Watch(), threading.Event()
    reader = threading.Thread(target=_read, args=(bootstrap, watch, stop), daemon=True)
    reader.start()
    try:
        yield watch
    finally:
        stop.set()
        reader.join()


def _read(bootstrap: str, watch: Watch, stop: threading.Event) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic.name, 0, 0) for topic in TOPICS])
    while not stop.is_set():
        records = consumer.consume(500, timeout=POLL_S)
        at_s = time.monotonic()
        for record in records:
            if record.error() is None:
                watch.take(str(record.topic()), record.key(), record.value(), offset=record.offset() or 0, at_s=at_s)
    consumer.close()
