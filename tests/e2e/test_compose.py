"""The compose files and their scripts as a user runs them, under a project name, port and volumes of their own.

Without the modelling service (`--scale models=0`): building its image, with Spark, takes longer than all of this.
"""

import json
import os
import signal
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from services.embedded.ports import choose_ports
from services.testing import RunningStigmergy, until
from tests.e2e.conftest import EVIDENCE, PATIENCE_S, ROOT
from tests.e2e.drive import Drive, Outcome
from tests.e2e.flows import PARTS

COMPOSE = ("docker", "compose", "--file", "compose/compose.yaml")
HOSTS, PLACEMENTS = 2, 1
"""Not as many as the file has: what counts is what a user asked for. (Two instances are in test_operations.py.)"""
OLDER = "apache/kafka:3.9.0"
IMAGE_BYTES_MAX = 400_000_000
NOT_IN_IT = ("cc", "gcc", "make", "ld", "java", "git", "curl")
"""Commands that would build or fetch something, and Java, which is for Spark."""
NO_BUILDERS = "import importlib.util as u; print([m for m in ('pip', 'setuptools') if u.find_spec(m)])"
UP_S_MAX = 300
LASTS_S = 500.0


class ComposedStigmergy(RunningStigmergy):
    """A compose project, driven by our scripts and by `docker compose`."""

    def __init__(self, project: str, functions: Path) -> None:
        (port,) = choose_ports([None])
        super().__init__(f"localhost:{port}", patience_s=PATIENCE_S)
        self.project = project
        self._environment = os.environ | {
            "COMPOSE_PROJECT_NAME": project,
            "STIGMERGY_KAFKA_PORT": str(port),
            "STIGMERGY_FUNCTIONS": str(functions),
        }

    def up(self) -> float:
        """`compose/up`; how many seconds it took."""
        begun_s = time.monotonic()
        scales = (f"host={HOSTS}", f"placement={PLACEMENTS}", "models=0")
        self.run("compose/up", *(word for scale in scales for word in ("--scale", scale)))
        return time.monotonic() - begun_s

    def compose(self, *arguments: str) -> str:
        """`docker compose ARGUMENTS...` on this project."""
        return self.run(*COMPOSE, *arguments)

    def run(self, *command: str) -> str:
        """What a command printed; AssertionError with all that it said if it failed."""
        ran = self._ran(*command)
        assert 0 == ran.returncode, f"{' '.join(command)}:\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def refusal(self, *command: str, **settings: str) -> str:
        """What a command said that was refused under these settings; AssertionError if it was not."""
        ran = self._ran(*command, **settings)
        assert 0 != ran.returncode, f"{' '.join(command)}:\n{ran.stdout}\n{ran.stderr}"
        return f"{ran.stdout}\n{ran.stderr}"

    def _ran(self, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = self._environment | settings
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=UP_S_MAX, check=False
        )

    def scales(self) -> Counter[str]:
        """How many containers of each service run."""
        return Counter(self.compose("ps", "--format", "{{.Service}}").split())

    def host_names(self) -> set[str]:
        """The hosts that run, by the names of their containers."""
        return set(self.compose("ps", "--format", "{{.Name}}", "host").split())


@pytest.fixture
def composed(functions_folder: Path, request: pytest.FixtureRequest) -> Iterator[ComposedStigmergy]:
    """A project of which nothing runs yet; nothing of it is left afterwards."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    project = os.environ.get("STIGMERGY_TEST_RUN") or f"e2e-{os.getpid()}"
    stack = ComposedStigmergy(project, functions_folder)
    failed_before = request.session.testsfailed
    try:
        yield stack
        if request.session.testsfailed > failed_before:
            EVIDENCE.mkdir(parents=True, exist_ok=True)
            (EVIDENCE / "compose.log").write_text(stack.compose("logs", "--no-color"))
    finally:
        stack.compose("down", "--volumes", "--remove-orphans", "--timeout", "5")


def test_down_and_up_and_a_roll_of_every_service_lose_nothing(
    composed: ComposedStigmergy, tell: Callable[[object], None], report: Callable[[Outcome], None]
) -> None:
    """What the documentation promises a user of the compose files, whose own producer and consumer go on meanwhile."""
    tell(f"ready {composed.up():.0f} s after compose/up, with images and without data")
    tell(f"image of {judge_containers(composed) / 1e6:.0f} MB")
    with Drive(composed, [PARTS], seed=90, state="disk", lasts_s=LASTS_S) as drive:
        drive.until_results(300)
        composed.compose("down")
        assert set() == composed.host_names()
        tell(f"ready {composed.up():.0f} s after the next one, with data")
        drive.until_further_results()
        before, hosts_before = composed.scales(), composed.host_names()
        begun_s = time.monotonic()
        refused = composed.refusal("compose/roll", "kafka", STIGMERGY_KAFKA_IMAGE=OLDER)
        assert "the volumes were written by Kafka" in refused, refused
        said = composed.run("compose/roll")
        tell(f"all {sum(before.values())} containers replaced one by one in {time.monotonic() - begun_s:.0f} s")
        assert before == composed.scales(), said
        hosts = composed.host_names()
        assert hosts.isdisjoint(hosts_before), f"{hosts_before} became {hosts}"
        until(lambda: composed.live_hosts() >= hosts, "the new hosts report")
        drive.until_further_results()
    report(drive.judge())


def judge_containers(stack: ComposedStigmergy) -> int:
    """What image and containers promise: small, labelled, not as root, nothing to write to but what the file lists.

    How many bytes the image has.
    """
    client = docker.from_env()
    try:
        for name in sorted(stack.host_names()):
            container = client.containers.get(name)
            assert container.attrs["HostConfig"]["ReadonlyRootfs"] is True
            assert ["ALL"] == container.attrs["HostConfig"]["CapDrop"]
            assert b"10001" == container.exec_run("id -u").output.strip()
            for folder in ("/", "/opt/stigmergy", "/functions", "/var/lib/stigmergy/cluster"):
                code, said = container.exec_run(["touch", f"{folder}/mark"])
                assert code != 0, folder
                assert b"Read-only" in said or b"Permission denied" in said, said
        container = client.containers.get(min(stack.host_names()))
        assert b"" == container.exec_run(["bash", "-c", f"type -P {' '.join(NOT_IN_IT)}"]).output
        assert b"[]" == container.exec_run(["python", "-c", NO_BUILDERS]).output.strip()
        config = json.loads(stack.compose("config", "--format", "json"))["services"]
        for service in ("kafka", "redis"):
            (other,) = client.containers.list(filters={"name": f"{stack.project}-{service}-1"})
            assert ["ALL"] == other.attrs["HostConfig"]["CapDrop"]
            assert config[service]["image"] == other.attrs["Config"]["Image"]
        version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        image = container.image
        assert image.attrs["Size"] < IMAGE_BYTES_MAX
        assert "10001:10001" == image.attrs["Config"]["User"]
        assert version == image.labels["org.opencontainers.image.version"]
        assert image.labels["org.opencontainers.image.revision"]
        return int(image.attrs["Size"])
    finally:
        client.close()
