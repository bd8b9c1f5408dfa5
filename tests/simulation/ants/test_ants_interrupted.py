"""Ctrl-C ends a command that runs seeds on several processors, at once and with all of its processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.waiting import until

COMMANDS = {
    "simulate": ["simulate", "life", "--seeds", "100000"],
    "evaluate": ["evaluate", "queueing/error", "--seeds", "1000"],
}
ROOT = Path(__file__).parents[3]


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_s(pid: int) -> float:
    return float(psutil.Process(pid).cpu_times().user)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupt_ends_all_processes_at_once(command: str) -> None:
    """A pool first works off all seeds that wait, which takes hours, and ignores the next Ctrl-C as well."""
    program = [sys.executable, "-m", "services.cli.main", *COMMANDS[command], "--jobs", "2"]
    running = subprocess.Popen(
        program, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: len(children(running.pid)) == 2, "two processes are started", patience_s=30.0)
        found = children(running.pid)
        until(lambda: all(cpu_s(pid) > 0.2 for pid in found), "both work on seeds", patience_s=30.0)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        _, said = running.communicate(timeout=10.0)
        assert running.returncode != 0
        assert all(map(gone, found))
        assert "Traceback" not in said
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
