"""The embedded stack: real Kafka brokers and a real Redis, as one thing that starts and stops.

    with EmbeddedStack(StackParams(home=folder)) as stack:
        use(stack.bootstrap, stack.redis_url)

A start that fails half-way leaves nothing running. Data stays in the home folder until it is wiped.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
from platformdirs import user_cache_path

from services.cluster_key import make_key
from services.embedded.cluster import Cluster, settle
from services.embedded.errors import StackError
from services.embedded.home import Home, is_alive
from services.embedded.jars import OnProgress, ensure_jars, read_jar_set
from services.embedded.kafka import prepare_brokers
from services.embedded.lifecycle import State
from services.embedded.probes import KafkaProbe, Probe, RedisProbe
from services.embedded.process import Process
from services.embedded.record import ProcessRecord, StackRecord, WorldRecord, read_record, write_record
from services.embedded.redis_server import prepare_redis
from services.embedded.supervisor import Supervisor
from services.embedded.world import World
from services.embedded.world_gates import prepare_links, world_record
from services.settings import BROKERS_MAX, RETURN_S, SILENT_S

KAFKA_JARS = Path(__file__).with_name("kafka.jars")
LEFTOVER_TIMEOUT_S = 10.0
"""The kernel kills the children of a killed supervisor; this is how long they may take to be gone."""

FOREIGN_ASKED_MAX = 3
"""What is there may miss a question while its machine is busy; where nobody listens, all are answered at once."""

INTERRUPTED = "it was interrupted"

Furnish = Callable[["EmbeddedStack"], None]
"""Called when brokers and Redis are ready: makes topics, and runs further processes with `EmbeddedStack.run`."""

OnEvent = Callable[[str], None]
"""Called with a sentence on each change, in the supervisor's thread."""


@dataclass(frozen=True, kw_only=True)
class StackParams:
    """What to run and where. A `bootstrap` or `redis_url` of the user's own is used instead of starting one."""

    home: Path
    brokers: int = 1
    world: World | None = None
    bootstrap: str | None = None
    redis_url: str | None = None
    kafka_home: Path | None = None
    cache: Path = field(default_factory=lambda: user_cache_path("stigmergy"))
    silent_s: float = SILENT_S
    """After so long without a report a host is lost: for the hosts and the placement instances of the stack alike."""

    return_s: float = RETURN_S
    """So much more time hosts have to return when all were silent."""

    optimises_late: bool = True
    """Whether a broker's start may cost less, and its first minutes under load more."""

    def __post_init__(self) -> None:
        if not 1 <= self.brokers <= BROKERS_MAX:
            raise StackError(f"{self.brokers} brokers", f"choose between 1 and {BROKERS_MAX}")
        if self.world is not None and self.bootstrap is not None:
            raise StackError("a world has brokers of its own", "leave out --bootstrap, or --world")


def kafka_class_path(params: StackParams, on_progress: OnProgress | None = None) -> str:
    """Where Kafka's classes are: the user's Kafka, or the cached jars, fetched first if need be."""
    if params.kafka_home is None:
        return str(ensure_jars(read_jar_set(KAFKA_JARS), params.cache, on_progress) / "*")
    libs = params.kafka_home / "libs"
    if not list(libs.glob("kafka_2.13-*.jar")):
        raise StackError(
            f"{params.kafka_home} holds no Kafka: there is no libs/kafka_2.13-*.jar",
            "let STIGMERGY_KAFKA_HOME point to an unpacked Kafka 4, or unset it to let Stigmergy fetch one",
        )
    return str(libs / "*")


class EmbeddedStack:
    """Brokers and Redis, from `start` (or entering the context) to `stop` (or leaving it)."""

    def __init__(
        self,
        params: StackParams,
        *,
        furnish: Furnish = lambda stack: None,
        on_event: OnEvent = lambda what: None,
    ) -> None:
        self.params = params
        self.home = Home(params.home.absolute())
        self.bootstrap = params.bootstrap or ""
        self.redis_url = params.redis_url or ""
        self._furnish = furnish
        self._on_event = on_event
        self._world: WorldRecord | None = None
        self._foreign: list[ProcessRecord] = []
        self._ready = False
        self._writing = threading.Lock()
        self._supervisor = Supervisor(self._changed)
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when all is ready. When anything fails, or is interrupted, stops what was started and raises."""
        self._undo.enter_context(self.home.locked())
        try:
            self._start()
        except BaseException as fault:
            self._ready = False
            self._supervisor.stop()
            try:
                self._write_record(error=INTERRUPTED if isinstance(fault, KeyboardInterrupt) else str(fault))
            finally:
                self._undo.close()
            raise

    def run(self, *processes: Process) -> None:
        """Runs further processes beside those that run already; returns when they are ready."""
        self._supervisor.add(processes)
        self._supervisor.wait_ready()

    def wait(self) -> None:
        """Stays until the supervision ends, or until an interrupt."""
        self._supervisor.wait()

    def stop(self) -> None:
        """Stops everything, in the reverse order, and lets go of the home."""
        self._ready = False
        self._supervisor.stop()
        self.home.record.unlink(missing_ok=True)
        self._undo.close()

    def bootstrap_from(self, region: str) -> str:
        """The brokers as clients in this region reach them: in a world through its gates."""
        return self._world.bootstraps[region] if self._world is not None else self.bootstrap

    def records(self) -> tuple[ProcessRecord, ...]:
        """All that the stack consists of, as it is now."""
        return (*self._foreign, *self._supervisor.records())

    def _start(self) -> None:
        end_leftovers(self.home)
        make_key(self.home.key)
        class_path = None if self.params.bootstrap else kafka_class_path(self.params)
        world = self.params.world
        cluster = settle(self.home.cluster, 0 if self.params.bootstrap else self.params.brokers, world)
        self.bootstrap = self.params.bootstrap or cluster.bootstrap
        processes: list[Process] = []
        if class_path is None:
            self._use_foreign("kafka", self.bootstrap, KafkaProbe(bootstrap=self.bootstrap))
        else:
            processes += self._prepare_kafka(cluster, class_path)
        if self.params.redis_url is not None:
            self._use_foreign("redis", self.params.redis_url, RedisProbe(url=self.params.redis_url))
        else:
            processes.append(redis := prepare_redis(self.home, cluster.redis_port))
            self.redis_url = redis.address
        self._supervisor.start()
        self.run(*processes)
        self._furnish(self)
        self._ready = True
        self._write_record()

    def _prepare_kafka(self, cluster: Cluster, class_path: str) -> list[Process]:
        """The brokers, and before them the ways of the world in which they stand."""
        world = self.params.world
        if world is None:
            return prepare_brokers(self.home, cluster, class_path, optimises_late=self.params.optimises_late)
        self._world = world_record(world, cluster)
        links = prepare_links(self.home, world, cluster)
        after = tuple(process.name for process in links)
        brokers = prepare_brokers(self.home, cluster, class_path, replication_max=world.replication, after=after)
        return [*links, *brokers]

    def _use_foreign(self, name: str, address: str, probe: Probe) -> None:
        """Takes part in something that the user runs themselves, if it answers."""
        if not any(probe.answers() for _ in range(FOREIGN_ASKED_MAX)):
            raise StackError(f"no {name} answers at {address}", "start it, or leave it out to let Stigmergy run one")
        self._foreign.append(ProcessRecord(name=name, state=State.READY, address=address, log="", ready=probe))

    def _changed(self, records: Sequence[ProcessRecord], what: str) -> None:
        try:
            self._write_record()
        except OSError as fault:  # a full disk must not end the supervision
            what = f"{what}; cannot write {self.home.record}: {fault.strerror}"
        self._on_event(what)

    def _write_record(self, error: str | None = None) -> None:
        with self._writing:  # the supervisor's thread and the one that starts the stack both write
            record = StackRecord(
                pid=os.getpid(),
                bootstrap=self.bootstrap,
                redis_url=self.redis_url,
                processes=self.records(),
                ready=self._ready,
                error=error,
                world=self._world,
                silent_s=self.params.silent_s,
            )
            write_record(self.home.record, record)


def end_leftovers(home: Home) -> None:
    """Waits until the processes of a supervisor that was killed are gone. Called by the holder of the lock."""
    record = read_record(home.record)
    if record is None:
        return
    left = [(p.pid, p.born_at_s) for p in record.processes if p.pid is not None and p.born_at_s is not None]
    deadline_s = time.monotonic() + LEFTOVER_TIMEOUT_S
    while left := [(pid, born_at_s) for pid, born_at_s in left if is_alive(pid, born_at_s)]:
        if time.monotonic() > deadline_s:
            for pid, _ in left:
                psutil.Process(pid).kill()
            deadline_s += LEFTOVER_TIMEOUT_S
        time.sleep(0.02)
