"""`stigmergy drain`: when a host is empty, and what is said where nothing can leave it."""

from typing import Any

import pytest
from typer.testing import CliRunner

from services.cli import drain
from services.registry.view import RegistryView
from tests.unit.registry_messages import registration
from topics.messages import Placement, Policy

NOTE = "no other open host lives"


def placed(host: str | None, *, origin: str | None = None, epoch: int = 1) -> Placement:
    about: dict[str, Any] = {"flow": "talk", "revision": 1, "operators": ("tcp",), "placed_ms": 1}
    return Placement(segment="talk.aa", partition=0, epoch=epoch, host=host, origin=origin, **about)


class Cluster:
    """Hosts a, b and c are registered; `course`: where the partition is, at one look after the other."""

    def __init__(self) -> None:
        self.view = RegistryView()
        self.live = {"a", "b"}
        self.course: list[Placement] = []
        self.laid_down: list[tuple[str, str, str]] = []
        for name in ("a", "b", "c"):
            self.view.take(registration(name))

    def read(self, *_: object) -> RegistryView:
        if self.course:
            self.view.take(self.course.pop(0))
        return self.view

    def lay_down(self, _: str, *policy: str) -> None:
        self.laid_down.append(policy)  # type: ignore[arg-type]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    monkeypatch.setattr(drain, "read_registry", found.read)
    monkeypatch.setattr(drain, "lay_down", found.lay_down)
    monkeypatch.setattr(drain, "live_hosts", lambda *_, **__: dict.fromkeys(found.live))
    monkeypatch.setattr(drain, "POLL_S", 0.01)
    return found


def run(*arguments: str) -> Any:
    return CliRunner().invoke(drain.app, ["a", "--bootstrap", "localhost:1", *arguments])


def test_a_host_that_still_drains_is_not_empty(cluster: Cluster) -> None:
    """Whoever shut its machine down then cut off its last batch and its commit."""
    cluster.course = [placed("a"), placed("a"), placed("b", origin="a", epoch=2), placed("b", epoch=3)]
    ran = run()
    assert (0, []) == (ran.exit_code, cluster.course), ran.output
    assert "a is empty" in ran.output
    assert NOTE not in ran.output

    cluster.course = [placed("b", origin="a", epoch=4)]
    ran = run("--timeout", "0.05")
    assert 1 == ran.exit_code
    assert "1 partitions are still on a" in ran.output


def test_a_partition_that_nobody_owns_keeps_no_host_busy(cluster: Cluster) -> None:
    cluster.course = [placed(None, origin="a")]
    assert "a is empty" in run().output


@pytest.mark.parametrize(("drained", "is_told"), [((), False), (("b",), True), (("c",), False)])
def test_where_nothing_can_go_that_is_said_at_once(cluster: Cluster, drained: tuple[str, ...], is_told: bool) -> None:
    """It waited for five minutes without a word. A host that is silent does not count: c is."""
    for name in drained:
        cluster.view.take(Policy(subject="host", name=name, policy="drained", changed_ms=0))
    cluster.course = [placed("a")]
    ran = run("--timeout", "0.05")
    assert [("host", "a", "drained")] == cluster.laid_down
    assert is_told == (NOTE in ran.output)
