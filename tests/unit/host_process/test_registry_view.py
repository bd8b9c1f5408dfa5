"""What the registry amounts to: the newest valid word counts, and nothing else."""

from collections.abc import Callable

import pytest

from services.registry.view import TOPICS, RegistryView
from tests.unit.registry_messages import registration


def test_a_newer_epoch_replaces_and_an_older_one_is_ignored(placement: Callable, tell: Callable) -> None:
    """A message that comes late must not give a partition back to its former owner."""
    view = RegistryView()
    tell(view, placement(epoch=3, host="b"))
    assert tell(view, placement(epoch=2, host="a")) is None
    assert "b" == view.placements["shop.1", 0].host
    tell(view, placement(epoch=4, host="c"))
    assert "c" == view.placements["shop.1", 0].host


def test_of_equal_epochs_the_later_one_counts(placement: Callable, tell: Callable) -> None:
    """Compaction keeps the later one; a host that reads the topic anew must see what the others saw."""
    view = RegistryView()
    tell(view, placement(epoch=3, host="a"))
    tell(view, placement(epoch=3, host="b"))
    assert "b" == view.placements["shop.1", 0].host


def test_an_older_revision_and_an_older_status_are_ignored(flow: Callable, status: Callable, tell: Callable) -> None:
    """The former owner's last words come after the new owner's first ones."""
    view = RegistryView()
    tell(view, flow(revision=2, text="new"))
    tell(view, flow(revision=1, text="old"))
    tell(view, status(epoch=2, host="b"))
    tell(view, status(epoch=1, host="a", state="stopped"))
    assert "new" == view.flows["shop"].text
    assert "b" == view.statuses["shop.1", 0].host


@pytest.mark.parametrize("topic", sorted(TOPICS))
@pytest.mark.parametrize("value", [b"", b"{}", b"\xff\xfe", b'{"version": 7}', b"[" * 9_999, b'{"version":1,"flow":3}'])
def test_garbage_is_counted_told_and_not_followed(topic: str, value: bytes) -> None:
    """One bad writer must not stop a host."""
    told: list[str] = []
    view = RegistryView(on_garbage=told.append)
    assert view.apply(topic, b"k", value, partition=0, offset=5) is None
    assert (1, 1) == (view.garbage, len(told))
    assert topic in told[0]


def test_a_message_under_another_key_is_garbage(placement: Callable, tell: Callable) -> None:
    """Compaction would keep it beside the true one."""
    view = RegistryView()
    assert tell(view, placement(), key=b"other/0") is None
    assert ({}, 1) == (view.placements, view.garbage)


def test_a_deletion_forgets_its_key_alone(flow: Callable, placement: Callable, tell: Callable) -> None:
    """Keys that mean nothing are survived too."""
    view = RegistryView()
    for message in (flow(), placement(), placement(partition=1), registration("a")):
        tell(view, message)
    for topic, key in [("stig.placements", b"shop.1/0"), ("stig.flows", b"shop"), ("stig.hosts", b"a")]:
        view.apply(topic, key, None, partition=0, offset=9)
    view.apply("stig.placements", b"\xff", None, partition=0, offset=10)
    view.apply("stig.placements", None, None, partition=0, offset=11)
    assert ({}, {}, [("shop.1", 1)]) == (view.flows, view.hosts, list(view.placements))
