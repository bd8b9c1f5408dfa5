"""A tally: records of many keys to several flows, and what each flow has counted of them. It knows what is right.

Every record has a key of its partition; a flow counts by key. So its newest result for a key must be what was sent, and
each result one more than the one before. Only committed results count.
"""

import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from confluent_kafka import Consumer, Producer, TopicPartition

from services.lab.dataplane.ground import BenchError, wait_until

TICK_S = 0.005
FLUSH_S = 30.0
TEXT = """
flow: NAME
sources:
  packets: {topic: NAME-packets, key: src}
operators:
  traffic: {op: aggregate, input: packets, by: [src], emit: {n: count()}}
sinks:
  out: {input: traffic, topic: NAME-traffic}
"""
"""One segment with state, whose partitions are those of the source."""


def source_of(flow: str) -> str:
    """Its topic."""
    return f"{flow}-packets"


def sink_of(flow: str) -> str:
    """Its topic."""
    return f"{flow}-traffic"


@dataclass(slots=True)
class Counts:
    """Of one flow: what was sent and what came back, by key; when results came, by partition."""

    partitions: int
    sent: dict[str, int] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    at_s: dict[int, list[float]] = field(default_factory=dict)
    out_of_turn: int = 0

    def came(self, key: str, count: int, *, at_s: float) -> None:
        """A result."""
        self.out_of_turn += count != self.counted.get(key, 0) + 1
        self.counted[key] = count
        self.at_s.setdefault(int(key.partition("-")[0]), []).append(at_s)

    def wrong(self) -> int:
        """For how many keys the newest result is not what was sent."""
        return sum(self.counted.get(key) != count for key, count in self.sent.items())

    def again_s(self, partition: int, since_s: float) -> float:
        """When results came again after the longest silence since then."""
        times = [since_s, *(each_s for each_s in self.at_s.get(partition, ()) if each_s >= since_s)]
        if len(times) < 2:
            raise BenchError(f"no result of partition {partition} any more")
        return max(pairwise(times), key=lambda pair: pair[1] - pair[0])[1]


@dataclass(slots=True)
class Tally:
    """Sends to all flows at once, and reads what they make of it."""

    flows: Mapping[str, Counts]
    keys: int
    rate_per_s: int
    _stop: threading.Event = field(default_factory=threading.Event)
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def settle(self, *, timeout_s: float) -> int:
        """Hold the records back until all results are there, or never will be; how many keys are wrong. Then go on."""
        with self._sending:  # what was begun has been flushed when this is got
            try:
                wait_until(lambda: not self.wrong(), timeout_s=timeout_s, what="all results", poll_s=0.2)
            except BenchError:
                return self.wrong()
            return 0

    def wrong(self) -> int:
        """Keys with a wrong count, of all flows."""
        return sum(each.wrong() for each in self.flows.values())

    def out_of_turn(self) -> int:
        """Results that did not continue the one before them, of all flows."""
        return sum(each.out_of_turn for each in self.flows.values())

    def send(self, bootstrap: str) -> None:
        """Each key once; then an even rate for each partition, until `stop`."""
        producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2, "log_level": 0}
        )
        number = 0
        with self._sending:
            for number in range(self.keys):
                self._record(producer, number)
            producer.flush(FLUSH_S)
        last_s = time.monotonic()
        while not self._stop.wait(TICK_S):
            with self._sending:
                due = int((time.monotonic() - last_s) * self.rate_per_s)
                for _ in range(min(due, self.rate_per_s)):  # what a rest held back is left out, not made up for
                    number += 1
                    self._record(producer, number)
                if due:
                    last_s = time.monotonic()
                    producer.flush(FLUSH_S)

    def _record(self, producer: Producer, number: int) -> None:
        for flow, counts in self.flows.items():
            for partition in range(counts.partitions):
                key = f"{partition}-{number % self.keys:06d}"
                while True:
                    try:
                        producer.produce(source_of(flow), b'{"src":"%s"}' % key.encode(), key, partition)
                        break
                    except BufferError:
                        producer.poll(0.05)
                counts.sent[key] = counts.sent.get(key, 0) + 1
        producer.poll(0)

    def read(self, bootstrap: str) -> None:
        """Results, until `stop`."""
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 20,
                "log_level": 0,
            }
        )
        flows = {sink_of(flow): counts for flow, counts in self.flows.items()}
        consumer.assign(
            [TopicPartition(topic, number, 0) for topic, c in flows.items() for number in range(c.partitions)]
        )
        while not self._stop.is_set():
            records = consumer.consume(1_000, timeout=0.02)
            at_s = time.monotonic()
            for record in records:
                if record.error() is None:
                    row = json.loads(record.value() or b"{}")
                    flows[str(record.topic())].came(row["src"], row["n"], at_s=at_s)
        consumer.close()

    def stop(self) -> None:
        """End both."""
        self._stop.set()


@contextmanager
def tallying(bootstrap: str, flows: Sequence[str], *, partitions: int, keys: int, rate_per_s: int) -> Iterator[Tally]:
    """A tally of these flows, whose topics exist, from here to the end of the context."""
    tally = Tally({flow: Counts(partitions) for flow in flows}, keys, rate_per_s)
    threads = [threading.Thread(target=work, args=(bootstrap,), daemon=True) for work in (tally.send, tally.read)]
    for thread in threads:
        thread.start()
    try:
        yield tally
    finally:
        tally.stop()
        for thread in threads:
            thread.join()
