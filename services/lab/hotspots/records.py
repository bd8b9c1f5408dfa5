"""Records at the sources, results at the sinks, by one clock: what each record took, second by second.

A record belongs to the second in which it was sent. One whose result has not come counts with its age so far.
"""

import json
import threading
import time
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from placement.fits.arrays import Array, Flags
from services.lab.hotspots.flows import BOUND_MS, USERS, record, sink_of, source_of

TICK_S = 0.005
POLL_S = 0.2
SECOND_US = 1_000_000
BOUND_US = int(BOUND_MS * 1e3)


@dataclass(slots=True)
class Trips:
    """Of one flow: when records were sent, ascending and each at another microsecond, and when their results came."""

    sent_us: list[int] = field(default_factory=list)
    came_us: dict[int, int] = field(default_factory=dict)

    def send(self, now_us: int) -> int:
        """One more; its name, which is when it was sent."""
        sent_us = max(now_us, self.sent_us[-1] + 1 if self.sent_us else 0)
        self.sent_us.append(sent_us)
        return sent_us

    def come(self, sent_us: int, now_us: int) -> None:
        """A result. A move may repeat it: the first one counts."""
        self.came_us.setdefault(sent_us, now_us)

    def is_late(self, now_us: int) -> bool:
        """Whether the bound is broken now: by the mean of the last second of records that it has passed for."""
        until_us = now_us - BOUND_US
        begin, end = (bisect_right(self.sent_us, at_us) for at_us in (until_us - SECOND_US, until_us))
        recent = [self._took_us(sent_us, now_us) for sent_us in self.sent_us[begin:end]]
        return bool(recent) and sum(recent) / len(recent) > BOUND_US

    def late(self, first: int, seconds: int, steps: int) -> Flags:
        """The same at the end of each step from the first second on, so many steps a second, by what was known then."""
        ends_us = (first * SECOND_US + (step + 1) * SECOND_US // steps for step in range(seconds * steps))
        return np.array([self.is_late(end_us) for end_us in ends_us])

    def latencies_ms(self, first: int, seconds: int, *, now_us: int) -> Array:
        """Mean of the records of each second from the first on; 0 where none was sent."""
        sent_us = np.array([each for each in self.sent_us if each // SECOND_US >= first], dtype=np.int64)
        place = sent_us // SECOND_US - first
        sent_us, place = sent_us[place < seconds], place[place < seconds]
        took_us = np.array([self._took_us(each, now_us) for each in sent_us.tolist()], dtype=float)
        sums, counts = (np.bincount(place, weights, seconds) for weights in (took_us, None))
        return np.asarray(sums / np.maximum(counts, 1) / 1e3)

    def missing(self, first: int, seconds: int) -> int:
        """Records of this time without a result."""
        return sum(
            first <= sent_us // SECOND_US < first + seconds and sent_us not in self.came_us for sent_us in self.sent_us
        )

    def _took_us(self, sent_us: int, now_us: int) -> int:
        return min(self.came_us.get(sent_us, now_us), now_us) - sent_us


@dataclass(slots=True)
class Records:
    """All flows at once. First an even load, each flow's `per_s`; after `begin`, records at the moments given to it."""

    trips: dict[str, Trips]
    per_s: Array
    seed: int
    faults: list[Exception] = field(default_factory=list)
    """What ended the sender or the reader before its time."""
    _due_s: Sequence[Array] = ()
    _begun_s: float | None = None
    _stop: threading.Event = field(default_factory=threading.Event)

    def begin(self, due_s: Sequence[Array]) -> None:
        """From now on: of each flow the moments, in seconds from now, at which a record is due."""
        self._due_s = due_s
        self._begun_s = time.monotonic()

    def send(self, bootstrap: str) -> None:
        """Until `stop`."""
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
        rng, last_s = np.random.default_rng(self.seed), time.monotonic()
        done = [0] * len(self.trips)
        while not self._stop.wait(TICK_S):
            now_s = time.monotonic()
            if self._begun_s is None:
                counts = rng.poisson(self.per_s * (now_s - last_s)).tolist()
            else:
                due = [int(np.searchsorted(each_s, now_s - self._begun_s)) for each_s in self._due_s]
                counts, done = [after - before for after, before in zip(due, done, strict=True)], due
            last_s = now_s
            for (flow, trips), count in zip(self.trips.items(), counts, strict=True):
                for user in rng.integers(0, USERS, count).tolist():
                    _produce(producer, flow, user, trips)
            producer.poll(0)
        producer.flush(10)

    def read(self, bootstrap: str) -> None:
        """Results, until `stop`."""
        settings = {"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "log_level": 0}
        consumer = Consumer({**settings, "enable.auto.commit": False, "isolation.level": "read_uncommitted"})
        trips = {sink_of(flow): each for flow, each in self.trips.items()}
        consumer.assign([TopicPartition(topic, 0, 0) for topic in trips])
        while not self._stop.is_set():
            # One by one: to consume several would wait for the last of them, or for the timeout.
            message = consumer.poll(POLL_S)
            if message is not None and message.error() is None:
                sent_us = json.loads(message.value() or b"{}")["sent"]
                trips[str(message.topic())].come(sent_us, time.time_ns() // 1_000)
        consumer.close()

    def stop(self) -> None:
        """End both."""
        self._stop.set()


def _produce(producer: Producer, flow: str, user: int, trips: Trips) -> None:
    sent_us = trips.send(time.time_ns() // 1_000)
    value = json.dumps(record(user, sent_us))
    while True:
        try:
            return producer.produce(source_of(flow), value, f"u{user}")
        except BufferError:
            producer.poll(0.01)


@contextmanager
def flowing(bootstrap: str, flows: Sequence[str], per_s: Array, *, seed: int) -> Iterator[Records]:
    """Records of these flows, whose topics exist, from here to the end of the context."""
    records = Records({flow: Trips() for flow in flows}, per_s, seed)

    def work(on: Callable[[str], None]) -> None:
        try:
            on(bootstrap)
        except Exception as fault:  # noqa: BLE001 - whoever waits for its figures must hear of it
            records.faults.append(fault)

    threads = [threading.Thread(target=work, args=(on,), daemon=True) for on in (records.send, records.read)]
    for thread in threads:
        thread.start()
    try:
        yield records
    finally:
        records.stop()
        for thread in threads:
            thread.join()
