"""compose/check: every way to set things up wrongly has an answer with a next step."""

import importlib.util
import os
import socket
import subprocess
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from services.settings import NAMES, OTHER_VARIABLES, SILENT_S_MIN
from tests.unit.containers.composed import COMPOSE, services


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
    assert read == set(check.defaults())


def test_the_example_shows_the_defaults(check: ModuleType) -> None:
    """A person who reads `#NAME=value` must be able to believe it; the check itself does."""
    text = (COMPOSE / "compose.yaml").read_text() + (COMPOSE / "world.yaml").read_text()
    for name, value in check.defaults().items():
        assert f"${{{name}:-{value}}}" in text
    assert [] == list(check.check_values(check.defaults()))


@pytest.mark.parametrize(
    ("settings", "what", "remedy"),
    [
        ({"STIGMERGY_KAFKA_PROT": "9093"}, "STIGMERGY_KAFKA_PROT is no setting", "did you mean STIGMERGY_KAFKA_PORT?"),
        ({"STIGMERGY_COLOUR": "red"}, "STIGMERGY_COLOUR is no setting", "compose/.env.example has all settings"),
        ({"STIGMERGY_KAFKA_PORT": "high"}, "'high', which is no port", "1 to 65535"),
        ({"STIGMERGY_KAFKA_PORT": "70000"}, "'70000', which is no port", "1 to 65535"),
        ({"STIGMERGY_KAFKA_EAST_PORT": "banana"}, "'banana', which is no port", "1 to 65535"),
        ({"STIGMERGY_KAFKA_ADDRESS": "here"}, "'here', which is no address", "127.0.0.1"),
        ({"STIGMERGY_KAFKA_ADDRESS": "::1"}, "'::1', which is no address", "[::1]"),
        ({"STIGMERGY_KAFKA_HOST": "box:9092"}, "'box:9092', which is no name of a machine", "the port is a setting"),
        ({"STIGMERGY_KAFKA_HOST": "http://box"}, "'http://box', which is no name of a machine", "like localhost"),
        ({"STIGMERGY_SILENT_S": "soon"}, "'soon', which is no number of seconds", "2 or more"),
        ({"STIGMERGY_SILENT_S": "1"}, "'1', which is no number of seconds", "2 or more"),
        ({"STIGMERGY_REGION": "my region"}, "'my region', which is no name of a region", "letters, digits"),
        ({"STIGMERGY_IMAGE": "My Image"}, "'My Image', which is no name of an image", "redis:7-bookworm"),
        ({"STIGMERGY_KAFKA_IMAGE": "kafka:"}, "'kafka:', which is no name of an image", "redis:7-bookworm"),
        ({"STIGMERGY_KAFKA_HEAP": "512m"}, "'512m', which is no options of Java", "-Xmx512m"),
        ({"STIGMERGY_HOST_MEMORY": "lots"}, "'lots', which is no amount of memory", "768m"),
        ({"STIGMERGY_HOST_MEMORY": "768"}, "'768', which is no amount of memory", "768m"),
        ({"STIGMERGY_HOST_PARKS_ABOVE_MB": "lots"}, "'lots', which is no number of megabytes", "64 or more"),
        ({"STIGMERGY_MODELS_HEAP_MB": "640m"}, "'640m', which is no number of megabytes", "a whole number"),
        ({"STIGMERGY_REDIS_MAXMEMORY": "1.5gb"}, "'1.5gb', which is no amount of memory for Redis", "128mb"),
        ({"STIGMERGY_DEMO_PER_SECOND": "x"}, "'x', which is no rate", "such as 100"),
        ({"STIGMERGY_DEMO_PER_SECOND": "-5"}, "'-5', which is no rate", "such as 100"),
        ({"STIGMERGY_LOG_LEVEL": "loud"}, "STIGMERGY_LOG_LEVEL is 'loud'", "one of debug, info"),
        ({"STIGMERGY_CLUSTER_ID": "mine"}, "no id of a Kafka cluster", "22 letters"),
        ({"STIGMERGY_BUILD_PIP_CONF": "/no/such"}, "'/no/such', which is not there", "leave it out"),
        ({"STIGMERGY_FUNCTIONS": "/no/such"}, "'/no/such', which is no folder that everybody can read", "chmod o+rx"),
        ({"STIGMERGY_KAFKA_HEAP": "-Xmx2g"}, "may use 1024 MB, and its heap alone 2048 MB", "2304m or more"),
        ({"STIGMERGY_KAFKA_MEMORY": "512m"}, "may use 512 MB, and its heap alone 512 MB", "768m or more"),
        ({"STIGMERGY_MODELS_HEAP_MB": "2000"}, "may use 1536 MB, and Spark's heap alone 2000 MB", "2512m or more"),
        ({"STIGMERGY_REDIS_MAXMEMORY": "1gb"}, "may use 256 MB, and its data alone 1024 MB", "STIGMERGY_REDIS_MEMORY"),
        ({"STIGMERGY_HOST_PARKS_ABOVE_MB": "900"}, "768 MB, and before it parks state 900 MB", "HOST_PARKS_ABOVE_MB"),
    ],
)
def test_a_wrong_setting_is_told_with_what_to_do(
    check: ModuleType, settings: dict[str, str], what: str, remedy: str
) -> None:
    """Docker would ignore most of them, or answer with a riddle."""
    (fault,) = [*check.check_names({}, settings), *check.check_values(settings)]
    assert what in fault.what
    assert remedy in fault.remedy


def test_every_setting_has_a_rule_or_may_be_any_text(check: ModuleType) -> None:
    """One without would be found wrong by a service that starts again and again."""
    assert {f"STIGMERGY_{word}" for word in (*check.RULES, *check.FREE)} == set(check.defaults())
    assert SILENT_S_MIN == check.SILENT_S_MIN


@pytest.mark.parametrize(
    "settings",
    [
        {"STIGMERGY_KAFKA_ADDRESS": "[::1]", "STIGMERGY_KAFKA_HOST": "[::1]"},
        {"STIGMERGY_KAFKA_ADDRESS": "0.0.0.0", "STIGMERGY_KAFKA_HOST": "kafka-1.example.org"},
        {"STIGMERGY_IMAGE": "registry.example.org:5000/team/stigmergy:1.2_rc"},
        {"STIGMERGY_KAFKA_IMAGE": f"apache/kafka:4.1.0@sha256:{'0123456789abcdef' * 4}"},
        {"STIGMERGY_REDIS_IMAGE": "redis", "STIGMERGY_SILENT_S": "2.5", "STIGMERGY_REGION": "eu-west.1"},
    ],
)
def test_what_docker_and_our_services_take_is_not_refused(check: ModuleType, settings: dict[str, str]) -> None:
    """A check that is stricter than what it checks for stands in the way."""
    assert [] == list(check.check_values(settings))


def test_a_clone_whose_functions_others_can_not_read_is_told(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Such as one made with umask 077. Hosts would start, and refuse each flow with a python operator."""
    (tmp_path / ".env.example").write_text((COMPOSE / ".env.example").read_text())
    (tmp_path / "functions").mkdir(mode=0o700)
    monkeypatch.setattr(check, "FOLDER", tmp_path)
    (fault,) = check.check_values({})
    assert "'./functions', which is no folder that everybody can read" in fault.what


def test_the_file_of_settings_is_read_as_compose_reads_it(check: ModuleType, tmp_path: Path) -> None:
    """What Compose takes must not be refused."""
    lines = (
        'STIGMERGY_KAFKA_PORT="9192"',
        "STIGMERGY_HOST_MEMORY=1.5g   # for large windows",
        "export STIGMERGY_LOG_LEVEL='debug' # for now",
        "  STIGMERGY_KAFKA_HOST : kafka.example # another spelling",
        "STIGMERGY_REDIS_MEMORY=   # as it is",
        "# STIGMERGY_IMAGE=old",
        "STIGMERGY_KAFKA_HEAP=-Xmx512m -Xms64m",
        "SOMETHING_ELSE=1",
    )
    (tmp_path / ".env").write_text("\n".join(lines))
    found = check.read_file(tmp_path / ".env")
    assert {
        "STIGMERGY_KAFKA_PORT": "9192",
        "STIGMERGY_HOST_MEMORY": "1.5g",
        "STIGMERGY_LOG_LEVEL": "debug",
        "STIGMERGY_KAFKA_HOST": "kafka.example",
        "STIGMERGY_REDIS_MEMORY": "",
        "STIGMERGY_KAFKA_HEAP": "-Xmx512m -Xms64m",
    } == found
    assert [] == [
        *check.check_names(found, {}),
        *check.check_values({name: each for name, each in found.items() if each}),
    ]
    assert {} == check.read_file(tmp_path / "no-such-file")


def test_what_compose_has_to_work_out_is_left_to_it(check: ModuleType) -> None:
    """A value may name another variable."""
    heap = {"STIGMERGY_KAFKA_HEAP": "-Xmx4g", "STIGMERGY_KAFKA_MEMORY": "$ENOUGH"}
    assert [] == list(check.check_values(heap | {"STIGMERGY_KAFKA_PORT": "${BASE}2", "STIGMERGY_MODELS_HEAP_MB": "$X"}))


def test_settings_of_the_command_itself_may_be_in_the_shell_but_do_nothing_in_the_file(check: ModuleType) -> None:
    """They are for `stigmergy`, which the same person uses; in compose/.env nobody would read them."""
    names = {f"STIGMERGY_{name.upper()}" for name in (*NAMES, *OTHER_VARIABLES, "CONFIG")}
    assert names == check.names_of_the_command()
    assert [] == list(check.check_names({}, dict.fromkeys(names, "x")))
    (fault,) = check.check_names({"STIGMERGY_KAFKA_HOME": "/opt/kafka"}, {})
    assert "STIGMERGY_KAFKA_HOME is no setting of the compose files" == fault.what


def test_the_arguments_of_up_say_what_is_to_be_started(check: ModuleType) -> None:
    """Otherwise the remedy for too little memory, fewer hosts, would be refused, too."""
    compose, scales = check.read_arguments(["--scale", "host=1", "--world", "--demo", "--scale=models=0", "--build"])
    assert {"host": 1, "models": 0} == scales
    assert str(COMPOSE / "world.yaml") in compose
    assert ["--profile", "demo"] == compose[-2:]
    assert str(COMPOSE / "world.yaml") not in check.read_arguments([])[0]


def test_a_taken_port_is_told_unless_it_is_our_own(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack that runs already has it. In a world there are two."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = [{"host_ip": "127.0.0.1", "published": str(port), "target": 9092}]
        monkeypatch.setattr(check, "said", lambda *_: f"127.0.0.1:{port}\n")
        (fault,) = check.check_ports(check.Stack(["compose"], {"kafka": {}, "kafka-east": {"ports": ports}}, {}, {}))
        assert f"127.0.0.1:{port}" in fault.what
        assert "STIGMERGY_KAFKA_EAST_PORT" in fault.remedy
        assert [] == list(check.check_ports(check.Stack(["compose"], {"kafka": {"ports": ports}}, {}, {"kafka": 1})))
        assert [] == list(check.check_ports(check.Stack(["compose"], {"kafka": {"ports": ports}}, {"kafka": 0}, {})))


def test_a_port_that_only_the_engine_may_open_is_left_to_it(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may use Docker need not be root, and the engine is."""

    class Closed(socket.socket):
        def bind(self, _address: Any) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(check.socket, "socket", Closed)
    ports = [{"host_ip": "127.0.0.1", "published": "443", "target": 9092}]
    assert [] == list(check.check_ports(check.Stack(["compose"], {"kafka": {"ports": ports}}, {}, {})))


@pytest.mark.parametrize(
    ("scales", "running", "hosts"),
    [({}, {}, 5), ({"host": 9}, {}, 9), ({"host": 9}, {"kafka": 2, "kafka-east": 1, "host": 3}, 6)],
)
def test_too_little_memory_is_told_with_how_much_is_needed(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch, scales: dict[str, int], running: dict[str, int], hosts: int
) -> None:
    """Otherwise the kernel ends whichever service it likes least. What runs already has its memory."""
    monkeypatch.setattr(check, "said", lambda *_: str(100 << 20))
    services = {"kafka": {}, "kafka-east": {"scale": 1}, "host": {"scale": 5}, "volumes": {}}
    (fault,) = check.check_memory(check.Stack(["compose"], services, scales, running))
    needed_mb = (0 if running else 2 * check.NEEDS_MB["kafka"]) + hosts * check.NEEDS_MB["host"]
    assert f"{needed_mb} MB" in fault.what
    assert "--scale host=1" in fault.remedy
    enough = check.Stack(["compose"], services, {"host": 0, "kafka": 0, "kafka-east": 0}, {})
    assert [] == list(check.check_memory(enough))


def test_all_services_have_a_need_of_memory(check: ModuleType) -> None:
    """One that is forgotten would count for nothing."""
    names = {name.partition("-")[0] for name in services(world=True)}
    assert names - {"volumes"} == set(check.NEEDS_MB)


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
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    (fault,) = check.check_engine()
    assert what in fault.what
    assert fault.remedy


def test_an_engine_elsewhere_that_does_not_answer_is_told_with_its_address(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To start one here would not help."""
    refusal = subprocess.CompletedProcess([], 1, "", "Cannot connect to the Docker daemon at tcp://box:2375.")
    monkeypatch.setattr(check.subprocess, "run", lambda *_args, **_: refusal)
    monkeypatch.setenv("DOCKER_HOST", "tcp://box:2375")
    (fault,) = check.check_engine()
    assert "no Docker engine answers at tcp://box:2375" == fault.what
    assert "DOCKER_HOST" in fault.remedy


@pytest.mark.parametrize("is_known", [True, False])
def test_what_compose_has_against_the_settings_is_told_once(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_known: bool
) -> None:
    """In our words if we know the fault, else in its own."""

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        refuses = "config" in command
        return subprocess.CompletedProcess(command, int(refuses), "", "invalid hostPort: banana\n" if refuses else "")

    for name in [each for each in os.environ if each.startswith("STIGMERGY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(check, "FOLDER", COMPOSE)
    monkeypatch.setattr(check, "read_file", lambda _: {"STIGMERGY_KAFKA_PORT": "banana" if is_known else "$FRUIT"})
    monkeypatch.setattr(check.subprocess, "run", run)
    assert 1 == check.main(["--scale", "host=1"])
    told = capsys.readouterr().err
    assert is_known == ("which is no port" in told)
    assert is_known != ("Compose can't use the settings: invalid hostPort" in told)
