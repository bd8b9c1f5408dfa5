"""`stigmergy up` on a terminal that closes, and with a broker of the user's own. No broker is started here."""

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from services.embedded.home import Home
from services.embedded.remote import look, stop

STIGMERGY = str(Path(sys.executable).with_name("stigmergy"))
WAIT_S = 120.0


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home")
    yield home
    stop(home)


def environment(home: Home, kafka: str) -> dict[str, str]:
    return {**os.environ, "STIGMERGY_HOME": str(home.path), "STIGMERGY_BOOTSTRAP": kafka, "STIGMERGY_DEMO": "false"}


def test_a_closed_terminal_stops_all(home: Home, kafka: str) -> None:
    """The kernel sends SIGHUP, and nothing can be printed any more."""
    terminal, inside = pty.openpty()
    command = ["setsid", "--ctty", "--wait", STIGMERGY, "up"]
    shell = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env=environment(home, kafka))
    os.close(inside)
    said = b""
    while b"stop it" not in said:
        said += os.read(terminal, 4096)
    view = look(home)
    assert view.is_ready
    assert view.holder is not None
    redis_pid = next(seen.record.pid for seen in view.seen if seen.record.name == "redis")
    assert redis_pid is not None
    everything = [psutil.Process(view.holder.pid), psutil.Process(redis_pid)]
    os.close(terminal)
    _, alive = psutil.wait_procs(everything, timeout=WAIT_S)
    assert [] == alive
    shell.wait(WAIT_S)
    assert home.holder() is None
    assert not home.record.exists()  # it was stopped in order, not killed


def test_a_broker_of_the_users_own_is_used(home: Home, kafka: str) -> None:
    """None is started beside it; the topics are made on it."""
    run = subprocess.run(
        [STIGMERGY, "up", "--detach", "--json"],
        env=environment(home, kafka),
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert 0 == run.returncode, run.stderr
    record = json.loads(run.stdout)
    assert kafka == record["bootstrap"]
    assert [("kafka", None), ("redis", int)] == [
        (process["name"], type(process["pid"]) if process["pid"] else None) for process in record["processes"]
    ]
    assert look(home).is_ready
    assert not home.kafka.exists()


def test_a_broker_that_does_not_answer_is_told(home: Home) -> None:
    """At once, and nothing runs afterwards."""
    started_s = time.monotonic()
    run = subprocess.run(
        [STIGMERGY, "up", "--detach", "--bootstrap", "127.0.0.1:1"],
        env={**os.environ, "STIGMERGY_HOME": str(home.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert 1 == run.returncode
    assert "no kafka answers at 127.0.0.1:1" in run.stderr
    assert "Traceback" not in run.stderr
    assert home.holder() is None
    assert time.monotonic() - started_s < WAIT_S / 2
