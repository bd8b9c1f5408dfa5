"""Which file `stigmergy host` and the hosts of `stigmergy up` read the cluster's key from."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from services.cli import host
from services.cluster_key import KEY_VARIABLE
from services.embedded.home import Home
from services.embedded.host_process import host_process
from services.settings import SettingsError


@pytest.mark.parametrize(
    ("flags", "setting", "expected"),
    [
        (["--key-file", "flag.key"], "setting.key", ("flag.key", "flag.key")),
        ([], "setting.key", (None, "setting.key")),
        ([], "", (None, "home/cluster.key")),
    ],
)
def test_only_a_flag_goes_before_the_environment(
    flags: list[str],
    setting: str,
    expected: tuple[str | None, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The key in the environment goes before a setting's file and before the stack's own."""
    asked: list[tuple[Path | None, Path]] = []

    def read_key(named: Path | None, *, otherwise: Path) -> bytes:
        asked.append((named, otherwise))
        raise SettingsError("far enough", "")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STIGMERGY_CLUSTER_KEY_FILE", setting)
    monkeypatch.setattr(host, "read_key", read_key)
    CliRunner().invoke(host.app, ["--name", "a", "--home", str(tmp_path / "home"), *flags])
    named, otherwise = expected
    assert [(named and tmp_path / named, tmp_path / otherwise)] == asked


@pytest.mark.parametrize(("key", "is_named"), [("a key in the environment", False), ("", True)])
def test_hosts_of_a_stack_take_the_key_of_the_environment_if_there_is_one(
    key: str, is_named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a host that the same person starts beside them would be a stranger."""
    monkeypatch.setenv(KEY_VARIABLE, key)
    stack: Any = SimpleNamespace(
        home=Home(tmp_path),
        params=SimpleNamespace(silent_s=5.0),
        redis_url="",
        bootstrap_from=lambda region: "localhost:1",
        records=tuple,
    )
    assert is_named == ("--key-file" in host_process(stack, "a", "r", 8080).command)
