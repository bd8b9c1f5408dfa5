"""A stack seen from another process: is it there, is it ready, make it end."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from services.embedded.errors import StackError
from services.embedded.home import Holder, Home
from services.embedded.record import ProcessRecord, StackRecord, read_record

STOP_TIMEOUT_S = 45.0
KILL_TIMEOUT_S = 10.0
POLL_S = 0.05
PROBES_AT_ONCE_MAX = 8


@dataclass(frozen=True)
class Seen:
    """One process: as the supervisor recorded it, and whether it answered just now."""

    record: ProcessRecord
    answers: bool


@dataclass(frozen=True)
class View:
    """A stack as seen now. Without a holder nothing runs, and the record, if any, tells why the last start failed."""

    holder: Holder | None
    record: StackRecord | None
    seen: tuple[Seen, ...] = ()

    @property
    def is_ready(self) -> bool:
        """The supervisor says so, and everything that it waits for answers."""
        if self.holder is None or self.record is None or self.record.pid != self.holder.pid:
            return False
        return self.record.ready and all(seen.answers for seen in self.seen if seen.record.is_awaited)


def look(home: Home) -> View:
    """Reads what the supervisor recorded and asks each process whether it is ready."""
    holder, record = home.holder(), read_record(home.record)
    if holder is None or record is None or not record.processes:
        return View(holder, record)
    with ThreadPoolExecutor(PROBES_AT_ONCE_MAX) as pool:
        answers = list(pool.map(lambda process: process.ready.answers(), record.processes))
    return View(holder, record, tuple(Seen(*pair) for pair in zip(record.processes, answers, strict=True)))


def stop(home: Home) -> bool:
    """Ends the stack in this home and waits until its supervisor is gone. False: there was none.

    A supervisor that does not end in time is killed; its children die with it.
    """
    holder = home.holder()
    if holder is None:
        return False
    if holder.pid == os.getpid():
        raise StackError("this process runs the stack itself", "leave its context instead")
    for signal_number, timeout_s in ((signal.SIGTERM, STOP_TIMEOUT_S), (signal.SIGKILL, KILL_TIMEOUT_S)):
        _signal(holder, signal_number)
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            if not holder.lives():  # later than the lock's release, which comes before Python's own end
                return True
            time.sleep(POLL_S)
    raise StackError(f"process {holder.pid} does not end, even when killed", "look at it with ps; a disk may hang")


def _signal(holder: Holder, signal_number: signal.Signals) -> None:
    try:
        os.kill(holder.pid, signal_number)
    except ProcessLookupError:
        return  # it ended by itself
    except PermissionError as fault:
        raise StackError(
            f"process {holder.pid} belongs to another user", "stop it as that user, or use another --home"
        ) from fault
