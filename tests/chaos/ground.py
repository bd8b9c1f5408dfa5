"""The ground of some runs, one after the other: a broker and Redis of their own, and the host processes.

All are children on a leash (`services/embedded/leash.py`), so none outlives the test however it ends. What hurts the
broker hurts nobody else's tests.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

import psutil
from aiokafka.errors import KafkaError
from confluent_kafka import KafkaException, TopicPartition

from services.cluster_key import make_key
from services.embedded import EmbeddedStack, StackParams
from services.embedded.lifecycle import State
from services.embedded.record import ProcessRecord
from services.embedded.spawn import spawn
from services.registry.errors import RegistryError
from services.registry.snapshot import TIMEOUT_S, read_to_end, reader
from services.settings import PREFIX
from tests.chaos import clock
from topics import catalogue

Answer = TypeVar("Answer")

ROOT = Path(__file__).parents[2]
PATIENCE_S = 180.0
QUESTION_S_MAX = 20.0
"""What one question may count for: a test that is itself frozen does not wait."""
NO_BUG = "-"
REPORTS_SEEN_MIN = 2
"""So many reports after an instant show that a host was awake after it."""


class NeverError(AssertionError):
    """Something that had to happen did not, in all the time that it was given."""


def until(condition: Callable[[], object], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Waits for a condition to hold; a broker that is away for the moment is no answer."""
    waited_s = 0.0
    while waited_s < patience_s:
        asked_s = time.monotonic()
        with suppress(RegistryError, KafkaException, KafkaError, TimeoutError):
            if condition():
                return
        time.sleep(0.05)
        waited_s += min(time.monotonic() - asked_s, QUESTION_S_MAX)
    raise NeverError(f"waited {patience_s:.0f} s in vain until {what}")


def answer(ask: Callable[[], Answer]) -> Answer:
    """What a question brings, as soon as the broker answers it."""
    brought: list[Answer] = []

    def is_answered() -> bool:
        brought.append(ask())
        return True

    until(is_answered, "the broker answers")
    return brought[0]


class Stack(Protocol):
    """What a ground stands on: brokers and Redis that are started, looked after and stopped together."""

    bootstrap: str
    redis_url: str

    def start(self) -> None:
        """Returns when all is ready."""
        ...

    def stop(self) -> None:
        """Ends all of it."""
        ...

    def records(self) -> tuple[ProcessRecord, ...]:
        """All its processes as they are now."""
        ...


class Ground:
    """Enter it, then `raise_hosts` for each run; hosts stay from one run to the next."""

    def __init__(self, folder: Path, stack: Stack | None = None) -> None:
        self.folder = folder
        self.bug = NO_BUG
        self.gate = folder / "gate"
        self._key = folder / "cluster.key"
        self._stack: Stack = stack or EmbeddedStack(StackParams(home=folder / "stack"))
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}
        self._log_sizes: dict[str, int] = {}
        """host -> how much its log held when it was last started."""
        self._began_on_full_disk: set[str] = set()

    def __enter__(self) -> "Ground":
        self.folder.mkdir(parents=True, exist_ok=True)
        make_key(self._key)
        self._stack.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.plant(NO_BUG)
        self._stack.stop()

    def plant(self, bug: str) -> None:
        """Hosts that start from now on have this bug, and no others are there."""
        self.clear()
        self.bug = bug

    def clear(self) -> None:
        """Kills all hosts, and takes away what else a run may have left."""
        for name in list(self._hosts):
            self.kill(name)
        self.gate.unlink(missing_ok=True)

    @property
    def bootstrap(self) -> str:
        return self._stack.bootstrap

    @property
    def redis_url(self) -> str:
        return self._stack.redis_url

    def raise_hosts(self, names: Iterable[str]) -> None:
        """Starts the hosts that do not run, and waits until they report."""
        new = [name for name in names if not self.is_running(name)]
        since = self._reports_end()
        for name in new:
            self.start(name)
        self.until_reported(new, since)

    def start(self, name: str) -> None:
        """Starts a host unless it runs."""
        if self.is_running(name):
            return
        clock.create(self._clock(name))
        self._log_sizes[name] = self.log(name).stat().st_size if self.log(name).exists() else 0
        self._began_on_full_disk.discard(name)
        self._hosts[name] = self._spawn(name, self._command(name))

    def _command(self, name: str) -> list[str]:
        """A host whose clock can jump, with the planted bug or none."""
        command = [sys.executable, "-m", "tests.chaos.entry", str(self._clock(name)), self.bug]
        command += ["--name", name, "--region", "r1", "--capacity", "1", "--bootstrap", self._bootstrap_of(name)]
        command += ["--key-file", str(self._key), "--allow", "tests.chaos"]
        return [*command, "--log-format", "json", "--stop-timeout", "8"]

    def _bootstrap_of(self, _name: str) -> str:
        """Where this process reaches the broker."""
        return self.bootstrap

    def _spawn(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = {"PYTHONPATH": paths, f"{PREFIX}REDIS_URL": self._stack.redis_url}
        return spawn(command, log=self.log(name), environment=environment)

    def is_running(self, name: str) -> bool:
        return name in self._hosts and self._hosts[name].poll() is None

    def kill(self, name: str) -> None:
        """kill -9, and the end of it."""
        if self.is_running(name):
            self._hosts[name].kill()
            self._hosts[name].wait()

    def send(self, name: str, number: signal.Signals) -> None:
        """A signal to a host that runs."""
        if self.is_running(name):
            self._hosts[name].send_signal(number)

    def freeze(self, name: str) -> None:
        """Stops a host with all its children where they stand, as a paused container or machine is."""
        for process in self._family(name):
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self, name: str) -> None:
        for process in self._family(name):
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def _family(self, name: str) -> list[psutil.Process]:
        if not self.is_running(name):
            return []
        host = psutil.Process(self._hosts[name].pid)
        return [host, *host.children(recursive=True)]

    def fill_disk(self, name: str, *, full: bool) -> None:
        """From now on no file of the host can grow (its log included), as on a full disk; or all can again."""
        if self.is_running(name):
            if full and not self._is_ready(name):
                self._began_on_full_disk.add(name)
            limit = 0 if full else resource.RLIM_INFINITY
            resource.prlimit(self._hosts[name].pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def _is_ready(self, name: str) -> bool:
        """Whether a host has said so since it was last started."""
        return b"host is ready" in self.log(name).read_bytes()[self._log_sizes[name] :]

    def set_clock(self, name: str, offset_s: int) -> None:
        clock.jump(self._clock(name), offset_s)

    def send_service(self, name: str, number: signal.Signals) -> None:
        """A signal to the broker or to Redis; the supervisor brings back what dies."""
        for record in self._stack.records():
            if record.name.startswith(name) and record.pid is not None:
                with suppress(ProcessLookupError):  # it has ended this very moment
                    os.kill(record.pid, number)

    def until_services_are_ready(self) -> None:
        until(
            lambda: all(record.state is State.READY for record in self._stack.records()),
            "broker and Redis are back",
        )

    def until_awake(self, names: Iterable[str]) -> None:
        """Waits until each of these hosts has done something after this call."""
        self.until_reported(names, self._reports_end())

    def until_reported(self, names: Iterable[str], since: int) -> None:
        """Waits until each of these hosts has reported a few times after this offset of the metrics topic."""

        def missing() -> list[str]:
            for name in names:
                if name in self._began_on_full_disk and not self._is_ready(name):
                    self.start(name)  # what can't start on a full disk ends, maybe after the disk is free again
                if not self.is_running(name):
                    raise NeverError(f"host {name} has ended by itself; see {self.log(name)}")
            told = self._reports(since)
            return [name for name in names if told.count(name) < REPORTS_SEEN_MIN]

        until(lambda: not missing(), f"the hosts {', '.join(names)} report")

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _clock(self, name: str) -> Path:
        return self.folder / f"{name}.clock"

    def _reports_end(self) -> int:
        def ask() -> int:
            with reader(self.bootstrap) as consumer:
                topic = catalogue.METRICS_HOSTS.name
                if topic not in consumer.list_topics(timeout=TIMEOUT_S).topics:
                    return 0
                _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=TIMEOUT_S)
                return int(end)

        return answer(ask)

    def _reports(self, since: int) -> list[str]:
        topic = catalogue.METRICS_HOSTS
        with reader(self.bootstrap) as consumer:
            if topic.name not in consumer.list_topics(timeout=TIMEOUT_S).topics:
                return []
            return [
                topic.codec.decode(record.value(), topic=topic.name, partition=0, offset=record.offset() or 0).host
                for record in read_to_end(consumer, [TopicPartition(topic.name, 0)], starts=lambda _: since)
            ]
