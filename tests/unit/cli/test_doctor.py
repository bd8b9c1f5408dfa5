"""`stigmergy doctor`: whatever is wrong comes with its remedy."""

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner, Result

from services.cli import checks
from services.cli.checks import Finding, Verdict, run_checks
from services.cli.exits import ExitCode
from services.cli.main import app
from services.embedded.cluster import settle
from services.embedded.home import Holder, Home
from services.embedded.lifecycle import State
from services.embedded.probes import KafkaProbe
from services.embedded.record import ProcessRecord, StackRecord
from services.embedded.remote import Seen, View
from services.settings import Settings
from topics.admin import Difference


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("STIGMERGY_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def doctor(*flags: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *flags])


def finding(name: str, settings: Settings) -> Finding:
    return next(found for found in run_checks(settings) if found.check == name)


def full_disk(patch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=10)
    patch.setattr(shutil, "disk_usage", lambda path: usage)


def little_memory(patch: pytest.MonkeyPatch) -> None:
    memory = psutil.virtual_memory()._replace(available=10)
    patch.setattr(psutil, "virtual_memory", lambda: memory)


@pytest.mark.parametrize(
    ("check", "spoil", "remedy"),
    [
        ("python", lambda p: p.setattr(checks, "PYTHON_MIN", (9, 9)), "install Python 9.9"),
        ("java", lambda p: p.setenv("JAVA_HOME", "/nowhere"), "install Java 17"),
        ("kafka", lambda p: p.setenv("STIGMERGY_KAFKA_HOME", "/nowhere"), "STIGMERGY_KAFKA_HOME"),
        ("disk", full_disk, "free 2 GiB"),
        ("memory", little_memory, "start fewer brokers"),
        ("clock", lambda p: p.setattr(checks, "CLOCK_EARLIEST_S", 1e11), "set the time"),
        ("broker", lambda p: p.setenv("STIGMERGY_BOOTSTRAP", "127.0.0.1:1"), "STIGMERGY_BOOTSTRAP"),
        ("redis", lambda p: p.setenv("STIGMERGY_REDIS_URL", "redis://127.0.0.1:1"), "it may be restarting"),
    ],
)
def test_what_is_wrong_comes_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, check: str, spoil: Callable[[pytest.MonkeyPatch], None], remedy: str
) -> None:
    """And ends with 1, so that scripts see it."""
    spoil(monkeypatch)
    result = doctor("--json")
    found: dict[str, Any] = next(row for row in json.loads(result.output) if row["check"] == check)
    assert "failed" == found["verdict"], found
    assert remedy in found["remedy"]
    assert ExitCode.FAILURE == result.exit_code
    assert remedy in doctor().output


def test_ports_that_others_took_are_a_warning(home: Home) -> None:
    """It is no failure: `up` takes other ports, but clients must know."""
    home.path.mkdir()
    cluster = settle(home.cluster, 1)
    with socket.create_server(("127.0.0.1", cluster.redis_port)):
        found = finding("ports", Settings(home=home.path))
    assert Verdict.WARNING is found.verdict
    assert str(cluster.redis_port) in found.found
    assert found.remedy is not None


def test_jars_still_to_fetch_are_a_warning(home: Home, tmp_path: Path) -> None:
    """The first `up` then takes longer."""
    found = finding("kafka", Settings(home=home.path, cache=tmp_path / "empty"))
    assert (Verdict.WARNING, "46 of 46 jars to fetch") == (found.verdict, found.found)


@pytest.mark.parametrize(
    ("own", "tool"),
    [("127.0.0.1:9", "kafka-configs --bootstrap-server 127.0.0.1:9"), (None, "kafka.admin.ConfigCommand")],
    ids=["a Kafka of one's own", "the embedded one, without scripts"],
)
def test_each_wrong_topic_is_told_once_with_a_command_that_exists(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: str | None, tool: str
) -> None:
    """The embedded Kafka comes as jars, so its tools are run by java."""
    differences = (
        Difference("stig.hosts", "cleanup.policy", "compact", "delete"),
        Difference("stig.flows", "topic", "present", None),
    )
    monkeypatch.setattr(checks, "compare_topics", lambda bootstrap: differences)
    monkeypatch.setattr(KafkaProbe, "answers", lambda probe: True)
    view = View(Holder(7, 0.0), StackRecord(pid=7, bootstrap="127.0.0.1:8", redis_url=""))
    found = checks.check_topics(Settings(home=tmp_path, bootstrap=own), view)
    hosts = "stig.hosts: cleanup.policy is delete, expected compact"
    assert f"2 wrong: {hosts}; stig.flows: not on the cluster" == found.found
    assert found.remedy is not None
    assert f"{tool} " in found.remedy
    assert "--alter --topic stig.hosts --add-config cleanup.policy=compact; stigmergy up creates it" in found.remedy


@pytest.mark.parametrize(
    ("minutes", "verdict"),
    [({1: "5256000"}, Verdict.OK), ({1: "5256000", 2: "10080"}, Verdict.WARNING), ({}, Verdict.SKIPPED)],
)
def test_brokers_that_soon_forget_offsets_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, minutes: dict[int, str], verdict: Verdict
) -> None:
    """The default of Kafka is a week: a flow that rests for longer would not know any more where it stopped."""
    monkeypatch.setattr(checks, "broker_settings", lambda admin, setting: minutes)
    monkeypatch.setattr(KafkaProbe, "answers", lambda probe: True)
    found = checks.check_offsets(Settings(home=tmp_path, bootstrap="127.0.0.1:1"), View(None, None, ()))
    assert verdict is found.verdict
    if verdict is Verdict.WARNING:
        assert "kept for 7 days after their last commit (broker 2)" in found.found
        assert "offsets.retention.minutes=5256000" in (found.remedy or "")


def test_a_machine_with_all_it_needs_ends_with_0() -> None:
    """Nothing runs yet, which is no failure."""
    result = doctor("--json")
    assert ExitCode.OK == result.exit_code, result.output
    assert "skipped" == next(row for row in json.loads(result.output) if row["check"] == "broker")["verdict"]


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [((True, True), Verdict.OK), ((True, False), Verdict.WARNING), ((False, False), Verdict.FAILED)],
)
def test_placement_needs_one_instance_and_wants_two(answers: tuple[bool, bool], verdict: Verdict) -> None:
    """One can act alone, but nobody takes over from it."""
    seen = [
        Seen(
            ProcessRecord(name=name, state=State.READY, address="x", log="a.log", ready=KafkaProbe(bootstrap="x")), each
        )
        for name, each in zip(("placement-1", "placement-2"), answers, strict=True)
    ]
    assert verdict == checks.check_placement(View(None, None, tuple(seen))).verdict
    assert Verdict.SKIPPED == checks.check_placement(View(None, None, ())).verdict
