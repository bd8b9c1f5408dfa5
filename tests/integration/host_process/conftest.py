"""Real hosts as real processes on the test run's broker, flows with names of their own, and what they must give.

def test_x(hosts, flow, ...):
    hosts.start("a"); flow.submit("a"); flow.feed(records); flow.expect(...)
"""

import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from services.registry.liveness import live_hosts
from services.registry.snapshot import read_registry
from services.registry.submit import Submission, submit
from services.registry.view import RegistryView

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0


def until(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> object:
    """Waits for a condition to hold and gives what it returned; fails with `what` after a while."""
    deadline_s = time.monotonic() + patience_s
    while not (found := condition()):
        assert time.monotonic() < deadline_s, f"waited {patience_s:.0f} s in vain until {what}"
        time.sleep(0.05)
    return found


@dataclass
class Hosts:
    """Host processes of one test; their names get a suffix, because the registry is shared."""

    bootstrap: str
    logs: Path
    suffix: str = field(default_factory=lambda: uuid.uuid4().hex[:6])
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def name(self, short: str) -> str:
        return f"{short}-{self.suffix}"

    def start(self, *shorts: str, extra: Sequence[str] = ()) -> None:
        """Starts hosts and waits until they live."""
        for short in shorts:
            command = [sys.executable, "-m", "services.host", "--name", self.name(short), "--region", "r1"]
            command += ["--capacity", "1", "--bootstrap", self.bootstrap, "--log-format", "json", *extra]
            with (self.logs / f"{short}.log").open("ab") as log:
                process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)
            self.running[short] = process
            self.started.append(process)
        for short in shorts:
            until(lambda short=short: self.is_there(short), f"host {short} registers:\n{self.log(short)}")

    def is_there(self, short: str) -> bool:
        """Whether the very process that was started last reports under this name."""
        name = self.name(short)
        assert self.running[short].poll() is None, self.log(short)
        row = live_hosts(self.bootstrap, now_ms=time.time_ns() // 1_000_000).get(name)
        registered = read_registry(self.bootstrap).hosts.get(name)
        return row is not None and registered is not None and row.boot_id == registered.boot_id

    def end(self, short: str, number: signal.Signals = signal.SIGTERM) -> int:
        """Sends a signal and waits for the end; the exit code."""
        process = self.running.pop(short)
        process.send_signal(number)
        return process.wait(timeout=40)

    def log(self, short: str) -> str:
        return (self.logs / f"{short}.log").read_text()[-4_000:]

    def stop_all(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.started:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def hosts(kafka: str, tmp_path: Path) -> Iterator[Hosts]:
    """Hosts to be started by the test; none outlives it."""
    each = Hosts(kafka, tmp_path)
    yield each
    each.stop_all()


@dataclass
class Stage:
    """One flow with its own topics on the shared broker."""

    bootstrap: str
    hosts: Hosts
    name: str
    source: str
    sink: str
    partitions: int
    text: str = ""

    def submit(self, *shorts: str) -> Submission:
        """Submits the flow to these hosts."""
        return submit(self.bootstrap, self.text, hosts=[self.hosts.name(short) for short in shorts])

    def until(self, condition: Callable[[], object], what: str) -> object:
        """Waits for a condition; see the function of the same name."""
        try:
            return until(condition, what)
        except AssertionError as fault:
            raise AssertionError(f"{fault}: {self.states()}") from None

    def view(self) -> RegistryView:
        return read_registry(self.bootstrap)

    def until_running(self, submission: Submission) -> None:
        """Waits until every slot runs in the epoch that was submitted, or a later one."""
        self.until(lambda: self.all_run(submission), f"flow {self.name} runs")

    def all_run(self, submission: Submission) -> bool:
        statuses = self.view().statuses
        return all(
            slot in statuses and statuses[slot].state == "running" and statuses[slot].epoch >= placement.epoch
            for slot, placement in submission.placements.items()
        )

    def states(self) -> list[str]:
        return [
            f"{s.segment}/{s.partition} {s.state} on {s.host}: {s.reason}"
            for s in self.view().statuses.values()
            if s.segment.startswith(f"{self.name}.")
        ]

    def feed(self, records: Sequence[dict], *, key: str = "user") -> None:
        """Produces JSON records, keyed as the flow's source says, and waits for the broker to have them."""
        raws = [(json.dumps(record).encode(), str(record.get(key, "")).encode()) for record in records]
        self.feed_raw(raws)

    def feed_raw(self, raws: Sequence[tuple[bytes, bytes | None]], **more: object) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "partitioner": "murmur2_random"})
        for value, key in raws:
            producer.produce(self.source, value, key, **more)
            producer.poll(0)
        assert 0 == producer.flush(30)

    def results(self) -> list[dict]:
        """All committed records of the sink, as values."""
        return [json.loads(value) for value in read_committed(self.bootstrap, self.sink)]


def read_committed(bootstrap: str, topic: str) -> list[bytes]:
    """The values of all committed records of a topic, from the first to the present last stable one."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "test",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
        ended: set[int] = set()
        values = []
        while len(ended) < len(partitions):
            record = consumer.poll(5)
            assert record is not None, f"{topic} can't be read"
            if record.error() is None:
                values.append(record.value())
            else:
                assert record.error().code() == KafkaError._PARTITION_EOF, record.error()
                ended.add(record.partition())
        return values
    finally:
        consumer.close()


@pytest.fixture
def stage(kafka: str, hosts: Hosts, topic: Callable[..., str]) -> Callable[..., Stage]:
    """Makes a flow from a template in which {flow}, {source} and {sink} stand for names of its own."""

    def make(template: str, *, partitions: int = 4, sink_partitions: int = 2) -> Stage:
        name = f"t-{uuid.uuid4().hex[:10]}"
        source, sink = topic(partitions=partitions), topic(partitions=sink_partitions)
        text = template.replace("{flow}", name).replace("{source}", source).replace("{sink}", sink)
        return Stage(kafka, hosts, name, source, sink, partitions, text)

    return make
