"""A child on a leash dies with its parent, however the parent ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from services.embedded.spawn import LEASH, leashed

PARENT = """
import subprocess, sys
from services.embedded.spawn import leashed
child = subprocess.Popen(leashed(["sleep", "1000"]), start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


def test_the_child_of_a_killed_parent_is_killed() -> None:
    """kill -9 gives the parent no chance to clean up; the kernel does it."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        while child.name() != "sleep":  # it is still on its way to exec
            assert child.is_running()
        parent.send_signal(signal.SIGKILL)
        psutil.wait_procs([child], timeout=60)
        assert not child.is_running()


def test_a_child_whose_parent_is_already_gone_does_not_run(tmp_path: Path) -> None:
    """The parent may die before the child can ask to be told."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    command = [sys.executable, "-I", "-S", str(LEASH), str(gone.pid), "touch", str(tmp_path / "ran")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"leash: parent {gone.pid} is gone\n" == run.stderr
    assert not (tmp_path / "ran").exists()


def test_a_program_that_cannot_run_is_named() -> None:
    """The message ends up in the log that is shown to the user."""
    run = subprocess.run(leashed(["/no/such/program"]), capture_output=True, text=True, check=False)
    assert 1 == run.returncode
    assert "leash: cannot run /no/such/program: No such file or directory\n" == run.stderr


def test_the_command_takes_the_place_of_the_leash() -> None:
    """One process, not two: signals and exit codes are those of the command."""
    run = subprocess.run(leashed(["sh", "-c", "echo $PPID; exit 7"]), capture_output=True, text=True, check=False)
    assert (7, os.getpid()) == (run.returncode, int(run.stdout))
