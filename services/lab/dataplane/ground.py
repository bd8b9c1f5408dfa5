"""The ground of all trials: one broker, with the backlog that every side reads."""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from services.lab.bench_operators import packets
from services.lab.dataplane.workloads import PARTITIONS, WORKLOADS, Workload
from topics import admin, catalogue

TIMEOUT_S = 30.0
QUEUE_RECORDS_MAX = 200_000

Say = Callable[[str], None]
"""Told what goes on, in a few words."""


class BenchError(Exception):
    """A trial can't be run, or its results are wrong."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Records that wait on a topic. `results`: how many each workload makes of them."""

    topic: str
    records: int
    results: dict[str, int]


@dataclass(slots=True)
class Ground:
    """A broker, a folder for what processes leave behind, and one for downloads that stays.

    `broker_pids`: whose processor time is the broker's. `broker_data`: the folders that it keeps topics in.
    """

    bootstrap: str
    broker_pids: tuple[int, ...]
    folder: Path
    cache: Path
    say: Say
    warn: Say
    broker_data: tuple[Path, ...] = ()
    client: AdminClient = field(init=False)
    _backlogs: dict[tuple[object, ...], Backlog] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.client = admin.connect(self.bootstrap)
        admin.ensure(self.client, catalogue.shared())

    def new_topic(self, kind: str, partitions: int = PARTITIONS) -> str:
        """A fresh topic, with a name of its own."""
        return self.make_topic(f"{kind}-{uuid.uuid4().hex[:8]}", partitions)

    def make_topic(self, name: str, partitions: int = PARTITIONS) -> str:
        """A topic with this name."""
        # Results carry event times of long ago, which a broker would take for records to be deleted.
        wanted = NewTopic(name, num_partitions=partitions, replication_factor=1, config={"retention.ms": "-1"})
        self.client.create_topics([wanted])[name].result(TIMEOUT_S)
        wait_until(lambda: self._is_led(name), timeout_s=TIMEOUT_S, what=f"topic {name}")
        return name

    def _is_led(self, name: str) -> bool:
        topic = self.client.list_topics(timeout=TIMEOUT_S).topics.get(name)
        return topic is not None and topic.error is None and all(p.leader >= 0 for p in topic.partitions.values())

    def drop_topics(self, containing: str) -> None:
        """Delete all topics with this in their names, so that the disk does not fill."""
        names = [name for name in self.client.list_topics(timeout=TIMEOUT_S).topics if containing in name]
        if names:
            for deleted in self.client.delete_topics(names).values():
                deleted.result(TIMEOUT_S)

    def visible(self, topic: str, *, is_committed: bool, partitions: int = PARTITIONS) -> int:
        """How many records a reader can see, of all or of the committed ones; a transaction's markers count too."""
        wanted = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in range(partitions)}
        isolation = IsolationLevel.READ_COMMITTED if is_committed else IsolationLevel.READ_UNCOMMITTED
        found = self.client.list_offsets(wanted, isolation_level=isolation)
        try:
            return sum(each.result(TIMEOUT_S).offset for each in found.values())
        except KafkaException:  # most likely the client has not yet heard who leads a topic that was made just now
            self.client.list_topics(topic, timeout=TIMEOUT_S)
            return 0

    def backlog(
        self, records: int, seed: int, *, rounds: int = 1, workloads: Sequence[Workload] = WORKLOADS
    ) -> Backlog:
        """Records on a topic, so many times one after the other, made when they are first asked for."""
        asked = (records, seed, rounds, *(each.name for each in workloads))
        if asked not in self._backlogs:
            self._backlogs[asked] = self._new_backlog(records, seed, rounds, workloads)
        return self._backlogs[asked]

    def _new_backlog(self, records: int, seed: int, rounds: int, workloads: Sequence[Workload]) -> Backlog:
        self.say(f"making {records:,} records")
        raws = packets(records, seed)
        topic = self.new_topic("backlog")
        for done in range(rounds):
            self.say(f"writing {records:,} records, {done + 1} of {rounds}")
            self.write(topic, raws)
        return Backlog(
            topic, rounds * records, {workload: rounds * count for workload, count in _results(raws, workloads).items()}
        )

    def write(self, topic: str, raws: Iterable[bytes]) -> None:
        """Write records, keyed by their source address."""
        source_of = msgspec.json.Decoder(_Source).decode
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,  # else a retried batch may come after a later one, and be late
                "linger.ms": 20,
                "batch.size": 200_000,
                "queue.buffering.max.messages": QUEUE_RECORDS_MAX,
                "log_level": 0,  # a new broker's coordinators take a moment; the client library tries again
            }
        )
        faults: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                faults.append(error)

        for raw in raws:
            key = source_of(raw).src
            while True:
                try:
                    producer.produce(topic, raw, key, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(TIMEOUT_S) or faults:
            raise KafkaException(faults[0] if faults else KafkaError(KafkaError._TIMED_OUT))


class _Source(msgspec.Struct):
    src: str


def _results(raws: Sequence[bytes], workloads: Sequence[Workload]) -> dict[str, int]:
    decode = msgspec.json.Decoder().decode
    counts = dict.fromkeys((workload.name for workload in workloads), 0)
    states: dict[str, dict[str, tuple[int, int]]] = {workload.name: {} for workload in workloads}
    for raw in raws:
        packet = decode(raw)
        for workload in workloads:
            counts[workload.name] += workload.result(packet, states[workload.name]) is not None
    return counts


def wait_until(condition: Callable[[], bool], *, timeout_s: float, what: str, poll_s: float = 0.05) -> None:
    """Returns when the condition holds. Raises BenchError when that takes too long."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise BenchError(f"{what}: not in {timeout_s:.0f} s")
        time.sleep(poll_s)
