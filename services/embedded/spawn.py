"""Starts a child process on a leash (see leash.py), in a session of its own, with its output in a file.

In its own session the child does not see the terminal's Ctrl-C or hang-up: its parent does, and stops its children in
order. The parent must start it from a thread that lives as long as the child should: the leash is tied to a thread.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")


def leashed(command: Sequence[str]) -> list[str]:
    """The command that runs this command on a leash held by the calling process."""
    return [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), *command]


def spawn(
    command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Starts the command; `environment` is added to ours; what it prints is appended to the log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            leashed(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )


def send(child: subprocess.Popen[bytes], signal_number: signal.Signals) -> None:
    """Sends a signal to the child and to all that it started in its session."""
    try:
        os.killpg(child.pid, signal_number)
    except (ProcessLookupError, PermissionError):
        return  # it ended in the meantime
