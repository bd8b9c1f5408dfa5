"""Which hosts live: those that have reported within the last seconds."""

from confluent_kafka import TopicPartition

from services.registry.snapshot import TIMEOUT_S, offsets_since, read_to_end, reader
from services.settings import SILENT_S
from topics import catalogue
from topics.errors import MessageError
from topics.messages import HostMetrics

SILENT_MS_MAX = int(SILENT_S * 1e3)


def live_hosts(bootstrap: str, *, now_ms: int) -> dict[str, HostMetrics]:
    """The last report of each host that lives, by name."""
    topic = catalogue.METRICS_HOSTS
    live: dict[str, HostMetrics] = {}
    with reader(bootstrap) as consumer:
        if topic.name not in consumer.list_topics(timeout=TIMEOUT_S).topics:
            return {}
        since = TopicPartition(topic.name, 0, now_ms - SILENT_MS_MAX)
        (found,) = offsets_since(consumer, [since])
        if found.offset < 0:  # nothing is as new as that
            return {}
        for record in read_to_end(consumer, [TopicPartition(topic.name, 0)], starts=lambda at: found.offset):
            try:
                row = topic.codec.decode(record.value(), topic=topic.name, partition=0, offset=record.offset() or 0)
            except MessageError:
                continue
            live[row.host] = row
    return live
