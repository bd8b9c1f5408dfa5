"""After how long a silent host is lost: one setting, for all who judge it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.cli.up import stack_params
from services.embedded.home import Home
from services.embedded.host_process import host_process
from services.host import main as host_main
from services.placement import furnish
from services.placement import main as placement_main
from services.settings import load_settings


def test_hosts_and_placement_instances_of_a_stack_are_told_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they differ, a leader plans around a host that placement still takes for alive, or the other way round."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STIGMERGY_CLUSTER_KEY", "ab" * 32)
    settings = load_settings({"home": tmp_path, "silent_s": 7.5, "demo": False}, {}).settings
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
    assert [7.5, 7.5] == [placement_main.parse(list(each.command[3:]))[0].silent_s_max for each in started]
