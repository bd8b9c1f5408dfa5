"""What is shown, and where: without a terminal the error stream is a log, one JSON object a line."""

import json
import sys
from pathlib import Path

import pytest

from services.cli.download import download_bar
from services.cli.screen import busy, progress
from services.cli.stack_screen import show_stack
from services.embedded.lifecycle import State
from services.embedded.probes import RedisProbe
from services.embedded.record import ProcessRecord, StackRecord
from services.logs import configure_logs


def test_waiting_says_nothing_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Rich would leave an empty line, which is no JSON."""
    with busy("stopping"):
        pass
    assert ("", "") == capsys.readouterr()


def test_a_warm_cache_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does a download that never began."""
    with download_bar():
        pass
    assert ("", "") == capsys.readouterr()


def test_without_a_terminal_a_download_is_one_line_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    """However many jars it has."""
    configure_logs()
    with download_bar() as on_progress:
        on_progress(10, 30)
        on_progress(30, 30)
    (line,) = capsys.readouterr().err.splitlines()
    assert ("fetching Kafka", 30) == (json.loads(line)["event"], json.loads(line)["bytes"])


@pytest.mark.parametrize(
    ("path", "program"), [("", ".venv/bin/stigmergy"), (str(Path(sys.executable).parent), "stigmergy")]
)
def test_what_to_try_next_can_be_typed_as_it_is_shown(
    path: str, program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After `make up` the program is in .venv, and not on the PATH."""
    monkeypatch.setenv("PATH", path)
    monkeypatch.setattr(sys, "argv", [".venv/bin/stigmergy", "up"])
    monkeypatch.setenv("STIGMERGY_HOME", "/a/home")
    show_stack(StackRecord(pid=1, bootstrap="", redis_url=""), Path("/a/home"), detached=True)
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["stop", "it", program, "down"] in words


def tips(capsys: pytest.CaptureFixture[str], *names: str) -> str:
    processes = tuple(
        ProcessRecord(name=name, state=State.READY, address="", log="", ready=RedisProbe(url="")) for name in names
    )
    record = StackRecord(pid=1, bootstrap="localhost:9092", redis_url="", processes=processes)
    show_stack(record, Path("/a/home"), detached=True)
    return capsys.readouterr().out


def test_what_to_try_next_is_there_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the demo nobody reads its topic, and without a placement instance `submit` would be refused."""
    demo, world, bare = (
        tips(capsys, *names) for names in (("edge-1", "demo", "placement-1"), ("east-1", "placement-1"), ("redis",))
    )
    assert ["demo-packets" in each for each in (demo, world, bare)] == [True, False, False]
    assert ["submit FILE" in each for each in (demo, world, bare)] == [True, True, False]
    assert "explain demo-top-talkers" in demo
    assert "explain FLOW" in world
    assert "host --name edge-1" in bare
    assert "localhost:9092" in world
    assert "localhost:9092" in bare


def test_a_home_that_only_a_flag_named_is_part_of_what_to_try(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without it, `down` would look into another home and find nothing."""
    monkeypatch.setenv("STIGMERGY_HOME", "/a/home")
    show_stack(StackRecord(pid=1, bootstrap="", redis_url=""), Path("/another"), detached=True)
    assert "down --home /another" in capsys.readouterr().out


def test_long_work_tells_where_it_is_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Who kept a bench's output in a file saw nothing for eleven minutes, and could not tell a hang from work."""
    configure_logs()
    with progress("starting a broker") as say:
        say("round 1 of 3")
    assert ["starting a broker", "round 1 of 3"] == [
        json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()
    ]
