"""Reading the registry up to where it ends now, once or again and again: what commands need."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as Record

from services.registry.errors import RegistryError
from services.registry.view import CORE, RegistryView
from topics.catalogue import DECISIONS
from topics.topic import Topic

T = TypeVar("T")

TIMEOUT_S = 15.0
POLL_S = 0.2

_PASSING = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,  # what the client says of itself when a broker has just come back
)


def read_registry(bootstrap: str, *more: Topic) -> RegistryView:
    """The registry as it is now, with these further topics; it is empty where Stigmergy was never used."""
    with followed_registry(bootstrap, *CORE, *more) as registry:
        return registry.read()


@contextmanager
def followed_registry(
    bootstrap: str, *topics: Topic, decisions_since_ms: int | None = None
) -> Iterator["FollowedRegistry"]:
    """These topics of the registry, to be read more than once; of decisions, if you like, only the newest."""
    with reader(bootstrap) as consumer:
        yield FollowedRegistry(consumer, topics, decisions_since_ms=decisions_since_ms)


class FollowedRegistry:
    """Each `read` goes on from where the last one ended."""

    def __init__(self, consumer: Consumer, topics: Sequence[Topic], *, decisions_since_ms: int | None = None) -> None:
        self._consumer = consumer
        self._decisions_since_ms = decisions_since_ms
        self._view = RegistryView()
        self._missing = {topic.name for topic in topics}
        self._next: dict[str, int] = {}

    def read(self) -> RegistryView:
        """All that has been written by now; the same view each time."""
        if self._missing:
            known = self._consumer.list_topics(timeout=TIMEOUT_S).topics
            self._next |= {name: self._start(name) for name in sorted(self._missing & known.keys())}
            self._missing -= self._next.keys()
        partitions = [TopicPartition(name, 0) for name in self._next]
        for record in read_to_end(self._consumer, partitions, starts=lambda at: self._next[at.topic]):
            topic, partition, offset = str(record.topic()), record.partition() or 0, record.offset() or 0
            _, appended_ms = record.timestamp()
            self._view.apply(
                topic, record.key(), record.value(), partition=partition, offset=offset, appended_ms=appended_ms
            )
            self._next[topic] = offset + 1
        return self._view

    def _start(self, topic: str) -> int:
        """Where to begin: at the beginning if nothing is as new as was asked for, which may be the asker's clock."""
        if topic != DECISIONS.name or self._decisions_since_ms is None:
            return 0
        (found,) = offsets_since(self._consumer, [TopicPartition(topic, 0, self._decisions_since_ms)])
        return max(found.offset, 0)


@contextmanager
def reader(bootstrap: str, *, group: str = "stig.reader") -> Iterator[Consumer]:
    """A consumer that joins no group (the client only demands its name); what Kafka refuses becomes a RegistryError."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 100,
        "log_level": 0,
    }
    try:
        with closing(Consumer(settings)) as consumer:
            yield consumer
    except KafkaException as fault:
        raise RegistryError(f"cannot read from {bootstrap}: {fault.args[0].str()}") from fault


def read_to_end(
    consumer: Consumer,
    partitions: Sequence[TopicPartition],
    *,
    starts: Callable[[TopicPartition], int] | None = None,
    stops: Callable[[TopicPartition], int] | None = None,
) -> Iterator[Record]:
    """All records of these partitions from their start (or from `starts`) to where they end now (or before `stops`)."""
    ends = {}
    for at in partitions:
        low, high = watermarks(consumer, at)
        at.offset = max(low, starts(at)) if starts is not None else low
        high = min(high, stops(at)) if stops is not None else high
        if at.offset < high:
            ends[at.topic, at.partition] = high
    consumer.assign([at for at in partitions if (at.topic, at.partition) in ends])
    while ends:
        record = consumer.poll(POLL_S)
        if record is None:
            continue
        place = (str(record.topic()), record.partition() or 0)
        error = record.error()
        if error is None:
            if place not in ends:
                continue  # it goes on after where it was to end, while others have not yet come to theirs
            yield record
            if (record.offset() or 0) + 1 >= ends.get(place, 0):
                ends.pop(place, None)
        elif error.code() == KafkaError._PARTITION_EOF:  # the end may be a transaction's marker, which is no record
            ends.pop(place, None)
        elif error.fatal() or not error.retriable():
            raise KafkaException(error)


def watermarks(consumer: Consumer, at: TopicPartition) -> tuple[int, int]:
    """The first and the next offset."""
    return patiently(lambda: consumer.get_watermark_offsets(at, timeout=TIMEOUT_S))


def offsets_since(consumer: Consumer, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    """The first offset of each partition that is as new as the time in milliseconds that stands in its place."""
    return patiently(lambda: consumer.offsets_for_times(list(partitions), timeout=TIMEOUT_S)) if partitions else []


def patiently(ask: Callable[[], T]) -> T:
    """What the broker answers; a topic that was made just now may have no leader yet."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return ask()
        except KafkaException as fault:
            if fault.args[0].code() not in _PASSING or time.monotonic() > deadline_s:
                raise
            time.sleep(POLL_S)
