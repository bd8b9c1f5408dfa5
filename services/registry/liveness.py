"""Which hosts live: those that have reported within the last seconds, by the broker's time alone.

Hosts report once a second. "Now" is when the next report is appended, and that is waited for: the clock of whoever asks
may be wrong, and the time of the last report tells nothing if it was long ago.
"""

import time

from confluent_kafka import Consumer, TopicPartition

from services.registry.snapshot import POLL_S, TIMEOUT_S, offsets_since, read_to_end, reader, watermarks
from topics import catalogue
from topics.errors import MessageError
from topics.messages import HostMetrics

TOPIC = catalogue.METRICS_HOSTS


def live_hosts(bootstrap: str, *, silent_s: float) -> dict[str, HostMetrics]:
    """The last report of each host that lives, by name. `silent_s`: after so long without a report one does not."""
    live: dict[str, HostMetrics] = {}
    with reader(bootstrap) as consumer:
        if TOPIC.name not in consumer.list_topics(timeout=TIMEOUT_S).topics:
            return {}
        now_ms = next_report_ms(consumer, patience_s=silent_s)
        if now_ms is None:
            return {}
        (found,) = offsets_since(consumer, [TopicPartition(TOPIC.name, 0, now_ms - round(silent_s * 1e3))])
        for record in read_to_end(consumer, [TopicPartition(TOPIC.name, 0)], starts=lambda at: found.offset):
            try:
                row = TOPIC.codec.decode(record.value(), topic=TOPIC.name, partition=0, offset=record.offset() or 0)
            except MessageError:
                continue
            live[row.host] = row
    return live


def next_report_ms(consumer: Consumer, *, patience_s: float) -> int | None:
    """When the next report was appended; None if none comes in this time, or none has come for days."""
    first, end = watermarks(consumer, TopicPartition(TOPIC.name, 0))
    if first == end:
        return None
    consumer.assign([TopicPartition(TOPIC.name, 0, end)])
    deadline_s = time.monotonic() + patience_s
    while time.monotonic() < deadline_s:
        record = consumer.poll(POLL_S)
        if record is not None and record.error() is None:
            return record.timestamp()[1]
    return None
