"""Commands beside an active placement instance: it alone says where things run."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from services.cli import assign, authority, run, withdraw
from services.cli.settling import Settled
from services.registry.errors import RegistryError
from services.registry.view import RegistryView
from tests.unit.registry_messages import registration
from topics.messages import FlowRevision, Placement

FLOW = FlowRevision(
    flow="talk", revision=1, state="submitted", text="flow: talk", delivery="at_least_once", changed_ms=1
)
HOST = registration("b")
PLACED = Placement(
    segment="talk.aa", partition=0, epoch=3, host="a", flow="talk", revision=1, operators=("tcp",), placed_ms=1
)


class Registry:
    """What commands wrote, and who holds the lease of placement."""

    def __init__(self) -> None:
        self.holder: str | None = None
        self.written: list[Any] = []

    def read(self, *_: object) -> RegistryView:
        view = RegistryView()
        for message in (FLOW, HOST, PLACED, *self.written):
            view.take(message)
        return view

    def write(self, _: str, entries: list[tuple[Any, Any]]) -> None:
        self.written += [message for _, message in entries]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    found = Registry()
    for module in (assign, withdraw):
        monkeypatch.setattr(module, "read_registry", found.read)
        monkeypatch.setattr(module, "write", found.write)
    monkeypatch.setattr(authority, "lease_holder", lambda *_: found.holder)
    return found


def invoke(app: Any, *arguments: str) -> Any:
    return CliRunner().invoke(app, [*arguments, "--bootstrap", "localhost:1", "--json"])


@pytest.mark.parametrize(("holder", "freed"), [("p1", []), (None, [(None, 4)])])
def test_withdraw_frees_partitions_itself_only_where_nobody_else_would(
    registry: Registry, holder: str | None, freed: list[Any]
) -> None:
    """The active instance may just be writing the same epoch for another owner."""
    registry.holder = holder
    done = invoke(withdraw.app, "talk")
    assert 0 == done.exit_code, done.output
    assert '"placements_ended": 1' in done.output, "they end, whoever frees them"
    assert ["withdrawn"] == [each.state for each in registry.written if isinstance(each, FlowRevision)]
    assert freed == [(each.host, each.epoch) for each in registry.written if isinstance(each, Placement)]


def test_assign_refuses_and_names_the_move_that_would_do(registry: Registry) -> None:
    registry.holder = "p1"
    done = invoke(assign.app, "talk", "--segment", "tcp", "--partition", "0", "--host", "b", "--no-wait")
    assert isinstance(done.exception, RegistryError)
    assert "stigmergy move talk tcp/0 b" in str(done.exception.remedy)
    assert [] == registry.written


def test_assign_works_where_no_instance_is_active(registry: Registry) -> None:
    done = invoke(assign.app, "talk", "--segment", "tcp", "--host", "b", "--no-wait")
    assert 0 == done.exit_code, done.output
    assert [("b", 4)] == [(each.host, each.epoch) for each in registry.written]


@pytest.mark.parametrize(("living", "origins"), [({"a", "b"}, ["a", None]), ({"b"}, [None])])
def test_assign_lets_a_living_owner_drain_and_takes_its_name_back(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, living: set[str], origins: list[str | None]
) -> None:
    """Left in the registry, the name would make the new owner wait for a word at every restart."""
    monkeypatch.setattr(assign, "live_hosts", lambda *_, **__: living)
    monkeypatch.setattr(assign, "wait_running", lambda *_, **__: Settled({}))
    done = invoke(assign.app, "talk", "--segment", "tcp", "--host", "b")
    assert 0 == done.exit_code, done.output
    assert [("b", 4, origin) for origin in origins] == [
        (each.host, each.epoch, each.origin) for each in registry.written
    ]


def test_run_refuses_and_names_submit(registry: Registry, tmp_path: Path) -> None:
    registry.holder = "p1"
    file = tmp_path / "talk.yaml"
    file.write_text("flow: talk")
    done = invoke(run.app, str(file))
    assert isinstance(done.exception, RegistryError)
    assert f"stigmergy submit {file}" in str(done.exception.remedy)
