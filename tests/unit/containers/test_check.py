"""compose/check: every way to set things up wrongly has an answer with a next step."""

import importlib.util
import socket
import subprocess
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

import pytest

from tests.unit.containers.composed import COMPOSE


@pytest.fixture
def check() -> ModuleType:
    """The script as a module."""
    loader = SourceFileLoader("compose_check", str(COMPOSE / "check"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_every_variable_of_the_compose_files_is_explained(check: ModuleType) -> None:
    """And nothing is explained that they do not read."""
    files = ("compose.yaml", "world.yaml", "stand-ins.yaml", "up")
    text = "".join((COMPOSE / name).read_text() for name in files)
    read = {part.split(":")[0].split("}")[0] for part in text.split("${")[1:] if part.startswith("STIGMERGY_")}
    assert read == set(check.known_names())


def test_the_example_shows_the_defaults(check: ModuleType) -> None:
    """A person who reads `#NAME=value` must be able to believe it."""
    text = (COMPOSE / "compose.yaml").read_text() + (COMPOSE / "world.yaml").read_text()
    for line in (COMPOSE / ".env.example").read_text().splitlines():
        name, is_setting, value = line.removeprefix("#").partition("=")
        if is_setting and name in check.known_names():
            assert f"${{{name}:-{value}}}" in text


@pytest.mark.parametrize(
    ("settings", "what", "remedy"),
    [
        ({"STIGMERGY_KAFKA_PROT": "9093"}, "STIGMERGY_KAFKA_PROT is no setting", "did you mean STIGMERGY_KAFKA_PORT?"),
        ({"STIGMERGY_COLOUR": "red"}, "STIGMERGY_COLOUR is no setting", "compose/.env.example has all settings"),
        ({"STIGMERGY_KAFKA_PORT": "high"}, "'high', which is no port", "1 to 65535"),
        ({"STIGMERGY_KAFKA_PORT": "70000"}, "'70000', which is no port", "1 to 65535"),
        ({"STIGMERGY_HOST_MEMORY": "lots"}, "'lots', which is no amount of memory", "768m"),
        ({"STIGMERGY_LOG_LEVEL": "loud"}, "STIGMERGY_LOG_LEVEL is 'loud'", "one of debug, info"),
        ({"STIGMERGY_CLUSTER_ID": "mine"}, "no id of a Kafka cluster", "22 letters"),
        ({"STIGMERGY_BUILD_PIP_CONF": "/no/such"}, "names /no/such, which is not there", "leave it out"),
        ({"STIGMERGY_KAFKA_HEAP": "-Xmx2g"}, "may use 1024 MB, and its heap alone 2048 MB", "2304m or more"),
        ({"STIGMERGY_KAFKA_MEMORY": "512m"}, "may use 512 MB, and its heap alone 512 MB", "768m or more"),
    ],
)
def test_a_wrong_setting_is_told_with_what_to_do(
    check: ModuleType, settings: dict[str, str], what: str, remedy: str
) -> None:
    """Docker would ignore most of them, or answer with a riddle."""
    (fault,) = [*check.check_names(settings), *check.check_values(settings)]
    assert what in fault.what
    assert remedy in fault.remedy


def test_settings_of_the_command_itself_may_be_in_the_shell(check: ModuleType) -> None:
    """They are for `stigmergy`, which the same person uses."""
    assert [] == list(check.check_names({"STIGMERGY_HOME": "/x", "STIGMERGY_BOOTSTRAP": "a:1"}))


def test_a_taken_port_is_told_unless_it_is_our_own(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack that runs already has it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(check, "running_port", lambda: None)
        (fault,) = check.check_port({"STIGMERGY_KAFKA_PORT": str(port)})
        assert f"127.0.0.1:{port}" in fault.what
        assert "STIGMERGY_KAFKA_PORT" in fault.remedy
        monkeypatch.setattr(check, "running_port", lambda: port)
        assert [] == list(check.check_port({"STIGMERGY_KAFKA_PORT": str(port)}))


def test_too_little_memory_is_told_with_how_much_is_needed(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the kernel ends whichever service it likes least."""
    answers = {"info": str(1 << 30), "config": '{"services": {"kafka": {}, "host": {"scale": 5}}}'}
    monkeypatch.setattr(check, "running_port", lambda: None)
    monkeypatch.setattr(check, "said", lambda *command: next(v for k, v in answers.items() if k in command))
    (fault,) = check.check_memory()
    needed_mb = check.NEEDS_MB["kafka"] + 5 * check.NEEDS_MB["host"]
    assert f"{needed_mb} MB" in fault.what
    assert "--scale host=1" in fault.remedy


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (FileNotFoundError(), "no docker command"),
        ((1, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock."), "no Docker engine answers"),
        ((1, "permission denied while trying to connect to the Docker daemon"), "not for you"),
    ],
)
def test_an_engine_that_does_not_answer_is_told(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch, answer: Any, what: str
) -> None:
    """With how to get one."""

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if isinstance(answer, Exception):
            raise answer
        return subprocess.CompletedProcess(command, answer[0], "", answer[1])

    monkeypatch.setattr(check.subprocess, "run", run)
    (fault,) = check.check_engine()
    assert what in fault.what
    assert fault.remedy
