"""Who holds a lease now, as the log of leases tells it."""

import time

from confluent_kafka import TopicPartition

from services.registry.lease import LeaseLog
from services.registry.snapshot import TIMEOUT_S, read_to_end, reader
from topics.catalogue import LEASES


def lease_holder(bootstrap: str, lease: str) -> str | None:
    """The name of the process that holds it; None if nobody does."""
    log = LeaseLog(is_whole=True)
    with reader(bootstrap) as consumer:
        if LEASES.name not in consumer.list_topics(timeout=TIMEOUT_S).topics:
            return None
        for record in read_to_end(consumer, [TopicPartition(LEASES.name, 0)]):
            offset = record.offset() or 0
            entry = LEASES.codec.decode(record.value(), topic=LEASES.name, partition=0, offset=offset)
            log.apply(entry, offset=offset, appended_ms=record.timestamp()[1])
    if log.is_free(lease, at_ms=time.time_ns() // 1_000_000):
        return None
    return log.holdings[lease].holder.partition("/")[0]
