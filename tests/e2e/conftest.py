"""One stack for all tests of this folder, healed after each; what every test reports is shown again at the end."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Before testcontainers is imported. Its reaper is an image from a registry; here everything is removed by the fixtures,
# and what a killed run leaves by tests/e2e/run. The override: a machine that is itself a container has another guess.
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
os.environ.setdefault("TESTCONTAINERS_HOST_OVERRIDE", "localhost")

from services.registry.snapshot import read_registry
from services.testing import Stigmergy
from tests.chaos import functions
from tests.e2e.drive import Outcome

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "build" / "e2e"
HOSTS = ("host-1", "host-2", "host-3")
PLACEMENTS = ("placement-1", "placement-2")
TEST_S_MAX, PATIENCE_S = 600, 240.0
"""For a machine that has much else to do."""

REPORT = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests below this folder, and gives them time: the first one starts the stack."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.timeout(TEST_S_MAX))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORT] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What each test has told."""
    for line in config.stash[REPORT]:
        terminalreporter.write_line(line)


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[object], None]:
    """Shows something of a test now, and again at the end."""

    def show(what: object) -> None:
        line = f"{request.node.name}: {what}"
        print(line)
        request.config.stash[REPORT].append(line)

    return show


@pytest.fixture
def report(tell: Callable[[object], None]) -> Callable[[Outcome], None]:
    """Tells what came of a drive, and fails the test if anything is wrong."""

    def judge(outcome: Outcome) -> None:
        tell(outcome)
        assert not outcome.problems, "\n".join([str(outcome), *outcome.problems, f"seed {outcome.seed}"])

    return judge


@pytest.fixture(scope="session")
def functions_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with the module of their python operators; a host in a container can read it."""
    folder = tmp_path_factory.mktemp("functions")
    package = folder / "tests" / "chaos"
    package.mkdir(parents=True)
    shutil.copy(Path(functions.__file__), package)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def shared_stack(functions_folder: Path) -> Iterator[Stigmergy]:
    """The stack of this test run; tests use `stigmergy`. SIGTERM ends the run as Ctrl-C does: with the clean-up."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Stigmergy(hosts=HOSTS, placements=PLACEMENTS, functions=functions_folder, patience_s=PATIENCE_S) as stack:
        yield stack


@pytest.fixture
def stigmergy(shared_stack: Stigmergy, request: pytest.FixtureRequest) -> Iterator[Stigmergy]:
    """The stack, whole and without flows. After the test it is made so again; after a failed one its logs are kept."""
    failed_before = request.session.testsfailed
    yield shared_stack
    if request.session.testsfailed > failed_before:
        keep_logs(shared_stack, EVIDENCE / request.node.name)
    heal(shared_stack)


def keep_logs(stack: Stigmergy, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for container in stack.containers():
        (folder / f"{container.name}.log").write_text(container.log())


def heal(stack: Stigmergy) -> None:
    """Ends what a test has begun: flows, drained and added hosts, stopped and cut off containers."""
    for container in stack.containers():
        if not container.is_running:
            container.resume()
        if not container.is_connected:
            container.reconnect()
    stack.until_kafka_answers()
    stack.until_ready()
    view = read_registry(stack.bootstrap)
    for name, flow in view.flows.items():
        if flow.state != "withdrawn":
            stack.command("withdraw", name)
    for (subject, name), policy in view.policies.items():
        if (subject, policy.policy) == ("host", "drained"):
            stack.open(name)
    for name in set(stack.hosts) - set(HOSTS):
        stack.remove_host(name)
