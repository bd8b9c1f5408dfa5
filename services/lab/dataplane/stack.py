"""The broker of a bench: one stack for all that is measured in a run, and nothing of it left afterwards."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.embedded import EmbeddedStack, StackParams
from services.lab.dataplane.ground import Ground, Say
from services.settings import Settings


@contextmanager
def bench_ground(settings: Settings, *, say: Say, warn: Say) -> Iterator[Ground]:
    """A broker for as long as this lasts. Its start may cost what it likes; what comes then is measured."""
    say("starting a broker")
    with tempfile.TemporaryDirectory(prefix="stig-bench-", ignore_cleanup_errors=True) as folder:
        params = StackParams(
            home=Path(folder) / "stack", kafka_home=settings.kafka_home, cache=settings.cache, optimises_late=False
        )
        with EmbeddedStack(params) as stack:
            brokers = [each for each in stack.records() if each.name.startswith("broker")]
            pids = tuple(each.pid for each in brokers if each.pid is not None)
            data = tuple(stack.home.kafka.glob("*/data"))
            yield Ground(stack.bootstrap, pids, Path(folder), settings.cache, say, warn, data)
