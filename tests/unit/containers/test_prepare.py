"""compose/prepare against a docker that only answers: what it writes, and what it says where no engine can be had."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.containers.composed import COMPOSE

DOCKER = """#!/usr/bin/env bash
if [ "$1" = info ]; then
    echo "$SAYS" >&2
    [ -z "$SAYS" ]
fi
"""

Prepare = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def prepare(tmp_path: Path) -> Prepare:
    """Runs the script in a tree of its own, with an engine that has all images unless it says something else."""
    (tmp_path / "compose").mkdir()
    scripts = {"compose/prepare": (COMPOSE / "prepare").read_text(), "docker": DOCKER}
    never = dict.fromkeys(("apt-get", "debootstrap", "setsid", "systemctl"), "#!/bin/sh\nexit 1\n")
    for name, text in (scripts | never).items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def run(*arguments: str, says: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        here = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}  # an engine of this machine keeps its log elsewhere
        own = here | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SAYS": says, "DOCKER_HOST": ""}
        command = [tmp_path / "compose" / "prepare", *arguments]
        return subprocess.run(command, env=os.environ | own | variables, capture_output=True, text=True, check=False)

    return run


def test_lines_of_the_user_stay_and_those_that_are_missing_are_added(prepare: Prepare, tmp_path: Path) -> None:
    """Also where the last one has no end of its line, and where one is spelt as only Compose reads it."""
    (tmp_path / "compose" / ".env").write_text("export STIGMERGY_REDIS_IMAGE = mine:7\nSTIGMERGY_KAFKA_PORT=9192")
    for _ in range(2):
        assert 0 == prepare(PIP_CONFIG_FILE="/no/such").returncode
        lines = (tmp_path / "compose" / ".env").read_text().splitlines()
        assert ["export STIGMERGY_REDIS_IMAGE = mine:7", "STIGMERGY_KAFKA_PORT=9192"] == lines[:2]
        assert ["STIGMERGY_BASE_IMAGE", "STIGMERGY_KAFKA_IMAGE"] == [
            line.partition("=")[0] for line in lines[2:] if "BUILD" not in line
        ]


@pytest.mark.parametrize(
    ("says", "address", "what"),
    [
        ("permission denied while trying to connect to the Docker daemon", "", "the Docker engine is not for you"),
        ("Cannot connect to the Docker daemon", "tcp://box:2375", "no Docker engine answers at tcp://box:2375"),
    ],
)
def test_an_engine_that_is_not_ours_to_start_is_told(prepare: Prepare, says: str, address: str, what: str) -> None:
    """Another one beside it would not answer, either, and would stay."""
    ran = prepare("engine", says=says, DOCKER_HOST=address)
    assert 1 == ran.returncode
    assert f"error: {what}" in ran.stderr
    assert "next: " in ran.stderr
    assert "starting" not in ran.stderr
