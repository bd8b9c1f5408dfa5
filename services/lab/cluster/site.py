"""A site: brokers and Redis, the placement service, and the hosts of a world as processes that nobody starts again.

The stack's own supervisor would start a killed host anew within a second; here it stays dead until the bench says so.
"""

import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from services.embedded import EmbeddedStack, StackParams
from services.embedded.furniture import make_topics
from services.embedded.host_process import host_process
from services.embedded.ports import choose_ports
from services.embedded.process import Process
from services.embedded.spawn import send, spawn
from services.embedded.stack import Furnish
from services.embedded.world import Region, World, WorldHost
from services.lab.cluster.watch import Watch, watching
from services.lab.dataplane.ground import BenchError, Ground, Say, wait_until
from services.placement.furnish import furnish_placement
from services.settings import Settings

T = TypeVar("T")

READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 40.0
SETTLE_S = 8.0
"""What new hosts need to hear of each other and to measure their distances."""

Alter = Callable[[Process], Process]
"""What to change in how a host is started."""


def flat(hosts: int) -> World:
    """So many hosts in one region, with one broker."""
    region = Region("lab", tuple(WorldHost(f"lab-{number}") for number in range(1, hosts + 1)))
    return World("flat", (region,), {})


@dataclass(slots=True)
class Site:
    """A cluster that runs. `hosts`: how each is started, by name."""

    stack: EmbeddedStack
    world: World
    ground: Ground
    watch: Watch
    hosts: dict[str, Process]
    _children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """The brokers."""
        return self.stack.bootstrap

    def say(self, what: str) -> None:
        """To the person who waits."""
        self.ground.say(what)

    def repeated(self, what: str, times: int, once: Callable[[int], T]) -> list[T]:
        """What each repetition gives. One that fails ends it, and is said; what was found before it counts."""
        found: list[T] = []
        for number in range(times):
            self.say(f"{what}: {number + 1} of {times}")
            try:
                found.append(once(number))
            except BenchError as fault:
                if not found:
                    raise
                self.ground.warn(f"{what} ends after {number} of {times}: {fault}")
                break
        return found

    def start(self, *names: str) -> None:
        """Returns when these hosts are ready and know the others."""
        for name in names:
            process = self.hosts[name]
            self._children[name] = spawn(process.command, log=process.log, environment=process.environment)
        for name in names:
            wait_until(
                self.hosts[name].ready.answers, timeout_s=READY_TIMEOUT_S, what=f"host {name} to be ready", poll_s=0.2
            )
        time.sleep(SETTLE_S)

    def kill(self, name: str) -> float:
        """kill -9, and when that was."""
        child = self._children.pop(name)
        killed_s = time.monotonic()
        send(child, signal.SIGKILL)
        child.wait()
        return killed_s

    def stop(self) -> None:
        """End the hosts, politely first."""
        for child in self._children.values():
            send(child, signal.SIGTERM)
        deadline_s = time.monotonic() + STOP_TIMEOUT_S
        for child in self._children.values():
            try:
                child.wait(max(0.1, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                send(child, signal.SIGKILL)
                child.wait()
        self._children.clear()


@contextmanager
def standing(
    world: World,
    settings: Settings,
    *,
    say: Say,
    warn: Say,
    alter: Alter = lambda process: process,
    furnish: Furnish = lambda stack: None,
) -> Iterator[Site]:
    """A cluster of this world, from here to the end of the context; `furnish` starts what runs beside it."""
    say(f"starting {len(world.brokers)} brokers and {len(world.hosts)} hosts")
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="stig-bench-", ignore_cleanup_errors=True)))
        params = StackParams(
            home=folder / "stack",
            brokers=len(world.brokers),
            world=world,
            kafka_home=settings.kafka_home,
            cache=settings.cache,
        )
        stack = undo.enter_context(EmbeddedStack(params, furnish=lambda stack: _furnish(stack, furnish)))
        ground = Ground(stack.bootstrap, (), folder, settings.cache, say, warn)
        watch = undo.enter_context(watching(stack.bootstrap))
        ports = choose_ports([None] * len(world.hosts))
        hosts = {
            name: alter(host_process(stack, name, region, port, host.capacity))
            for (name, (host, region)), port in zip(world.hosts.items(), ports, strict=True)
        }
        site = Site(stack, world, ground, watch, hosts)
        undo.callback(site.stop)
        site.start(*hosts)
        yield site


def _furnish(stack: EmbeddedStack, more: Furnish) -> None:
    make_topics(stack.bootstrap)
    furnish_placement(stack)
    more(stack)


def with_command(process: Process, *command: str) -> Process:
    """The same host, started by another command."""
    return replace(process, command=command)
