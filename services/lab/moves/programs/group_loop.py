"""Side: a bare consumer group with cooperative-sticky assignment, its state in a dictionary and in a changelog.

What it gets assigned it rebuilds from the changelog's partition before it goes on; results and changes are flushed
before offsets are committed. It ends on SIGTERM, after a last commit, and says good-bye to the group.
"""

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

COMMIT_EVERY_S = 0.5
TIMEOUT_S = 30.0


class Totals:
    """The state of each partition that is assigned."""

    def __init__(self, bootstrap: str, changelog: str) -> None:
        self._bootstrap, self._changelog = bootstrap, changelog
        self.of: dict[int, dict[bytes, list[int]]] = {}

    def rebuild(self, partition: int) -> None:
        """From the changelog, to its present end."""
        state: dict[bytes, list[int]] = {}
        reader = Consumer({"bootstrap.servers": self._bootstrap, "group.id": "none", "enable.partition.eof": True})
        reader.assign([TopicPartition(self._changelog, partition, 0)])
        is_done = False
        while not is_done:
            for message in reader.consume(10_000, timeout=1.0):
                error = message.error()
                if error is None:
                    state[message.key() or b""] = msgspec.json.decode(message.value() or b"")
                is_done = error is not None and error.code() == KafkaError._PARTITION_EOF
        reader.close()
        self.of[partition] = state


def run(arguments: Sequence[str]) -> None:
    """Arguments: broker, source, sink, changelog, group."""
    bootstrap, source, sink, changelog, group = arguments
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0})
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "partition.assignment.strategy": "cooperative-sticky",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6_000,
        }
    )
    totals = Totals(bootstrap, changelog)

    def commit() -> None:
        producer.flush(TIMEOUT_S)
        if totals.of:
            with contextlib.suppress(KafkaException):  # or a rebalance is under way: the next one does it
                consumer.commit(asynchronous=False)

    def assigned(_consumer: Any, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            totals.rebuild(each.partition)
        consumer.incremental_assign(partitions)

    def revoked(_consumer: Any, partitions: list[TopicPartition]) -> None:
        commit()
        for each in partitions:
            totals.of.pop(each.partition, None)
        consumer.incremental_unassign(partitions)

    consumer.subscribe([source], on_assign=assigned, on_revoke=revoked)
    committed_s = time.monotonic()
    while not stop.is_set():
        for message in consumer.consume(1_000, timeout=0.05):
            if message.error() is not None:
                continue
            partition, record = message.partition() or 0, msgspec.json.decode(message.value() or b"")
            src = record["src"]
            count, total = totals.of[partition].get(src.encode(), [0, 0])
            state = totals.of[partition][src.encode()] = [count + 1, total + record["bytes"]]
            producer.produce(sink, msgspec.json.encode({"src": src, "n": state[0], "bytes": state[1]}), src)
            producer.produce(changelog, msgspec.json.encode(state), src, partition)
        producer.poll(0)
        if time.monotonic() > committed_s + COMMIT_EVERY_S:
            committed_s = time.monotonic()
            commit()
    commit()
    consumer.close()


if __name__ == "__main__":
    run(sys.argv[1:6])
