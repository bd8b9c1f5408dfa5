"""After how long a silent host is lost: one setting, for all who judge it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from services.cli import flows, hosts, status, top
from services.cli.cluster import cluster_of
from services.cli.run import choose_hosts
from services.cli.up import stack_params
from services.embedded import EmbeddedStack, StackParams
from services.embedded.home import Home
from services.embedded.host_process import host_process
from services.host import main as host_main
from services.placement import furnish
from services.placement import main as placement_main
from services.registry.view import RegistryView
from services.settings import load_settings


def test_hosts_and_placement_instances_of_a_stack_are_told_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they differ, a leader plans around a host that placement still takes for alive, or the other way round."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STIGMERGY_CLUSTER_KEY", "ab" * 32)
    settings = load_settings({"home": tmp_path, "silent_s": 7.5, "return_s": 12.5, "demo": False}, {}).settings
    started: list[Any] = []
    stack: Any = SimpleNamespace(
        params=stack_params(settings),
        home=Home(tmp_path),
        bootstrap="127.0.0.1:1",
        redis_url="",
        bootstrap_from=lambda region: "127.0.0.1:1",
        records=tuple,
        run=lambda *processes: started.extend(processes),
    )
    furnish.furnish_placement(stack)
    host = host_process(stack, "a", "r", 8080, capacity=1.0)
    monkeypatch.setattr(host_main, "calibrate", lambda: 1.0)
    host_params, _, _ = host_main.parse([str(each) for each in host.command[3:]])
    assert 7_500.0 == host_params.cell.silent_ms
    instances = [placement_main.parse(list(each.command[3:]))[0] for each in started]
    assert [(7.5, 12.5)] * 2 == [(each.silent_s_max, each.return_s_max) for each in instances]


def test_commands_judge_by_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """They went by five seconds, whatever the cluster was told: its hosts were silent for people alone."""
    asked: list[float] = []
    monkeypatch.setenv("STIGMERGY_SILENT_S", "7.5")
    monkeypatch.setenv("STIGMERGY_BOOTSTRAP", "localhost:1")
    for module in (hosts, flows, status):
        monkeypatch.setattr(module, "read_registry", lambda *_: RegistryView())
    for module in (flows, status):
        monkeypatch.setattr(module, "count_topics", lambda _: {})
    for where in ("cli.hosts", "cli.flows", "cli.status", "cli.run"):
        monkeypatch.setattr(f"services.{where}.live_hosts", lambda *_, silent_s: asked.append(silent_s) or {"a": None})
    monkeypatch.setattr(top, "measure", lambda *_, **__: ([], []))
    for app in (hosts.app, flows.app, status.app, top.app):
        CliRunner().invoke(app, ["--json"])
    choose_hosts(cluster_of(None, None), None)
    assert [7.5] * 5 == asked


def test_commands_learn_it_from_the_stack_of_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stigmergy up --silent 7.5` is a flag of that command alone."""
    monkeypatch.chdir(tmp_path)
    stack = EmbeddedStack(StackParams(home=tmp_path, bootstrap="localhost:1", silent_s=7.5))
    stack._write_record()
    monkeypatch.setattr(Home, "holder", lambda _: 1)
    assert ("localhost:1", 7.5) == cluster_of(None, tmp_path)
    assert ("other:1", 5.0) == cluster_of("other:1", tmp_path)
