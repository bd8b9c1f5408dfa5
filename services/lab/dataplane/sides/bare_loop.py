"""Side: consume, process, produce in a loop, with confluent-kafka and msgspec; at least once, a commit a second."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec
from confluent_kafka import Consumer, Message, Producer

POLL_RECORDS_MAX = 10_000
COMMIT_EVERY_S = 1.0
DEFAULT_LINGER_MS = 5
"""Librdkafka's own. Without it, results leave at once, in smaller batches."""

FETCH_BACKOFF_MS = 10
"""By default a partition of which 100,000 records are fetched ahead is left alone for a second, however soon these are
worked off: half of the time the loop waited for nothing."""

Result = tuple[bytes | None, bytes]


class Packet(msgspec.Struct, gc=False):
    """The fields that the workloads read."""

    src: str
    dst: str
    proto: str
    bytes: int
    dport: int


read = msgspec.json.Decoder(Packet).decode
encode = msgspec.json.Encoder().encode


def filter_project(messages: Iterable[Message]) -> Iterable[Result]:
    """TCP packets with a payload, four fields of them."""
    for message in messages:
        packet = read(message.value() or b"")
        if packet.proto == "tcp" and packet.bytes > 0:
            result = {"src": packet.src, "peer": packet.dst, "bytes": packet.bytes, "port": packet.dport}
            yield message.key(), encode(result)


class CountSum:
    """Count and sum of bytes by source. `changed` goes to the changelog with the next commit."""

    def __init__(self) -> None:
        self.totals: dict[str, list[int]] = {}
        self.changed: set[str] = set()

    def __call__(self, messages: Iterable[Message]) -> Iterable[Result]:
        totals = self.totals
        for message in messages:
            packet = read(message.value() or b"")
            total = totals.get(packet.src)
            if total is None:
                total = totals[packet.src] = [0, 0]
            total[0] += 1
            total[1] += packet.bytes
            self.changed.add(packet.src)
            yield message.key(), encode({"src": packet.src, "n": total[0], "bytes": total[1]})


def run(arguments: Sequence[str], *, linger_ms: float) -> None:
    """Until the process is stopped."""
    bootstrap, workload, source, sink, group = arguments
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": FETCH_BACKOFF_MS,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": linger_ms,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    counting = CountSum()
    process: Callable[[Iterable[Message]], Iterable[Result]] = counting if workload == "count-sum" else filter_project
    consumer.subscribe([source])
    commit_at_s = time.monotonic() + COMMIT_EVERY_S
    while True:
        first = consumer.poll(0.1)
        messages = [first, *consumer.consume(POLL_RECORDS_MAX, timeout=0)] if first is not None else []
        for key, value in process(messages):
            try:
                producer.produce(sink, value, key)
            except BufferError:
                producer.poll(0.1)
                producer.produce(sink, value, key)
        producer.poll(0)
        if time.monotonic() >= commit_at_s:
            for name in counting.changed:
                producer.produce(f"{sink}-changelog", encode(counting.totals[name]), name)
            counting.changed.clear()
            producer.flush()
            if messages:
                consumer.commit(asynchronous=False)
            commit_at_s = time.monotonic() + COMMIT_EVERY_S


if __name__ == "__main__":
    if "--collect-rarely" in sys.argv:
        from services.operators.collector import collect_rarely

        collect_rarely()
    run(sys.argv[1:6], linger_ms=0 if "--at-once" in sys.argv else DEFAULT_LINGER_MS)
