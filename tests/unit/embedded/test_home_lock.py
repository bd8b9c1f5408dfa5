"""A home belongs to one supervisor at a time, and only what a stack made is ever removed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.embedded.errors import AlreadyRunningError
from services.embedded.home import Home
from services.embedded.record import StackRecord, write_record

HOLD = """
import sys
from pathlib import Path
from services.embedded.home import Home
with Home(Path(sys.argv[1])).locked():
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process_holding(home: Home) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", HOLD, str(home.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "locked\n" == process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_second_supervisor_is_told_who_the_first_is(home: Home) -> None:
    """And what to do about it."""
    with another_process_holding(home) as process:
        with pytest.raises(AlreadyRunningError, match=rf"process {process.pid}[\s\S]*stigmergy down"), home.locked():
            pytest.fail("two supervisors in one home")
        holder = home.holder()
        assert holder is not None
        assert process.pid == holder.pid


def test_a_lock_left_by_kill_9_is_taken_over(home: Home) -> None:
    """The file is still there, but it means nothing."""
    with another_process_holding(home) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        assert home.lock.exists()
        assert home.holder() is None
        with home.locked():
            holder = home.holder()
            assert holder is not None
            assert os.getpid() == holder.pid


def test_a_home_that_nobody_used_has_no_holder(home: Home) -> None:
    """And looking does not make one."""
    assert home.holder() is None
    assert not home.path.exists()


def test_wipe_removes_what_a_stack_made_and_nothing_else(home: Home) -> None:
    """A home may be set to a folder with other things in it."""
    for folder in (home.kafka, home.redis, home.logs):
        folder.mkdir(parents=True)
        (folder / "file").write_text("data")
    home.cluster.write_text("{}")
    (home.path / "thesis.tex").write_text("years of work")
    assert home.wipe()
    assert ["thesis.tex"] == [path.name for path in home.path.iterdir()]


def test_wipe_removes_an_empty_home_and_then_finds_nothing(home: Home) -> None:
    """So that `down --wipe` leaves no trace."""
    with home.locked():
        pass
    assert home.wipe()
    assert not home.path.exists()
    assert not home.wipe()


def test_wipe_never_touches_a_home_in_use(home: Home) -> None:
    """Not even in the moment between stopping and wiping."""
    with another_process_holding(home):
        home.kafka.mkdir()
        with pytest.raises(AlreadyRunningError):
            home.wipe()
        assert home.kafka.exists()


def test_only_its_owner_can_read_a_home(home: Home) -> None:
    """The record holds the address of Redis, which may hold a password; an older folder may be open to all."""
    home.make()
    assert 0o700 == home.path.stat().st_mode & 0o777
    write_record(home.record, StackRecord(pid=1, bootstrap="", redis_url="redis://:hunter2@db"))
    assert 0o600 == home.record.stat().st_mode & 0o777
