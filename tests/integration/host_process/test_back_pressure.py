"""What a slow operator, a slow sink or a long backlog does to memory and to the neighbours: nothing to be noticed."""

import contextlib
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psutil

from services.embedded import StackParams
from services.embedded.java import find_java
from services.embedded.stack import kafka_class_path
from topics import catalogue
from topics.flow.file import parse_graph

SLOW = """
flow: {flow}
sources:
  records: {topic: {source}, key: user}
operators:
  slow: {python: "slow_rules:nap", input: records}
sinks:
  out: {input: slow, topic: {sink}}
"""

BUSY = """
flow: {flow}
sources:
  records: {topic: {source}, key: user}
operators:
  totals: {op: aggregate, input: records, by: [user],
           emit: {n: count(), size: sum(size), most: max(size), least: min(size), mean: mean(size),
                  kinds: distinct(padding), first: first(size), last: last(size)}}
sinks:
  out: {input: totals, topic: {sink}}
"""

SLIM = """
flow: {flow}
sources:
  records: {topic: {source}, key: user}
operators:
  slim: {op: project, input: records, fields: [user, size]}
sinks:
  out: {input: slim, topic: {sink}}
"""

FAST = """
flow: {flow}
sources:
  records: {topic: {source}, key: user}
operators:
  all: {op: filter, input: records, where: "size >= 0"}
sinks:
  out: {input: all, topic: {sink}}
"""

RULES = """
import time

def nap(record):
    time.sleep(0.01)
    return {"user": record["user"]}
"""


FAIR_MAX = 3
"""How much more of two equal backlogs one flow may have done than the other: tasks take turns, but not by the clock."""


def records(count: int, *, padding: int = 0) -> list[dict]:
    return [{"user": f"u{n % 50}", "size": n, "padding": "x" * padding} for n in range(count)]


class MostMemory:
    """The largest memory that a process and its children took while this was open.

    A child that is about to become another program still shares all pages of its parent: it is not counted yet.
    """

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.before_mb = self._now_mb()
        self.most_mb = self.before_mb

    def __enter__(self) -> "MostMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            self.most_mb = max(self.most_mb, self._now_mb())

    def _now_mb(self) -> float:
        own = self._process.cmdline()
        total = self._process.memory_info().rss
        for child in self._process.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += 0 if child.cmdline() == own else child.memory_info().rss
        return total / 1e6


def test_a_slow_operator_neither_fills_memory_nor_starves_a_fast_one(
    hosts: Any, stage: Callable, tmp_path: Path
) -> None:
    """160 MB wait for a function that takes 10 ms a record; the host fetches little of it, and the neighbour flies."""
    (tmp_path / "slow_rules.py").write_text(RULES)
    hosts.start("a", extra=["--allow", f"{tmp_path}/"])
    slow, fast = stage(SLOW), stage(FAST)
    slow.feed(records(80_000, padding=2_000))
    with MostMemory(hosts.running["a"].pid) as memory:
        slow.submit(hosts, "a")
        fast.submit(hosts, "a")
        slow.until(lambda: slow.committed() > 0, "the slow one works")
        fast.feed(records(20_000))
        fast.until_results(20_000)
        assert slow.committed() < 80_000 / 2
    assert memory.most_mb - memory.before_mb < 250, vars(memory)


def test_a_slow_operator_commits_and_lets_go_in_the_middle_of_what_was_fetched(
    hosts: Any, stage: Callable, tmp_path: Path
) -> None:
    """One fetch brings all of 30,000 compressed records, five minutes of work: nobody waits for the end of it."""
    (tmp_path / "slow_rules.py").write_text(RULES)
    for name in ("a", "b"):
        hosts.start(name, extra=["--allow", f"{tmp_path}/"])
    slow = stage(SLOW, partitions=1)
    slow.feed(records(30_000, padding=500), compression="gzip")
    submission = slow.submit(hosts, "a")
    slow.until(lambda: slow.committed() > 0, "some of it is done")
    ((slot, placement),) = submission.placements.items()
    moved = msgspec.structs.replace(placement, host=hosts.name("b"), epoch=placement.epoch + 1)
    slow.write((catalogue.PLACEMENTS, moved))
    slow.until_running({slot: moved})
    before = slow.committed()
    assert before < 30_000 / 2
    slow.until(lambda: slow.committed() > before, "the next one goes on")


def limit(bootstrap: str, client: str, change: str) -> None:
    """Kafka's own quota on what a client may write: `add-config producer_byte_rate=N`, `delete-config ...`."""
    command = [
        find_java().program,
        "-cp",
        kafka_class_path(StackParams(home=Path("unused"))),
        "kafka.admin.ConfigCommand",
    ]
    command += ["--bootstrap-server", bootstrap, "--alter", "--entity-type", "clients", "--entity-name", client]
    done = subprocess.run([*command, *change.split()], capture_output=True, text=True, timeout=120, check=False)
    assert 0 == done.returncode, done.stderr


def test_a_slow_sink_does_not_fill_memory_and_gets_everything_in_the_end(hosts: Any, stage: Callable) -> None:
    """160 MB wait while the broker takes 20 KB of results a second; the host fetches as much as it can get rid of."""
    hosts.start("a")
    flow = stage(SLIM, partitions=1)
    count = 80_000
    flow.feed(records(count, padding=2_000))
    (segment,) = parse_graph(flow.text).segments
    writer = f"stig.{segment.id}.0"
    limit(flow.bootstrap, writer, "--add-config producer_byte_rate=20000")
    with MostMemory(hosts.running["a"].pid) as memory:
        flow.submit(hosts, "a")
        flow.until(lambda: flow.committed() > count / 20, "some of it has passed")
        assert flow.committed() < count / 2, "the sink is slow"
    assert memory.most_mb - memory.before_mb < 100, vars(memory)
    limit(flow.bootstrap, writer, "--delete-config producer_byte_rate")
    flow.until(lambda: flow.committed() == count, "everything has passed")
    assert {record["size"] for record in records(count)} == {each["size"] for each in flow.results()}


def test_a_trickle_is_served_while_a_neighbour_works_off_its_backlog(hosts: Any, stage: Callable) -> None:
    """Segments of a host take turns, a block at a time."""
    hosts.start("a")
    busy, trickle = stage(BUSY), stage(FAST)
    trickle.submit(hosts, "a")
    for _ in range(10):
        busy.feed(records(60_000))
    busy.submit(hosts, "a")
    busy.until(lambda: busy.committed() > 0, "the busy one works")
    trickle.feed(records(10))
    trickle.until_results(10)
    assert busy.committed() < 600_000
    busy.until(lambda: busy.committed() == 600_000, "the busy one is through")


def test_equal_backlogs_on_one_host_are_worked_off_at_about_the_same_pace(hosts: Any, stage: Callable) -> None:
    """Neither flow may wait until the other is through. The host stands still until both have all of their backlog."""
    hosts.start("a")
    count, first, second = 100_000, stage(BUSY), stage(BUSY)
    for flow in (first, second):
        flow.submit(hosts, "a")
    hosts.running["a"].send_signal(signal.SIGSTOP)
    for flow in (first, second):
        for _ in range(5):
            flow.feed(records(count // 5, padding=200))
    hosts.running["a"].send_signal(signal.SIGCONT)

    def shares() -> tuple[int, int]:
        return first.committed(), second.committed()

    first.until(lambda: max(shares()) > count / 2, "one of them has done half")
    done = shares()
    assert max(done) < FAIR_MAX * min(done), done
