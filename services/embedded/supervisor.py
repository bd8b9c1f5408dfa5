"""Starts processes in order, watches them, starts again what ends, and stops them in the reverse order.

One thread owns all children, from the first to the last: the kernel ties a child's leash to the thread that started it,
so that no child can outlive the supervisor, however it ends. Decisions are in lifecycle.py; this file acts on them.
"""

import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from services.embedded.errors import StartError
from services.embedded.lifecycle import Event, Life, State, is_due, step
from services.embedded.process import Process, stop_layers
from services.embedded.record import ProcessRecord
from services.embedded.spawn import send, spawn

TICK_S = 0.05
LOG_LINES_SHOWN = 15
KILL_TIMEOUT_S = 5.0

OnChange = Callable[[Sequence[ProcessRecord], str], None]
"""Called with all processes and a sentence on what changed, in the supervisor's thread."""


class Supervisor:
    """Runs the processes from `start` to `stop`."""

    def __init__(self, on_change: OnChange) -> None:
        self._cares: dict[str, _Care] = {}
        self._on_change = on_change
        self._crash: BaseException | None = None
        self._stop_asked = threading.Event()
        self._hurry = threading.Event()
        self._ended = threading.Event()  # Thread.join is not safe after an interrupt (CPython issue 90882)
        self._settled = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def start(self) -> None:
        """Begins; returns at once."""
        self._thread.start()

    def add(self, processes: Sequence[Process]) -> None:
        """Takes further processes into care: each starts as soon as those are ready that it comes after."""
        with self._settled:
            for process in processes:
                assert process.name not in self._cares, f"two processes are called {process.name}"
                unknown = set(process.after) - {*self._cares, *(other.name for other in processes)}
                assert not unknown, f"{process.name} comes after {sorted(unknown)}, which nobody runs"
            # A new table instead of a changed one: the supervisor's thread may be walking over the old one.
            self._cares = {**self._cares, **{process.name: _Care(process) for process in processes}}

    def wait_ready(self) -> None:
        """Returns when all awaited processes are ready. Raises StartError, with its last log lines, if one never is."""
        with self._settled:
            self._settled.wait_for(lambda: self._failed() or self._all_ready() or self._ended.is_set())
        if failed := self._failed():
            logs = " and ".join(map(str, failed.process.logs))
            raise StartError(failed.explain(), f"the whole story is in {logs}; or try stigmergy doctor")
        self._raise_crash()

    def stop(self) -> None:
        """Stops all processes and waits for their end. A second interrupt on the way kills what is left."""
        self._stop_asked.set()
        if self._thread.ident is None:  # it was never started
            return
        try:
            self._ended.wait()
        except KeyboardInterrupt:
            self._hurry.set()
            self._ended.wait()

    def wait(self) -> None:
        """Stays until `stop` was called in another thread, or until an interrupt."""
        self._ended.wait()
        self._raise_crash()

    def records(self) -> tuple[ProcessRecord, ...]:
        """All processes as they are now."""
        return tuple(care.record() for care in self._cares.values())

    def _raise_crash(self) -> None:
        if self._crash is not None:
            raise RuntimeError("the supervisor broke down; all its processes are stopped") from self._crash

    def _failed(self) -> "_Care | None":
        return next((care for care in self._awaited() if care.life.state is State.FAILED), None)

    def _all_ready(self) -> bool:
        return all(care.life.state is State.READY for care in self._awaited())

    def _awaited(self) -> "list[_Care]":
        return [care for care in self._cares.values() if care.process.is_awaited]

    def _run(self) -> None:
        try:
            while not self._stop_asked.wait(TICK_S):
                for care in self._cares.values():
                    self._advance(care)
        except BaseException as fault:  # noqa: BLE001 - it is told in the thread that waits
            self._crash = fault
        finally:
            try:
                self._stop_all()
            finally:
                self._ended.set()
                with self._settled:
                    self._settled.notify_all()

    def _advance(self, care: "_Care") -> None:
        """Looks at one process and does what is due."""
        process, life, now_s = care.process, care.life, time.monotonic()
        if life.state is State.WAITING:
            if all(self._cares[name].life.state is State.READY for name in process.after):
                self._launch(care)
        elif life.state in (State.STARTING, State.READY) and care.exit_code() is not None:
            self._happened(care, Event.EXITED, f"ended with {_describe_exit(care.exit_code())}")
            care.reap_group()
        elif life.state is State.STARTING:
            if process.ready.answers():
                self._happened(care, Event.ANSWERED, f"ready after {time.monotonic() - life.since_s:.1f} s")
            elif now_s - life.since_s > process.start_timeout_s:
                care.note = f"did not answer within {process.start_timeout_s:.0f} s"
                care.kill()
        elif is_due(life, process.restart, now_s=now_s):
            self._launch(care)

    def _launch(self, care: "_Care") -> None:
        care.launch()
        self._happened(care, Event.LAUNCHED, "started" if care.life.starts == 0 else "started again")

    def _happened(self, care: "_Care", event: Event, what: str) -> None:
        with self._settled:
            care.life = step(care.life, event, care.process.restart, now_s=time.monotonic())
            self._settled.notify_all()
        self._on_change(self.records(), f"{care.process.name} {what}")

    def _stop_all(self) -> None:
        for layer in stop_layers([care.process for care in self._cares.values()]):
            cares = [self._cares[name] for name in layer]
            for care in cares:
                if care.life.state in (State.STARTING, State.READY):
                    self._happened(care, Event.STOP_ASKED, "is stopping")
                    care.ask_to_stop()
                else:
                    self._happened(care, Event.STOP_ASKED, "does not run")
            for care in cares:
                if care.life.state is State.STOPPING:
                    care.wait_end(self._hurry)
                    self._happened(care, Event.EXITED, "has stopped")


class _Care:
    """One process in the supervisor's care: its child, when there is one, and its life so far."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.life = Life()
        self.note: str | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._born_at_s: float | None = None
        self._stop_before_s = 0.0

    def launch(self) -> None:
        """Starts the child; its leash is held by the calling thread."""
        self.note = None
        self._child = spawn(self.process.command, log=self.process.log, environment=self.process.environment)
        try:
            self._born_at_s = psutil.Process(self._child.pid).create_time()
        except psutil.NoSuchProcess:
            self._born_at_s = None

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._child.poll() if self._child is not None else None

    def ask_to_stop(self) -> None:
        """Sends the polite signal, and notes how long to wait."""
        assert self._child is not None
        send(self._child, self.process.stop_signal)
        self._stop_before_s = time.monotonic() + self.process.stop_timeout_s

    def wait_end(self, hurry: threading.Event) -> None:
        """Waits for the end; kills it when it takes too long or somebody is in a hurry."""
        while self.exit_code() is None:
            if hurry.wait(TICK_S) or time.monotonic() > self._stop_before_s:
                self.kill()
                assert self._child is not None
                self._child.wait(KILL_TIMEOUT_S)
        self.reap_group()

    def kill(self) -> None:
        """Kills the child and all that it started."""
        assert self._child is not None
        send(self._child, signal.SIGKILL)

    reap_group = kill
    """The child has ended; what it started and left behind must not stay."""

    def record(self) -> ProcessRecord:
        """What others may know of it."""
        lives = self.life.state in (State.STARTING, State.READY, State.STOPPING) and self._child is not None
        return ProcessRecord(
            name=self.process.name,
            state=self.life.state,
            address=self.process.address,
            log=str(self.process.log),
            ready=self.process.ready,
            pid=self._child.pid if lives and self._child is not None else None,
            born_at_s=self._born_at_s if lives else None,
            restarts=self.life.restarts,
            is_awaited=self.process.is_awaited,
        )

    def explain(self) -> str:
        """Why it failed, with the last lines of its logs."""
        why = self.note or f"ended with {_describe_exit(self.exit_code())}"
        said = [line for log in self.process.logs for line in last_lines(log)]
        shown = "\n".join(f"  {line}" for line in said[-LOG_LINES_SHOWN:]) or "  (it wrote no log)"
        return f"{self.process.name} did not start: it {why}. Its last log lines:\n{shown}"


def last_lines(path: Path, count: int = LOG_LINES_SHOWN) -> list[str]:
    """The last lines of a log; none if there is no such file."""
    try:
        with path.open(errors="replace") as file:
            return [line.rstrip() for line in deque(file, maxlen=count)]
    except FileNotFoundError:
        return []


def _describe_exit(code: int | None) -> str:
    assert code is not None
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
