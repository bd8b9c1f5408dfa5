"""What hosts measured around some time, as their topics keep it."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition

from services.registry.errors import RegistryError
from services.registry.snapshot import TIMEOUT_S, offsets_since, read_to_end, reader
from topics import catalogue
from topics.errors import MessageError
from topics.messages import LinkMetrics, OperatorMetrics
from topics.topic import Topic

SPAN_S = 30
APPENDED_LATE_S = 10
"""A row is written soon after its second; by so much a host's clock may be ahead of the broker's, or the row late."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Rows of the seconds from `since_s` up to, and without, `until_s`."""

    since_s: int
    until_s: int
    operators: tuple[OperatorMetrics, ...]
    links: tuple[LinkMetrics, ...]


def read_recorded(bootstrap: str, *, until_ms: int) -> Recorded:
    """The rows of the last seconds before that time. Raises RegistryError if there are none."""
    until_s = until_ms // 1_000
    since_s = until_s - SPAN_S
    operators = read_rows(bootstrap, catalogue.METRICS_OPERATORS, since_s, until_s)
    links = read_rows(bootstrap, catalogue.METRICS_LINKS, since_s, until_s)
    if not operators:
        raise RegistryError(
            "no operator reported in the seconds before that time", "choose another --from; metrics are kept three days"
        )
    return Recorded(since_s, until_s, tuple(operators), tuple(links))


def read_rows(bootstrap: str, topic: Topic, since_s: int, until_s: int) -> list:
    """The rows of a metrics topic whose second is in this time; what can't be read is left out."""
    found = []
    with reader(bootstrap) as consumer:
        known = consumer.list_topics(timeout=TIMEOUT_S).topics.get(topic.name)
        if known is None:
            return []
        starts = _offsets(consumer, topic, known.partitions, (since_s - APPENDED_LATE_S) * 1_000)
        stops = _offsets(consumer, topic, known.partitions, (until_s + APPENDED_LATE_S) * 1_000)
        places = [TopicPartition(topic.name, number) for number in sorted(starts)]
        records = read_to_end(
            consumer,
            places,
            starts=lambda at: starts[at.partition],
            stops=lambda at: stops.get(at.partition, sys.maxsize),
        )
        for record in records:
            try:
                row = topic.codec.decode(record.value(), topic=topic.name, partition=0, offset=record.offset() or 0)
            except MessageError:
                continue
            if since_s <= row.second < until_s:
                found.append(row)
    return found


def _offsets(consumer: Consumer, topic: Topic, partitions: Iterable[int], at_ms: int) -> dict[int, int]:
    """Partition -> the first record that is as new; without those in which none is."""
    wanted = [TopicPartition(topic.name, number, max(0, at_ms)) for number in partitions]
    return {each.partition: each.offset for each in offsets_since(consumer, wanted) if each.offset >= 0}
