"""A start that fails half-way, or is interrupted, leaves nothing behind."""

from pathlib import Path

import psutil
import pytest

from services.embedded import EmbeddedStack, StackError, StackParams, StartError
from services.embedded.cluster import read_cluster
from services.embedded.ports import is_free
from services.embedded.record import read_record


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def assert_nothing_is_left(stack: EmbeddedStack, before: set[int]) -> None:
    assert before == children()
    cluster = read_cluster(stack.home.cluster)
    assert cluster is not None
    assert all(is_free(port) for port in cluster.ports)
    assert stack.home.holder() is None


def test_a_broker_that_cannot_start_is_shown_with_its_log_and_takes_redis_with_it(tmp_path: Path) -> None:
    """Here its storage belongs to another broker; the log says so, and that is what a person must see."""
    meta = tmp_path / "kafka" / "broker-1" / "data" / "meta.properties"
    meta.parent.mkdir(parents=True)
    meta.write_text("version=1\nnode.id=2\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\ndirectory.id=BBBBBBBBBBBBBBBBBBBBBA\n")
    before = children()
    stack = EmbeddedStack(StackParams(home=tmp_path))
    with pytest.raises(StartError) as caught:
        stack.start()
    assert "broker-1 did not start" in caught.value.what
    assert "node" in caught.value.what.split("last log lines:")[1].lower()
    assert str(tmp_path / "logs" / "broker-1" / "server.log") in caught.value.remedy
    assert_nothing_is_left(stack, before)


def test_what_is_built_on_the_brokers_may_fail_too(tmp_path: Path, kafka: str) -> None:
    """Topics, and later hosts, come after brokers and Redis; when they fail, those are stopped again."""
    before = children()

    def fail(stack: EmbeddedStack) -> None:
        assert children() > before  # Redis runs by now
        raise StackError("no", "never mind")

    stack = EmbeddedStack(StackParams(home=tmp_path, bootstrap=kafka), furnish=fail)
    with pytest.raises(StackError, match="never mind"):
        stack.start()
    assert_nothing_is_left(stack, before)


def test_an_interrupt_while_starting_stops_what_was_started(tmp_path: Path, kafka: str) -> None:
    """Ctrl-C does not wait until all is ready."""
    before = children()

    def interrupt(stack: EmbeddedStack) -> None:
        raise KeyboardInterrupt

    stack = EmbeddedStack(StackParams(home=tmp_path, bootstrap=kafka), furnish=interrupt)
    with pytest.raises(KeyboardInterrupt):
        stack.start()
    assert_nothing_is_left(stack, before)
    record = read_record(stack.home.record)
    assert record is not None
    assert "it was interrupted" == record.error
