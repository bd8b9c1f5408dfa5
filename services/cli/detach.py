"""Starts `stigmergy up` in the background and waits until it is ready, or says why it is not."""

import os
import signal
import subprocess
import sys
import time

from services.embedded.errors import AlreadyRunningError, StartError
from services.embedded.home import Home
from services.embedded.record import StackRecord, read_record
from services.embedded.supervisor import last_lines
from services.settings import Settings, as_environment

READY_TIMEOUT_S = 180.0
POLL_S = 0.05


def start_detached(settings: Settings) -> StackRecord:
    """Returns when the stack in the background is ready. An interrupt while it starts stops it again."""
    home = Home(settings.home)
    holder = home.holder()
    if holder is not None:
        raise AlreadyRunningError(
            f"a stack already runs in {home.path} (process {holder.pid})",
            "see it with stigmergy status, stop it with stigmergy down, or give this one another --home",
        )
    home.make()
    home.logs.mkdir(exist_ok=True)
    log = home.logs / "supervisor.log"
    with log.open("ab") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "services.cli.main", "up", "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # what it would show is in its record; the log holds lines of JSON only
            stderr=output,
            env={**os.environ, **as_environment(settings)},
            start_new_session=True,  # it has no terminal that could close
        )
    try:
        return _wait_ready(home, child)
    except BaseException:
        child.send_signal(signal.SIGTERM)
        child.wait()
        raise


def _wait_ready(home: Home, child: subprocess.Popen[bytes]) -> StackRecord:
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline_s:
        ended = child.poll() is not None
        record = read_record(home.record)
        if record is not None and record.pid == child.pid:
            if record.ready:
                return record
            if ended and record.error is not None:
                what, _, remedy = record.error.rpartition("\n")
                raise StartError(what, remedy) if what else StartError(remedy, f"see the logs in {home.logs}")
        if ended:
            shown = "\n".join(f"  {line}" for line in last_lines(home.logs / "supervisor.log"))
            raise StartError(f"the stack did not start:\n{shown}", f"the whole log: {home.logs / 'supervisor.log'}")
        time.sleep(POLL_S)
    raise StartError(f"the stack is not ready after {READY_TIMEOUT_S:.0f} s", f"see the logs in {home.logs}")
