"""Real hosts as real processes on the test run's broker, and flows with names and topics of their own.

def test_x(pair, stage):
    flow = stage(TEXT)
    flow.submit(pair, "a", "b")
    flow.feed(records)
    flow.until_results(count)
"""

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewPartitions

from services.embedded.ports import choose_ports
from services.registry.liveness import live_hosts
from services.registry.snapshot import read_registry, read_to_end, reader
from services.registry.submit import Submission, submit
from services.registry.view import Slot
from services.registry.write import write
from services.settings import SILENT_S
from tests.waiting import PATIENCE_S, until
from topics.admin import connect
from topics.flow.file import parse_graph
from topics.messages import Message, Placement, SegmentStatus
from topics.topic import Topic

ROOT = Path(__file__).parents[3]
ANSWER_S = 60.0
"""For one question to a broker that is busy."""
START_PATIENCE_S = 180.0
"""Six hosts that start at once on a busy machine take a while to load their code."""


@dataclass
class Hosts:
    """Host processes of one test; their names get a suffix, because the registry is shared."""

    bootstrap: str
    logs: Path
    suffix: str = field(default_factory=lambda: uuid.uuid4().hex[:6])
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    former: dict[str, str] = field(default_factory=dict)
    """The boots that were registered before the last start."""

    def name(self, short: str) -> str:
        return f"{short}-{self.suffix}"

    def start(self, *shorts: str, extra: Sequence[str] = (), program: Sequence[str] = ("services.host",)) -> None:
        """Starts hosts and waits until they live. `program`: the module, with what it wants before the arguments."""
        self.former = {name: each.boot_id for name, each in read_registry(self.bootstrap).hosts.items()}
        for short, port in zip(shorts, choose_ports([None] * len(shorts)), strict=True):
            self.ports[short] = port
            command = [sys.executable, "-m", *program, "--name", self.name(short), "--region", "r1"]
            command += ["--capacity", "1", "--bootstrap", self.bootstrap, "--log-format", "json", *extra]
            command += ["--port", str(port)]
            with (self.logs / f"{short}.log").open("ab") as log:
                process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)
            self.running[short] = process
            self.started.append(process)
        for short in shorts:
            until(lambda short=short: self.is_there(short), f"host {short} registers", patience_s=START_PATIENCE_S)

    def is_there(self, short: str) -> bool:
        """Whether the very process that was started last reports under this name."""
        name = self.name(short)
        assert self.running[short].poll() is None, self.log(short)[-4_000:]
        row = live_hosts(self.bootstrap, silent_s=SILENT_S).get(name)
        registered = read_registry(self.bootstrap).hosts.get(name)
        return row is not None and registered is not None and self.former.get(name) != registered.boot_id == row.boot_id

    def metric(self, short: str, name: str) -> float:
        """A metric of a host, with its labels as part of the name; 0 if it does not show it."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[short]}/metrics", timeout=PATIENCE_S) as page:
            lines = page.read().decode().splitlines()
        return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"stigmergy_{name} ")), 0.0)

    def end(self, short: str, number: signal.Signals = signal.SIGTERM) -> int:
        """Sends a signal and waits for the end; the exit code."""
        process = self.running.pop(short)
        process.send_signal(number)
        return process.wait(timeout=PATIENCE_S)

    def log(self, short: str) -> str:
        return (self.logs / f"{short}.log").read_text()

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
    """Hosts to be started by the test, which may kill them; none outlives it."""
    each = Hosts(kafka, tmp_path)
    yield each
    each.stop_all()


@pytest.fixture(scope="module")
def pair(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts, a and b, for tests that leave them alone."""
    each = Hosts(kafka, tmp_path_factory.mktemp("pair"))
    try:
        each.start("a", "b")
        yield each
    finally:
        each.stop_all()


@dataclass
class Stage:
    """One flow with its own topics on the shared broker."""

    bootstrap: str
    name: str
    source: str
    sink: str
    text: str

    def submit(self, hosts: Hosts, *shorts: str) -> Submission:
        """Submits the flow to these hosts and waits until it runs."""
        submission = submit(self.bootstrap, self.text, hosts=[hosts.name(short) for short in shorts])
        self.until_running(submission.placements)
        return submission

    def until_running(self, placements: Mapping[Slot, Placement]) -> None:
        """Waits until every slot runs in the epoch of its placement, or a later one."""
        self.until(lambda: self._all_run(placements), "all slots run")

    def _all_run(self, placements: Mapping[Slot, Placement]) -> bool:
        statuses = self.statuses()
        return all(
            slot in statuses and statuses[slot].state == "running" and statuses[slot].epoch >= placement.epoch
            for slot, placement in placements.items()
        )

    def until(self, condition: Callable[[], object], what: str) -> object:
        """Waits for a condition; a failure tells how the flow's segments are."""
        try:
            return until(condition, what)
        except AssertionError as fault:
            states = [f"{slot} {each.state} on {each.host}: {each.reason}" for slot, each in self.statuses().items()]
            raise AssertionError(f"{fault}; {states}") from None

    def statuses(self) -> dict[Slot, SegmentStatus]:
        """How the flow's slots are, as told."""
        told = read_registry(self.bootstrap).statuses
        return {slot: each for slot, each in told.items() if slot[0].startswith(f"{self.name}.")}

    def write(self, *entries: tuple[Topic, Message]) -> None:
        write(self.bootstrap, entries)

    def feed(self, records: Sequence[dict], *, key: str = "user", compression: str = "none") -> None:
        """Produces JSON records, keyed as the flow's source says, and waits for the broker to have them."""
        raws = [(json.dumps(record).encode(), str(record[key]).encode()) for record in records]
        self.feed_raw(raws, compression=compression)

    def feed_raw(
        self, raws: Sequence[tuple[bytes | None, bytes | None]], *, headers: Any = None, compression: str = "none"
    ) -> None:
        """Produces bytes as they are."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "partitioner": "murmur2_random",
                "compression.type": compression,
                "log_level": 0,
            }
        )
        for value, key in raws:
            producer.produce(self.source, value, key, headers=headers)
            producer.poll(0)
        assert 0 == producer.flush(PATIENCE_S)

    def feed_to(self, partitions: Sequence[int], records: Sequence[dict], *, key: str = "user") -> None:
        """Produces JSON records to these partitions in turn, whatever their keys are."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0})
        for number, record in enumerate(records):
            at = partitions[number % len(partitions)]
            producer.produce(self.source, json.dumps(record).encode(), str(record[key]).encode(), partition=at)
        assert 0 == producer.flush(PATIENCE_S)

    def grow(self, partitions: int) -> None:
        """Gives the source's topic more partitions."""
        admin = connect(self.bootstrap)
        admin.create_partitions([NewPartitions(self.source, partitions)])[self.source].result(ANSWER_S)

    @contextmanager
    def feeding(self, records: Sequence[dict], *, chunk: int = 50, every_s: float = 0.02) -> Iterator[None]:
        """Feeds the records bit by bit beside what the test does; all are fed when the context has ended."""

        def feed() -> None:
            for start in range(0, len(records), chunk):
                self.feed(records[start : start + chunk])
                time.sleep(every_s)

        thread = threading.Thread(target=feed)
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def results(self) -> list[dict]:
        """The committed records of the sink, as values; those of one key are in order."""
        return [json.loads(value) for value in read_committed(self.bootstrap, self.sink)]

    def committed(self) -> int:
        """How many records of its source are done for good, if the flow is one segment."""
        (segment,) = parse_graph(self.text).segments
        with reader(self.bootstrap, group=f"stig.{segment.id}") as consumer:
            partitions = consumer.list_topics(self.source, timeout=ANSWER_S).topics[self.source].partitions
            found = consumer.committed([TopicPartition(self.source, each) for each in partitions], timeout=ANSWER_S)
            return sum(max(0, at.offset) for at in found)

    def until_results(self, count: int) -> list[dict]:
        """The results, as soon as there are so many."""
        self.until(lambda: len(self.results()) >= count, f"there are {count} results")
        return self.results()


def read_committed(bootstrap: str, topic: str) -> list[bytes]:
    """The values of all committed records of a topic."""
    with reader(bootstrap, group="test") as consumer:
        partitions = consumer.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions
        at = [TopicPartition(topic, each) for each in partitions]
        return [record.value() for record in read_to_end(consumer, at)]


@pytest.fixture
def stage(kafka: str, topic: Callable[..., str]) -> Callable[..., Stage]:
    """Makes a flow from a template in which {flow}, {source} and {sink} stand for names of its own."""

    def make(template: str, *, partitions: int = 4, sink_partitions: int = 2) -> Stage:
        name = f"t-{uuid.uuid4().hex[:10]}"
        # Results carry their event time, which in tests is years ago: the broker must not take them for old.
        sink = topic(partitions=sink_partitions, config={"retention.ms": "-1"})
        source = topic(partitions=partitions)
        text = template.replace("{flow}", name).replace("{source}", source).replace("{sink}", sink)
        return Stage(kafka, name, source, sink, text)

    return make
