"""Pytest fixtures: `pytest_plugins = ["services.testing.fixtures"]` in your conftest.py brings them.

- `stigmergy`: a running Stigmergy, one for the whole test run;
- `submit`: submits a flow to it and waits until it runs; the flow ends with the test;
- `stigmergy_options`: override it in your conftest.py to say how many hosts there are, where your functions are...
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from services.testing.cluster import Stigmergy
from services.testing.commands import CommandError
from services.testing.flow import Flow


@pytest.fixture(scope="session")
def stigmergy_options() -> dict[str, Any]:
    """The arguments of `Stigmergy`."""
    return {}


@pytest.fixture(scope="session")
def stigmergy(stigmergy_options: dict[str, Any]) -> Iterator[Stigmergy]:
    """A running Stigmergy; nothing of it is left after the test run."""
    with Stigmergy(**stigmergy_options) as running:
        yield running


@pytest.fixture
def submit(stigmergy: Stigmergy) -> Iterator[Callable[[Path | str], Flow]]:
    """Submits a flow file, or the text of one."""
    flows: list[Flow] = []

    def run(flow: Path | str) -> Flow:
        flows.append(stigmergy.submit(flow))
        return flows[-1]

    yield run
    for each in flows:
        with suppress(CommandError):  # the test may have withdrawn it itself
            each.withdraw()
