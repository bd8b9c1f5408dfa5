"""Every test in this folder is marked, and has a ground of its own: these tests kill what others rely on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.ground import Ground


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests below this folder."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.chaos)


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """A broker, Redis and hosts that may be hurt."""
    with Ground(tmp_path_factory.mktemp("ground")) as made:
        yield made
