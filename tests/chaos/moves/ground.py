"""The ground of the matrix: hosts that lead and place by themselves, two placement instances, and ways that can be cut.

Whoever is hurt is a process under a name of its own: a host, an instance, `broker` or `redis`.
"""

import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path

import psutil

from services.embedded.ports import LOOPBACK, choose_ports
from tests.chaos.ground import Ground, until
from tests.chaos.moves.holds import Holds
from tests.chaos.moves.matrix import HOSTS, INSTANCES
from tests.chaos.moves.ways import WayStack, way_of
from tests.chaos.scenario import BROKER, REDIS

SILENT_S = 4.0
"""A host that has reported nothing for so long is taken for lost, by instances and by leaders."""
ANSWER_S = 2.0


class MoveGround(Ground):
    """Enter it, then `raise_all` for each run. All stay from one run to the next."""

    def __init__(self, folder: Path) -> None:
        self._ways = WayStack(folder / "stack", (*HOSTS, *INSTANCES))
        super().__init__(folder, self._ways)
        self.holds = Holds(folder / "holds")
        self._instances: dict[str, subprocess.Popen[bytes]] = {}
        self._ports = dict(zip(INSTANCES, choose_ports([None] * len(INSTANCES)), strict=True))

    def raise_all(self) -> None:
        """Starts what does not run; returns when all hosts report and one instance is active."""
        self.holds.clear()
        for name in INSTANCES:
            self.start_instance(name)
        self.raise_hosts(HOSTS)
        until(lambda: self.active() is not None, "an instance is active")

    def clear(self) -> None:
        self.holds.clear()
        super().clear()
        for name in list(self._instances):
            self.kill_instance(name)

    def start_instance(self, name: str) -> None:
        """Starts a placement instance unless it runs."""
        if name in self._instances and self._instances[name].poll() is None:
            return
        command = [sys.executable, "-m", "tests.chaos.moves.placement_entry", str(self.holds.folder)]
        command += ["--name", name, "--bootstrap", self._ways.bootstrap_of(name), "--port", str(self._ports[name])]
        command += ["--silent", str(SILENT_S), "--log-format", "json"]
        self._instances[name] = self._spawn(name, command)

    def kill_instance(self, name: str) -> None:
        self._instances[name].kill()
        self._instances[name].wait()

    def ended(self) -> list[str]:
        """Hosts and instances that do not run."""
        return sorted(name for name, each in (self._hosts | self._instances).items() if each.poll() is not None)

    def active(self) -> str | None:
        """The instance that says of itself that it is the one that acts."""
        for name, port in self._ports.items():
            try:
                with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=ANSWER_S) as page:
                    if b"stigmergy_placement_active 1\n" in page.read():
                        return name
            except OSError:
                continue
        return None

    # What hurts, and how it heals. A killed broker or Redis is brought back by its supervisor.

    def hurt(self, name: str, how: str) -> None:
        """Kill it, freeze it, or cut it off."""
        if how == "cut":
            self._signal_ways(name, signal.SIGSTOP)
        elif name in (BROKER, REDIS) and how == "kill":
            killed = {record.pid for record in self._stack.records() if record.name.startswith(name)}
            self.send_service(name, signal.SIGKILL)
            until(
                lambda: not killed & {record.pid for record in self._stack.records()}, f"the end of {name} is noticed"
            )
        elif name in (BROKER, REDIS):
            self.send_service(name, signal.SIGSTOP)
        else:
            self._signal(name, signal.SIGKILL if how == "kill" else signal.SIGSTOP)

    def heal(self, name: str, how: str) -> None:
        """Wake it, mend its way, or start it again."""
        if how == "cut":
            self._signal_ways(name, signal.SIGCONT)
        elif how == "freeze" and name in (BROKER, REDIS):
            self.send_service(name, signal.SIGCONT)
        elif how == "freeze":
            self._signal(name, signal.SIGCONT)
        elif name in INSTANCES:
            self._instances[name].wait()
            self.start_instance(name)
        elif name in HOSTS:
            self._hosts[name].wait()
            self.start(name)

    def _signal_ways(self, name: str, number: signal.Signals) -> None:
        clients = (*HOSTS, *INSTANCES) if name == BROKER else (name,)
        wanted = {way_of(client) for client in clients}
        for record in self._stack.records():
            if record.name in wanted and record.pid is not None:
                os.kill(record.pid, number)

    def _signal(self, name: str, number: signal.Signals) -> None:
        """To the process and its children, of which a function of a user may be one, and may end this very moment."""
        first = psutil.Process((self._hosts | self._instances)[name].pid)
        for process in (first, *first.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _command(self, name: str) -> list[str]:
        _, _, _, *arguments = super()._command(name)
        entry = [sys.executable, "-m", "tests.chaos.moves.host_entry", str(self.holds.folder)]
        return [*entry, *arguments, "--silent", str(SILENT_S)]

    def _bootstrap_of(self, name: str) -> str:
        return self._ways.bootstrap_of(name)
