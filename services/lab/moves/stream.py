"""The load of all sides and the watch over their results: when did the last result of each partition come?"""

import contextlib
import math
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from services.embedded.spawn import spawn
from services.lab.dataplane.ground import BenchError, Ground, wait_until
from services.lab.dataplane.trial import running

PROGRAMS = Path(__file__).with_name("programs")
PARTITIONS = 2
LOAD_TIMEOUT_S = 600.0
LOAD_KEYS_PER_S_MIN = 10_000.0
"""Of a state so large that this takes longer."""
RESUME_TIMEOUT_S = 180.0
CATCH_UP_TIMEOUT_S = 20.0
BEFORE_S, AFTER_S = 0.2, 0.5
"""A gap is looked for from a little before a move to a little after it."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The longest time without a result: of the partition that had the longest, and of the other one."""

    longest_ms: float
    other_ms: float


@dataclass(slots=True)
class Arrivals:
    """When results came, in seconds, for each partition of the source. Results before a commit count: readers of
    at-least-once flows see them."""

    at_s: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def counts(self) -> tuple[int, int]:
        return len(self.at_s[0]), len(self.at_s[1])

    def gap(self, since_s: float, until_s: float = math.inf) -> Gap:
        """The longest gaps since then."""
        longest = sorted((self._longest_ms(times, since_s, until_s) for times in self.at_s), reverse=True)
        return Gap(longest[0], longest[1])

    def gap_of(self, partition: int, since_s: float, until_s: float = math.inf) -> Gap:
        """The same, for a partition that is known to have moved."""
        moved, other = (self._longest_ms(self.at_s[each], since_s, until_s) for each in (partition, 1 - partition))
        return Gap(moved, other)

    @staticmethod
    def _longest_ms(times: list[float], since_s: float, until_s: float = math.inf) -> float:
        """Of gaps that began in this time: one that has begun counts whole, however late it ends."""
        seen = [at_s for at_s in times[-200_000:] if since_s <= at_s]
        begun = (1_000 * (after - before) for before, after in pairwise(seen) if before <= until_s)
        return max(begun, default=0.0)


@dataclass(frozen=True, slots=True)
class Stream:
    """A source with its load, and a sink that is watched. `id` is in the name of all that a side makes."""

    ground: Ground
    id: str
    source: str
    sink: str
    arrivals: Arrivals
    keys: int

    def until_loaded(self) -> None:
        """Every key has had its first result on both partitions, and results come as records do."""
        wait_until(
            lambda: min(self.arrivals.counts()) >= self.keys,
            timeout_s=max(LOAD_TIMEOUT_S, self.keys / LOAD_KEYS_PER_S_MIN),
            what=f"{self.keys:,} keys of state",
        )
        self.until_caught_up()

    def until_caught_up(self) -> None:
        """No result is missing for longer than a moment, on both partitions, for a second. A side that is too slow for
        the load never gets there; it is given some time, and then moves as it is: behind, but with a steady stream."""
        with contextlib.suppress(BenchError):
            wait_until(self._is_even, timeout_s=CATCH_UP_TIMEOUT_S, what="an even stream of results")

    def pause(self, move: Callable[[], None]) -> float:
        """Do it, and wait until results come again on both partitions; the time from which to look for a gap."""
        since_s = time.monotonic() - BEFORE_S
        move()
        self.until_resumed(time.monotonic() + AFTER_S)
        return since_s

    def until_resumed(self, since_s: float) -> None:
        """Both partitions have had results since then."""
        wait_until(
            lambda: all(times[-1] > since_s for times in self.arrivals.at_s),
            timeout_s=RESUME_TIMEOUT_S,
            what="results after a move",
        )

    def _is_even(self) -> bool:
        since_s = time.monotonic() - 1.0
        recent = [[at_s for at_s in times[-5_000:] if at_s > since_s] for times in self.arrivals.at_s]
        return all(len(times) > 100 for times in recent) and self.arrivals.gap(since_s).longest_ms < 200


@contextmanager
def stream(ground: Ground, *, keys: int, rate_per_s: int) -> Iterator[Stream]:
    """Load and watch, from here to the end of the context."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    source, sink = ground.make_topic(f"{name}-source", PARTITIONS), ground.make_topic(f"{name}-sink", PARTITIONS)
    arrivals, stop = Arrivals(), threading.Event()
    reader = threading.Thread(target=_read, args=(ground.bootstrap, sink, arrivals, stop), daemon=True)
    load = [sys.executable, str(PROGRAMS / "load.py"), ground.bootstrap, source, str(keys), str(rate_per_s)]
    reader.start()
    try:
        with running([load], ground.folder / f"{name}-load.log"):
            yield Stream(ground, name, source, sink, arrivals, keys)
    finally:
        stop.set()
        reader.join()
        ground.drop_topics(name)


def _read(bootstrap: str, sink: str, arrivals: Arrivals, stop: threading.Event) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "fetch.wait.max.ms": 10,
        }
    )
    consumer.assign([TopicPartition(sink, partition, 0) for partition in range(PARTITIONS)])
    while not stop.is_set():
        first = consumer.poll(0.02)
        now_s = time.monotonic()
        messages = [] if first is None else [first, *consumer.consume(2_000, timeout=0)]
        for message in messages:
            if message.error() is None:
                arrivals.at_s[int(b'"0-' not in (message.value() or b""))].append(now_s)
    consumer.close()


def started(ground: Ground, command: list[str], log: str) -> subprocess.Popen[bytes]:
    """A process that the caller ends."""
    return spawn(command, log=ground.folder / log)
