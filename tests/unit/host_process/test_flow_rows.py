"""What `stigmergy flows` and `stigmergy hosts` make of the registry."""

from collections.abc import Callable

from services.cli.flows import flow_rows
from services.cli.hosts import host_rows
from services.registry.view import RegistryView


def test_a_flow_runs_when_all_its_slots_run_in_their_epoch(
    flow: Callable, placement: Callable, status: Callable, tell: Callable
) -> None:
    """What was told of an earlier epoch says nothing about the owner of now."""
    view = RegistryView()
    for message in (flow(), placement(epoch=2), placement(partition=1), status(epoch=1), status(partition=1, lag=7)):
        tell(view, message)
    (row,) = flow_rows(view, ["a"])
    assert ("starting", 1, 2, 7) == (row["state"], row["running"], row["wanted"], row["lag"])
    tell(view, status(epoch=2, lag=1))
    (row,) = flow_rows(view, ["a"])
    assert ("running", 2, 8, []) == (row["state"], row["running"], row["lag"], row["trouble"])


def test_a_silent_host_is_named(flow: Callable, placement: Callable, status: Callable, tell: Callable) -> None:
    """A host that was killed can't take back that it runs."""
    view = RegistryView()
    for message in (flow(), placement(), placement(partition=1, host="b"), status(), status(partition=1, host="b")):
        tell(view, message)
    (row,) = flow_rows(view, ["a"])
    assert ("waiting", 1) == (row["state"], row["running"])
    assert "host b" in row["trouble"][0]


def test_a_parked_slot_tells_its_reason(flow: Callable, placement: Callable, status: Callable, tell: Callable) -> None:
    """It waits for a person, who reads here what to do."""
    view = RegistryView()
    for message in (flow(), placement(), status(state="parked", reason="no such topic")):
        tell(view, message)
    (row,) = flow_rows(view, ["a"])
    assert "parked" == row["state"]
    assert "no such topic" in row["trouble"][0]


def test_a_host_lives_only_under_its_newest_boot(host: Callable, placement: Callable, tell: Callable) -> None:
    """The report of a process that was replaced does not count for the new one."""
    from types import SimpleNamespace

    view = RegistryView()
    for message in (host(boot_id="2"), placement(), placement(partition=1)):
        tell(view, message)
    old = {"a": SimpleNamespace(boot_id="1", cpu=0.1, memory_bytes=1)}
    new = {"a": SimpleNamespace(boot_id="2", cpu=0.1, memory_bytes=1)}
    assert [False, True, False] == [host_rows(view, live)[0]["lives"] for live in (old, new, {})]  # type: ignore[arg-type]
    assert 2 == host_rows(view, {})[0]["partitions"]
