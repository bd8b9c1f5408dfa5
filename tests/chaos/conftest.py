"""Every test in this folder is marked, and has a ground of its own: these tests kill what others rely on.

A run of tests with a bad verdict ends with a code of its own: `tests/run` then has no second look, by which a loss in
every third run would be a green run two times out of three.
"""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.chaos.ground import Ground
from tests.chaos.verdict import BadVerdictError

BAD_VERDICT_CODE = 10
BAD_VERDICT = ("verdict", "bad")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests below this folder."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.chaos)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes a bad verdict where also the process sees it that has others run the tests."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(BadVerdictError):
        report.user_properties.append(BAD_VERDICT)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Gives a run with a bad verdict its code."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    failed = reporter.stats.get("failed", []) if reporter is not None else []
    if any(BAD_VERDICT in map(tuple, report.user_properties) for report in failed):
        session.exitstatus = BAD_VERDICT_CODE


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """A broker, Redis and hosts that may be hurt."""
    with Ground(tmp_path_factory.mktemp("ground")) as made:
        yield made
