"""What `stigmergy flows` and `stigmergy hosts` make of the registry."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

from services.cli import status as status_command
from services.cli.exits import ExitCode
from services.cli.flows import flow_rows, show_flows
from services.cli.hosts import host_rows
from services.cli.main import app
from services.registry.view import RegistryView
from tests.unit.registry_messages import registration


def test_a_flow_runs_when_all_its_slots_run_in_their_epoch(
    flow: Callable, placement: Callable, status: Callable, tell: Callable
) -> None:
    """What was told of an earlier epoch says nothing about the owner of now."""
    view = RegistryView()
    for message in (flow(), placement(epoch=2), placement(partition=1), status(epoch=1), status(partition=1, lag=7)):
        tell(view, message)
    (row,) = flow_rows(view, ["a"], {})
    assert ("starting", 1, 2, None) == (row["state"], row["running"], row["wanted"], row["lag"])
    tell(view, status(epoch=2, lag=1))
    (row,) = flow_rows(view, ["a"], {})
    assert ("running", 2, 8, []) == (row["state"], row["running"], row["lag"], row["trouble"])


def test_a_lag_that_nobody_knows_is_not_zero(
    flow: Callable, placement: Callable, status: Callable, tell: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    """While a partition is parked its records pile up, and nobody fetches: all seemed well in every figure."""
    view = RegistryView()
    parked = status(partition=1, state="parked", reason="no such topic", is_lag_known=False)
    for message in (flow(), placement(), placement(partition=1), status(lag=7), parked):
        tell(view, message)
    rows = flow_rows(view, ["a"], {})
    assert [None] == [row["lag"] for row in rows]
    show_flows(rows)
    assert "?" in capsys.readouterr().out


def test_a_silent_host_is_named(flow: Callable, placement: Callable, status: Callable, tell: Callable) -> None:
    """A host that was killed can't take back that it runs."""
    view = RegistryView()
    for message in (flow(), placement(), placement(partition=1, host="b"), status(), status(partition=1, host="b")):
        tell(view, message)
    (row,) = flow_rows(view, ["a"], {})
    assert ("waiting", 1) == (row["state"], row["running"])
    assert "host b" in row["trouble"][0]


def test_a_parked_slot_tells_its_reason(flow: Callable, placement: Callable, status: Callable, tell: Callable) -> None:
    """It waits for a person, who reads here what to do."""
    view = RegistryView()
    for message in (flow(), placement(), status(state="parked", reason="no such topic")):
        tell(view, message)
    (row,) = flow_rows(view, ["a"], {})
    assert "parked" == row["state"]
    assert "no such topic" in row["trouble"][0]


def test_a_slot_that_never_parks_tells_what_it_waits_for(
    flow: Callable, placement: Callable, status: Callable, tell: Callable
) -> None:
    """A topic that was deleted may come back, so its task is tried for ever: somebody must hear which it is."""
    view = RegistryView()
    for message in (flow(), placement(), status(state="recovering", reason="topic 'results' is not on the broker")):
        tell(view, message)
    (row,) = flow_rows(view, ["a"], {})
    (told,) = row["trouble"]
    assert told.endswith("is tried again on a: topic 'results' is not on the broker")
    tell(view, status(state="recovering"))
    assert [] == flow_rows(view, ["a"], {})[0]["trouble"]


def test_a_topic_that_has_grown_is_told_until_all_of_it_is_read(
    flow: Callable, placement: Callable, status: Callable, tell: Callable
) -> None:
    """Where no placement instance is active nobody else notices: all that is placed runs, and lag is none."""
    view, read = RegistryView(), {"source_partitions": {"orders": 4, "refunds": 2}}
    for message in (flow(), placement(**read), status()):
        tell(view, message)
    (row,) = flow_rows(view, ["a"], {"orders": 8, "refunds": 2, "other": 9})
    (told,) = row["trouble"]
    assert told.startswith("topic orders has 8 partitions, and only 4 of them are read")
    tell(view, placement(source_partitions={"orders": 8, "refunds": 2}))
    assert [] == flow_rows(view, ["a"], {"orders": 8, "refunds": 2})[0]["trouble"]
    assert [] == flow_rows(view, ["a"], {})[0]["trouble"], "a topic that is gone is told by who reads it"


def test_a_host_lives_only_under_its_newest_boot(placement: Callable, tell: Callable) -> None:
    """The report of a process that was replaced does not count for the new one."""
    from types import SimpleNamespace

    view = RegistryView()
    for message in (registration("a", boot_id="2"), placement(), placement(partition=1)):
        tell(view, message)
    old = {"a": SimpleNamespace(boot_id="1", cpu=0.1, memory_bytes=1)}
    new = {"a": SimpleNamespace(boot_id="2", cpu=0.1, memory_bytes=1)}
    assert [False, True, False] == [host_rows(view, live)[0]["lives"] for live in (old, new, {})]  # type: ignore[arg-type]
    assert 2 == host_rows(view, {})[0]["partitions"]


@pytest.fixture
def shop(flow: Callable, placement: Callable, tell: Callable) -> RegistryView:
    """A cluster with one host and one flow on it."""
    view = RegistryView()
    for message in (registration("a"), flow(), placement()):
        tell(view, message)
    return view


@pytest.fixture
def cluster(shop: RegistryView, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[bool], Result]:
    """Runs `status` where no stack runs, but a setting names the cluster of the shop."""
    row = SimpleNamespace(boot_id="1", cpu=0.5, memory_bytes=1 << 20)
    monkeypatch.setenv("STIGMERGY_HOME", str(tmp_path))
    monkeypatch.setenv("STIGMERGY_BOOTSTRAP", "kafka:19092")
    monkeypatch.setattr(status_command, "read_registry", lambda bootstrap: shop)
    monkeypatch.setattr(status_command, "count_topics", lambda bootstrap: {})

    def run(lives: bool, *flags: str) -> Result:
        monkeypatch.setattr(status_command, "live_hosts", lambda bootstrap, *, silent_s: {"a": row} if lives else {})
        return CliRunner().invoke(app, ["status", *flags])

    return run


@pytest.mark.parametrize(
    ("state", "lives", "code"),
    [
        ("running", True, ExitCode.OK),
        ("parked", True, ExitCode.NOT_READY),
        ("running", False, ExitCode.NOT_RUNNING),
    ],
)
def test_status_of_a_cluster_is_that_of_its_hosts_and_flows(
    request: pytest.FixtureRequest, cluster: Callable, state: str, lives: bool, code: ExitCode
) -> None:
    """In a container there is no stack to look at, but a cluster that its settings name."""
    tell, status, shop = (request.getfixturevalue(name) for name in ("tell", "status", "shop"))
    tell(shop, status(state=state, reason="no such topic"))
    shown = cluster(lives)
    assert (code, True) == (shown.exit_code, "shop" in shown.output)
    assert (state == "parked") == ("no such topic" in shown.output)
    whole = json.loads(cluster(lives, "--json").stdout)
    assert ("kafka:19092", ["a"], ["shop"], code is ExitCode.OK) == (
        whole["bootstrap"],
        [each["host"] for each in whole["hosts"]],
        [each["flow"] for each in whole["flows"]],
        whole["ready"],
    )
