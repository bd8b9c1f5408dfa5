"""compose/roll against a docker that only takes notes: which containers go, in which order, and how many come back."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROLL = Path(__file__).parents[3] / "compose" / "roll"
DOCKER = """#!/usr/bin/env bash
echo "$*" >>"$NOTES"
case "$*" in *' ps '*) cat "$RUNNING" ;; esac
"""

Roll = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def roll(tmp_path: Path) -> Roll:
    """Runs the script while these containers run: NAME SERVICE in each line."""
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)

    def run(*arguments: str, running: list[str]) -> subprocess.CompletedProcess[str]:
        (tmp_path / "running").write_text("".join(f"{line}\n" for line in running))
        variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NOTES": f"{tmp_path / 'notes'}"}
        environment = os.environ | variables | {"RUNNING": f"{tmp_path / 'running'}"}
        return subprocess.run([ROLL, *arguments], env=environment, capture_output=True, text=True, check=False)

    return run


def notes(folder: Path, *words: str) -> list[str]:
    """The commands that docker got with all of these words in them."""
    lines = (folder / "notes").read_text().splitlines()
    return [line for line in lines if set(words) <= set(line.split())]


def test_as_many_hosts_run_afterwards_as_before(roll: Roll, tmp_path: Path) -> None:
    """Without a scale, the file's own would stop two of these five at the first step, with all that they run."""
    assert 0 == roll("host", running=[f"s-host-{n} host" for n in range(1, 6)]).returncode
    assert 5 == len(notes(tmp_path, "up"))
    assert notes(tmp_path, "up") == notes(tmp_path, "up", "--scale", "host=5", "--no-recreate", "--no-deps")


def test_a_host_is_emptied_before_it_goes_and_its_name_is_opened_again(roll: Roll, tmp_path: Path) -> None:
    """Its partitions move with their state, instead of being found missing."""
    assert 0 == roll("host", running=["s-host-1 host", "s-host-2 host"]).returncode
    lines = (tmp_path / "notes").read_text().splitlines()
    of_the_first = [line for line in lines if "s-host-1" in line]
    assert ["exec s-host-1 stigmergy drain s-host-1", "stop s-host-1", "rm s-host-1"] == of_the_first[:3]
    assert of_the_first[3].endswith("exec -T host stigmergy drain --undo s-host-1")


def test_the_only_host_is_not_emptied(roll: Roll, tmp_path: Path) -> None:
    """There is nowhere to go; in a world the hosts of other regions are somewhere."""
    assert 0 == roll("host", running=["s-host-1 host"]).returncode
    assert [] == [line for line in notes(tmp_path, "drain") if "--undo" not in line]
    world = ["w-host-1 host", "w-host-east-1 host-east"]
    assert 0 == roll("--world", "host-east", running=world).returncode
    assert ["exec w-host-east-1 stigmergy drain w-host-east-1"] == [
        line for line in notes(tmp_path, "drain") if "--undo" not in line
    ]


def test_by_default_all_that_runs_is_replaced(roll: Roll, tmp_path: Path) -> None:
    """Also the modelling service, and what a world adds; a service that does not run stays so."""
    running = ["s-kafka-1 kafka", "s-models-1 models", "s-redis-1 redis", "s-host-edge-1 host-edge"]
    assert 0 == roll("--world", running=running).returncode
    assert ["s-redis-1", "s-kafka-1", "s-models-1", "s-host-edge-1"] == [
        line.split()[1] for line in notes(tmp_path, "stop")
    ]
    assert all("compose/world.yaml" in line for line in notes(tmp_path, "up"))


@pytest.mark.parametrize(("named", "running"), [(["models"], ["s-host-1 host"]), ([], [])])
def test_what_does_not_run_is_told_before_anything_is_stopped(
    roll: Roll, tmp_path: Path, named: list[str], running: list[str]
) -> None:
    """A half of a roll would be worse than none."""
    ran = roll(*named, running=running)
    assert 1 == ran.returncode
    assert "next: compose/up" in ran.stderr
    assert [] == notes(tmp_path, "stop")
