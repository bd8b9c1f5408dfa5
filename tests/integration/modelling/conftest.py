"""One broker, one Redis and one service for a module; see ground.py."""

import signal
from collections.abc import Iterator

import pytest

from services.embedded import EmbeddedStack, StackParams
from services.embedded.furniture import make_topics
from tests.integration.modelling.ground import Ground, ModellingProcess, Pace


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One broker, one Redis and one service for a module; its tests go through the service's life in their order."""
    folder = tmp_path_factory.mktemp("models")
    with EmbeddedStack(StackParams(home=folder / "stack")) as stack:
        make_topics(stack.bootstrap)
        service = ModellingProcess(stack, folder / "models")
        service.start()
        yield Ground(stack, service)
        if service.is_running():
            service.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def pace(ground: Ground) -> Iterator[Pace]:
    """Metrics, second by second, through all that happens."""
    with Pace(ground.stack.bootstrap) as running:
        yield running
