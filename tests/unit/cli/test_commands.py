"""The commands without a broker: help, version, config, exit codes, and what `down --wipe` asks."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from services.cli.exits import ExitCode
from services.cli.main import COMMANDS, app, main
from services.cli.stack_screen import print_stack
from services.cli.status import exit_code
from services.embedded.cluster import settle
from services.embedded.home import Holder, Home
from services.embedded.lifecycle import State
from services.embedded.probes import RedisProbe
from services.embedded.record import ProcessRecord, StackRecord, write_record
from services.embedded.remote import Seen, View
from services.lab.dataplane.ground import BenchError
from services.process.health import CannotListenError
from topics.admin import Difference


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("STIGMERGY_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def run(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=typed)


def test_help_names_every_command_and_exit_code() -> None:
    """It is where people look first."""
    lines = [line.strip() for line in run("--help").output.splitlines()]
    assert all(any(f" {command} " in line for line in lines) for command in COMMANDS)
    assert all(any(line.startswith(f"{code.value}  ") for line in lines) for code in ExitCode)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    """And can be imported."""
    assert 0 == run(command, "--help").exit_code


def test_version_imports_nothing_heavy() -> None:
    """A command that only prints a line must answer at once."""
    code = (
        "import sys; from typer.testing import CliRunner; from services.cli.main import app;"
        "assert CliRunner().invoke(app, ['version']).exit_code == 0;"
        "print([m for m in ('confluent_kafka','redis','psutil','structlog','numpy','yaml') if m in sys.modules])"
    )
    assert "[]\n" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_version_as_json() -> None:
    """For scripts."""
    assert {"version", "python"} == set(json.loads(run("version", "--json").output))


def test_config_says_where_a_value_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """And hides credentials."""
    monkeypatch.setenv("STIGMERGY_REDIS_URL", "redis://:hunter2@db:6379/0")
    rows = {row["setting"]: row for row in json.loads(run("config", "--json").output)}
    assert "redis://***@db:6379/0" == rows["redis_url"]["value"]
    assert "environment STIGMERGY_REDIS_URL" == rows["redis_url"]["from"]
    assert (1, "default") == (rows["brokers"]["value"], rows["brokers"]["from"])
    assert "hunter2" not in run("config").output


def test_config_shows_paths_whole_and_brackets_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that a narrow table folds can't be copied, and Rich takes `[cores]` for a style."""
    folder = "/a/long/way/down/" + "x" * 80
    monkeypatch.setenv("STIGMERGY_CACHE", folder)
    monkeypatch.setenv("STIGMERGY_MODELS_MASTER", "local[cores]")
    shown = CliRunner().invoke(app, ["config"], env={"COLUMNS": "40"}).output
    assert folder in shown
    assert "local[cores]" in shown
    assert "Folder of downloads, for all clones (environment STIGMERGY_CACHE)" in shown


def test_a_wrong_setting_ends_with_2_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user's mistakes are told in plain words."""
    monkeypatch.setenv("STIGMERGY_BROKERS", "many")
    monkeypatch.setattr(sys, "argv", ["stigmergy", "config"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ExitCode.USAGE == ended.value.code
    assert "STIGMERGY_BROKERS: brokers is 'many'" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/home/other"), ["/home/other: Permission", "correct the"]),
        (OSError(errno.ENOSPC, "No space left on device", "/data/x"), ["/data/x: No space left", "free some space"]),
        (FileExistsError(errno.EEXIST, "File exists", "/a/file"), ["/a/file: File exists", "another --home"]),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "/a/file/x"), ["/a/file/x: Not a", "another --home"]),
        (BenchError("all flows to be placed: not in 180 s"), ["not in 180 s", "ask less of it"]),
        (CannotListenError("port 8090 is taken", "choose another --port"), ["port 8090 is taken", "another --port"]),
    ],
    ids=["rights", "disk full", "home is a file", "home lies in a file", "a bench on a busy machine", "a port"],
)
def test_a_fault_of_the_machine_is_told_with_its_remedy(
    fault: Exception, told: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk is no bug of ours, and a traceback helps nobody."""

    def fail(*arguments: object) -> None:
        raise fault

    monkeypatch.setattr("services.cli.config.load_settings", fail)
    monkeypatch.setattr(sys, "argv", ["stigmergy", "config"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ExitCode.FAILURE == ended.value.code
    assert all(part in said for part in told), said


@pytest.mark.parametrize("command", ["host", "placement"])
@pytest.mark.parametrize("port", ["0", "65536"])
def test_a_port_that_there_is_not_is_refused(command: str, port: str) -> None:
    """It ended in a traceback of the event loop, after the host had registered."""
    ended = run(command, "--name", "a", "--port", port)
    assert ExitCode.USAGE == ended.exit_code
    assert "--port" in ended.output


def test_status_of_nothing_is_3() -> None:
    """And says how to start."""
    result = run("status")
    assert ExitCode.NOT_RUNNING == result.exit_code
    assert "stigmergy up" in result.output
    assert not json.loads(run("status", "--json").output)["running"]


def test_status_tells_why_the_last_start_failed(home: Home) -> None:
    """The terminal that showed it may be gone."""
    home.path.mkdir()
    write_record(home.record, StackRecord(pid=1, bootstrap="", redis_url="", error="broker-1 did not start: no space"))
    assert "broker-1 did not start: no space" in run("status").output


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_status_hides_credentials(home: Home, flags: list[str]) -> None:
    """An address of the user's own Redis may carry a password, and what status prints is often kept."""
    home.path.mkdir()
    error = "no redis answers at redis://:hunter2@db:6379/0\nstart it"
    write_record(home.record, StackRecord(pid=1, bootstrap="", redis_url="", error=error))
    said = run("status", *flags).output
    assert "redis://***@db:6379/0" in said
    assert "hunter2" not in said


def test_the_stack_as_json_hides_credentials(capsys: pytest.CaptureFixture[str]) -> None:
    """`up --detach` lets it go to the supervisor's log."""
    url = "redis://:hunter2@db:6379/0"
    redis = ProcessRecord(name="redis", state=State.READY, address=url, log="", ready=RedisProbe(url=url))
    print_stack(StackRecord(pid=1, bootstrap="db:9092", redis_url=url, processes=(redis,), ready=True))
    said = capsys.readouterr().out
    assert ("redis://***@db:6379/0", "db:9092") == (json.loads(said)["redis_url"], json.loads(said)["bootstrap"])
    assert "hunter2" not in said


def test_up_in_the_background_tells_of_topics_that_are_not_as_they_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that used them writes to a log which nobody reads."""
    record = StackRecord(pid=1, bootstrap="db:9092", redis_url="", ready=True)
    monkeypatch.setattr("services.cli.up.start_detached", lambda settings: record)
    wrong = Difference("stig.hosts", "cleanup.policy", "compact", "delete")
    monkeypatch.setattr("services.cli.up.compare_topics", lambda bootstrap: (wrong,))
    assert f"warning: topic {wrong.what}; stigmergy doctor" in run("up", "--detach", "--bootstrap", "db:9092").output


def view(*answers: bool, ready: bool = True, pid: int = 7) -> View:
    processes = tuple(
        ProcessRecord(name=str(i), state=State.READY, address="", log="", ready=RedisProbe(url=""))
        for i in range(len(answers))
    )
    record = StackRecord(pid=pid, bootstrap="", redis_url="", processes=processes, ready=ready)
    return View(Holder(7, 0.0), record, tuple(Seen(*pair) for pair in zip(processes, answers, strict=True)))


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (View(None, None), ExitCode.NOT_RUNNING),
        (View(Holder(7, 0.0), None), ExitCode.NOT_READY),
        (view(True, True), ExitCode.OK),
        (view(True, False), ExitCode.NOT_READY),
        (view(True, ready=False), ExitCode.NOT_READY),
        (view(True, pid=6), ExitCode.NOT_READY),
    ],
    ids=["nothing", "locked, no record yet", "all answer", "one is silent", "still starting", "record of a dead one"],
)
def test_status_is_0_only_when_all_is_ready(seen: View, code: ExitCode) -> None:
    """Scripts wait for it."""
    assert code is exit_code(seen)


def test_down_without_a_stack_is_no_fault() -> None:
    """What was asked for is already so."""
    result = run("down")
    assert ExitCode.OK == result.exit_code
    assert "Nothing ran" in result.output


def test_down_as_json() -> None:
    """For scripts: whether something ran, and whether something was removed."""
    assert {"stopped": False, "removed": False}.items() <= json.loads(run("down", "--json").output).items()


@pytest.fixture
def data(home: Home) -> Path:
    """A home with something to lose."""
    home.kafka.mkdir(parents=True)
    (home.kafka / "records").write_text("precious")
    settle(home.cluster, 1)
    return home.kafka / "records"


@pytest.mark.parametrize("typed", ["n\n", "", "\n"])
def test_wipe_asks_and_keeps_the_data_without_a_yes(data: Path, typed: str) -> None:
    """Also when nobody can answer."""
    result = run("down", "--wipe", typed=typed)
    assert ExitCode.FAILURE == result.exit_code
    assert "Remove all topics" in result.output
    assert data.exists()


@pytest.mark.parametrize(("flags", "typed"), [(["--wipe"], "y\n"), (["--wipe", "--yes"], "")])
def test_wipe_with_a_yes_removes_the_data(data: Path, home: Home, flags: list[str], typed: str) -> None:
    """Typed or given; also what a full disk left half written."""
    home.record.with_suffix(".part").touch()
    assert ExitCode.OK == run("down", *flags, typed=typed).exit_code
    assert not home.path.exists()


def test_down_keeps_the_data(data: Path) -> None:
    """Until it is wiped."""
    run("down")
    assert data.exists()
