"""Who holds a lease now, as the log of leases tells it: what commands ask before they write beside somebody.

Nobody is taken for gone by this machine's clock alone, which may be wrong: a holder whose time seems to be over gets
the length of its lease to be heard again.
"""

import time

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Message as Record

from services.registry.lease import LeaseLog
from services.registry.snapshot import POLL_S, TIMEOUT_S, read_to_end, reader
from topics.catalogue import LEASES
from topics.errors import MessageError


def lease_holder(bootstrap: str, lease: str) -> str | None:
    """The name of the process that holds it; None if nobody does."""
    log = LeaseLog(is_whole=True)
    with reader(bootstrap) as consumer:
        if LEASES.name not in consumer.list_topics(timeout=TIMEOUT_S).topics:
            return None
        newest_ms, lasts_ms = 0, 0
        for record in read_to_end(consumer, [TopicPartition(LEASES.name, 0)]):
            newest_ms = record.timestamp()[1]
            lasts_ms = max(lasts_ms, _apply(log, lease, record))
        if log.is_free(lease, at_ms=newest_ms):
            return None
        if log.is_free(lease, at_ms=time.time_ns() // 1_000_000) and not _is_heard(consumer, log, lease, lasts_ms):
            return None
    return log.holdings[lease].holder.partition("/")[0]


def _is_heard(consumer: Consumer, log: LeaseLog, lease: str, patience_ms: int) -> bool:
    """Whether anybody claims or renews the lease within this time."""
    deadline_s = time.monotonic() + patience_ms / 1e3
    while time.monotonic() < deadline_s:
        record = consumer.poll(POLL_S)
        if record is not None and record.error() is None and _apply(log, lease, record):
            return True
    return False


def _apply(log: LeaseLog, lease: str, record: Record) -> int:
    """Takes an entry in. For how many milliseconds it gives the lease to somebody; 0 if it does not."""
    offset = record.offset() or 0
    try:
        entry = LEASES.codec.decode(record.value(), topic=LEASES.name, partition=0, offset=offset)
    except MessageError:
        return 0
    counts = log.apply(entry, offset=offset, appended_ms=record.timestamp()[1])
    return entry.duration_ms if counts and entry.lease == lease and entry.act != "release" else 0
