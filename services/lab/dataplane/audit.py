"""Whether a side did the work: its results, key by key and in order, against what the workload's definition gives."""

import uuid
from typing import Any

import msgspec
from confluent_kafka import Consumer, TopicPartition

from services.lab.dataplane.ground import BenchError
from services.lab.dataplane.workloads import PARTITIONS, Counts, Packet, Workload

RESULTS_AUDITED = 40_000
"""Of each partition, from the beginning. A key's records and results are all in one partition, in order."""
POLL_RECORDS_MAX, POLL_S = 10_000, 0.2


def audit(bootstrap: str, workload: Workload, source: str, sink: str, *, count: int = RESULTS_AUDITED) -> None:
    """Raises BenchError at the first key whose results are not those expected, as far as both were read."""
    expected: dict[str, list[Any]] = {}
    counts: Counts = {}
    for packet in _first(bootstrap, source, 2 * count):
        result = workload.result(packet, counts)
        if result is not None:
            expected.setdefault(result["src"], []).append(result)
    found: dict[str, list[Any]] = {}
    for result in _first(bootstrap, sink, count):
        found.setdefault(result["src"], []).append(result)
    if not found:
        raise BenchError(f"no results on {sink}")
    for key, results in found.items():
        wanted = expected.get(key, [])
        common = min(len(wanted), len(results))
        if wanted[:common] != results[:common]:
            at = next(i for i in range(common) if wanted[i] != results[i])
            raise BenchError(f"result {at} of {key} is {results[at]}, expected {wanted[at]}")


def _first(bootstrap: str, topic: str, count: int) -> list[Packet]:
    """Up to this many records of each partition, from the beginning."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    try:
        read: list[Packet] = []
        for partition in range(PARTITIONS):
            consumer.assign([TopicPartition(topic, partition, 0)])
            left, at_end = count, False
            while left and not at_end:
                messages = consumer.consume(min(left, POLL_RECORDS_MAX), timeout=POLL_S)
                values = [message.value() or b"" for message in messages if message.error() is None]
                at_end = len(values) < len(messages)
                read += map(msgspec.json.decode, values)
                left -= len(values)
        return read
    finally:
        consumer.close()
