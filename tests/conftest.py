"""What all tests share: how property tests search, and one real broker and one real Redis, started on first use.

    def test_x(kafka, topic):             # kafka: bootstrap address; topic: makes a topic and gives its name
        name = topic(partitions=4, config={"cleanup.policy": "compact"})

Under pytest-xdist all test processes share the stack of the first that needs it, which waits for the others at the end.
"""

import fcntl
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from services.cluster_key import KEY_VARIABLE
from services.embedded import EmbeddedStack, StackParams
from services.embedded.record import read_record

os.environ.setdefault(KEY_VARIABLE, "the key of all hosts that tests start")
os.environ.setdefault("STIGMERGY_MODELS", "false")  # Spark takes a core for ten seconds; who tests it starts it

# The same examples in every run, whatever the machine and however slow it is just now: what fails for one fails for
# all, and again. To search elsewhere: `pytest --hypothesis-profile default`.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")


@dataclass(frozen=True)
class Addresses:
    """Where the test run's broker and Redis are."""

    bootstrap: str
    redis_url: str


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """The embedded stack of this test run. No test may stop it; tests that kill things start a stack of their own."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with EmbeddedStack(StackParams(home=base / "stack")) as own:
            yield Addresses(own.bootstrap, own.redis_url)
        return
    with _shared_stack(base.parent) as addresses:
        yield addresses


@contextmanager
def _shared_stack(folder: Path) -> Iterator[Addresses]:
    """All test processes hold `in-use` shared; the owner of the stack stops it when it alone is left."""
    with (folder / "in-use.lock").open("w") as in_use, (folder / "start.lock").open("w") as starting:
        fcntl.flock(in_use, fcntl.LOCK_SH)
        fcntl.flock(starting, fcntl.LOCK_EX)
        record = read_record(folder / "stack" / "stack.json")
        if record is not None and record.ready:
            fcntl.flock(starting, fcntl.LOCK_UN)
            yield Addresses(record.bootstrap, record.redis_url)
            return
        with EmbeddedStack(StackParams(home=folder / "stack")) as own:
            fcntl.flock(starting, fcntl.LOCK_UN)
            yield Addresses(own.bootstrap, own.redis_url)
            fcntl.flock(in_use, fcntl.LOCK_EX)


@pytest.fixture(scope="session")
def kafka(stack: Addresses) -> str:
    """The bootstrap address of the test run's broker."""
    return stack.bootstrap


@pytest.fixture(scope="session")
def redis_url(stack: Addresses) -> str:
    """The test run's Redis. It is shared: use keys of your own."""
    return stack.redis_url


@pytest.fixture
def topic(kafka: str) -> Callable[..., str]:
    """Makes a topic with a unique name, waits until it can be used, and gives its name. `on`: another broker."""
    from confluent_kafka.admin import AdminClient, NewTopic

    def make(name: str = "t", *, partitions: int = 1, config: Mapping[str, str] | None = None, on: str = kafka) -> str:
        admin = AdminClient({"bootstrap.servers": on})
        unique = f"{name}-{uuid.uuid4().hex[:12]}"
        wanted = NewTopic(unique, num_partitions=partitions, replication_factor=1, config=dict(config or {}))
        admin.create_topics([wanted])[unique].result(timeout=60)
        while True:
            found = admin.list_topics(unique, timeout=60).topics[unique]
            if len(found.partitions) == partitions and all(p.leader >= 0 for p in found.partitions.values()):
                return unique

    return make
