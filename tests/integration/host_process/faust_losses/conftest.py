"""Two sides of each story: a plain Faust program, and our host with a flow that does the same."""

import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from services.registry.changes import assigned, withdrawn
from services.registry.snapshot import read_registry, read_to_end, reader
from services.registry.view import Slot
from tests.waiting import until
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import Placement

PLAIN = Path(__file__).with_name("plain.py")
PATIENCE_S = 150.0
"""Plain Faust's consumer group needs a minute to miss a member that was killed."""
TRIES_MAX = 100
PROMPT_S = 0.02
"""A result is written after some of these, and committed after some more."""


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """What plain Faust does is for `make faust-losses`: it takes minutes, and no change of ours can make it fail."""
    for item in items:
        if "plain" in getattr(item, "fixturenames", ()):
            item.add_marker("plain_faust")


RULES = """
import pathlib, time

HELD = 5

def held(record, folder):
    while record["n"] == HELD and not pathlib.Path(folder, "go").exists():
        pathlib.Path(folder, "begun").touch()
        time.sleep(0.05)
    return record

def raising(record, folder):
    if record["n"] == HELD and not pathlib.Path(folder, "go").exists():
        pathlib.Path(folder, "begun").touch()
        raise RuntimeError("the database is away")
    return record

def oversize(record, folder):
    return {**record, "padding": "x" * (5_000 if record["n"] == HELD else 1)}
"""

FLOW = """
flow: {flow}
delivery: {delivery}
sources:
  records: {topic: {source}, key: k}
operators:
  done: OPERATOR
sinks:
  out: {input: done, topic: {sink}}
"""

RULED = '{python: "loss_rules:STORY", input: records, timeout: 60s, settings: {folder: "FOLDER"}}'
OPERATORS = {
    "parallel": RULED.replace("STORY", "held"),
    "raising": RULED.replace("STORY", "raising"),
    "oversize": RULED.replace("STORY", "oversize"),
    "steady": "{op: filter, input: records, where: 'n >= 0'}",
    "counting": "{op: aggregate, input: records, by: [k], emit: {n: count()}}",
}


@dataclass
class Side:
    """What both sides have: a source with one partition, a sink, and a folder to hold them up by."""

    bootstrap: str
    source: str
    sink: str
    folder: Path
    group: str = ""

    def feed(self, numbers: Sequence[int], *, with_gaps: bool = False) -> None:
        """Records in order. `with_gaps`: each in a transaction, whose marker takes an offset between two records."""
        settings: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "log_level": 0}
        if with_gaps:
            settings["transactional.id"] = f"feed-{uuid.uuid4().hex}"
        producer = Producer(settings)
        if with_gaps:
            producer.init_transactions(30)
        for n in numbers:
            if with_gaps:
                producer.begin_transaction()
            producer.produce(self.source, json.dumps({"n": n, "k": "all"}).encode(), b"all", partition=0)
            if with_gaps:
                producer.commit_transaction(30)
        assert 0 == producer.flush(30)

    def results(self) -> list[int]:
        """The committed results, in order."""
        return [json.loads(value)["n"] for value in self.read(self.sink)]

    def read(self, topic: str) -> list[bytes]:
        with reader(self.bootstrap) as consumer:
            return [record.value() or b"" for record in read_to_end(consumer, [TopicPartition(topic, 0)])]

    def written(self) -> list[int]:
        """All results that a reader of uncommitted records has ever seen, in order."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "test", "enable.auto.commit": False}
        settings |= {"enable.partition.eof": True, "isolation.level": "read_uncommitted", "log_level": 0}
        with closing(Consumer(settings)) as consumer:
            records = list(read_to_end(consumer, [TopicPartition(self.sink, 0)]))
        return [json.loads(record.value() or b"")["n"] for record in records]

    def committed(self) -> int:
        """The offset from which a new owner would go on."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group, "log_level": 0})
        try:
            (at,) = consumer.committed([TopicPartition(self.source, 0)], timeout=10)
            return int(max(at.offset, 0))
        finally:
            consumer.close()

    def until_results(self, numbers: Sequence[int]) -> None:
        """Waits until each of these has come."""
        until(lambda: set(numbers) <= set(self.results()), f"{self} has {numbers}", patience_s=PATIENCE_S)

    until = staticmethod(until)

    def go(self) -> None:
        """Lets a held record pass."""
        (self.folder / "go").touch()

    def until_begun(self) -> None:
        until((self.folder / "begun").exists, "a record is held", patience_s=PATIENCE_S)


@dataclass
class PlainFaust(Side):
    """`start` and `kill` the program."""

    story: str = "steady"
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(PLAIN), self.story, self.bootstrap, self.source, self.sink, self.group]
        with (self.folder / "plain.log").open("ab") as log:
            process = subprocess.Popen([*command, str(self.folder)], stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def kill(self) -> None:
        """kill -9, all of them."""
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()


@pytest.fixture
def plain(kafka: str, topic: Callable[..., str], tmp_path: Path) -> Iterator[Callable[..., PlainFaust]]:
    """Makes a plain Faust program of this story; none outlives the test."""
    made: list[PlainFaust] = []

    def make(story: str, *, sink_config: dict[str, str] | None = None) -> PlainFaust:
        group = f"plain-{uuid.uuid4().hex[:10]}"
        made.append(PlainFaust(kafka, topic("in"), topic("out", config=sink_config), tmp_path, group, story))
        return made[-1]

    yield make
    for each in made:
        each.kill()


@dataclass
class Ours(Side):
    """A flow on hosts of the `hosts` fixture."""

    hosts: Any = None
    stage: Any = None
    segment: str = ""

    def start(self, *, program: Sequence[str] = ("services.host",)) -> None:
        """Host a, with the flow on it."""
        self.hosts.start("a", extra=["--allow", f"{self.folder}/"], program=program)
        self.join()

    def join(self) -> None:
        """The flow on host a, which runs already."""
        self.stage.submit(self.hosts, "a")

    def withdraw(self) -> None:
        """End the flow; the host stays."""
        self.stage.write(*withdrawn(read_registry(self.bootstrap), self.stage.name, now_ms=1))
        self.until(lambda: {"stopped"} == {each.state for each in self.stage.statuses().values()}, "it has stopped")

    def kill(self) -> None:
        self.hosts.end("a", 9)

    def restart(self) -> None:
        self.hosts.start("a", extra=["--allow", f"{self.folder}/"])

    def freeze_with_results_in_hand(self) -> int:
        """Feeds 1, 2, 3... until host a stands still with a result that it has written and not committed; the last."""
        for fed in range(1, TRIES_MAX + 1):
            self.feed([fed])
            time.sleep(PROMPT_S * (1 + fed % 10))
            self._signal(signal.SIGSTOP)
            if fed in self.written() and fed not in self.results():
                return fed
            self.thaw()
        raise AssertionError(f"host a never stood still with a result in hand, in {TRIES_MAX} tries")

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        self.hosts.running["a"].send_signal(number)

    def move(self, short: str) -> dict[Slot, Placement]:
        """To another host, as moves do it: the registry says who is to drain, and the new owner waits for that."""
        view, slot = read_registry(self.bootstrap), (self.segment, 0)
        former = str(view.placements[slot].host)
        moved = assigned(view, slot, self.hosts.name(short), now_ms=time.time_ns() // 1_000_000, living={former})
        assert moved.origin == former
        self.stage.write((catalogue.PLACEMENTS, moved))
        return {slot: moved}


@pytest.fixture
def ours(hosts: Any, stage: Callable, topic: Callable[..., str], tmp_path: Path) -> Callable[..., Ours]:
    """Makes a flow of this story."""

    def make(story: str, *, delivery: str = "exactly_once", sink_config: dict[str, str] | None = None) -> Ours:
        (tmp_path / "loss_rules.py").write_text(RULES)
        sink = topic("out", config=sink_config)
        text = FLOW.replace("OPERATOR", OPERATORS[story]).replace("FOLDER", str(tmp_path))
        staged = stage(text.replace("{delivery}", delivery).replace("{sink}", sink), partitions=1)
        (segment,) = parse_graph(staged.text).segments
        return Ours(staged.bootstrap, staged.source, sink, tmp_path, f"stig.{segment.id}", hosts, staged, segment.id)

    return make
