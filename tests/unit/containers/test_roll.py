"""compose/roll against a docker that only takes notes: which containers go, in which order, and how many come back."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.containers.composed import COMPOSE, services

ROLL = COMPOSE / "roll"
DOCKER = """#!/usr/bin/env bash
echo "$*" >>"$NOTES"
case "$*" in *' ps '*) cat "$RUNNING" ;; esac
case "$*" in *"${FAILS:-nothing}"*) exit 1 ;; esac
"""

Roll = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def roll(tmp_path: Path) -> Roll:
    """Runs the script while these containers run: NAME SERVICE in each line."""
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)

    def run(*arguments: str, running: list[str], fails: str = "") -> subprocess.CompletedProcess[str]:
        (tmp_path / "running").write_text("".join(f"{line}\n" for line in running))
        variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NOTES": f"{tmp_path / 'notes'}"}
        environment = os.environ | variables | {"RUNNING": f"{tmp_path / 'running'}", "FAILS": fails}
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
    assert ["exec s-host-1 stigmergy drain s-host-1", "stop s-host-1", "rm --volumes s-host-1"] == of_the_first[:3]
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


def test_no_service_is_forgotten() -> None:
    """One that is added to the files is to be rolled with the others; the first container ends by itself."""
    (order,) = re.findall(r"^everything=\((.*)\)$", ROLL.read_text(), re.MULTILINE)
    assert set(services(world=True)) - {"volumes"} == set(order.split())


def test_the_volumes_are_looked_at_before_anything_is_stopped(roll: Roll, tmp_path: Path) -> None:
    """An older image that can't read them must not get the chance, and what a newer one writes has to be noted."""
    assert 0 == roll("kafka", running=["s-kafka-1 kafka"]).returncode
    lines = (tmp_path / "notes").read_text().splitlines()
    (look,) = [number for number, line in enumerate(lines) if line.endswith("run --rm --no-deps -T volumes")]
    assert look < lines.index("stop s-kafka-1")
    (tmp_path / "notes").unlink()
    refused = roll("kafka", running=["s-kafka-1 kafka"], fails=" volumes")
    assert (1, []) == (refused.returncode, notes(tmp_path, "stop"))
    assert "nothing was replaced" in refused.stderr


@pytest.mark.parametrize("fails", ["stigmergy drain s-host-1", "stop s-host-1", " up "])
def test_a_roll_that_ends_early_says_where_and_how_to_go_on(roll: Roll, tmp_path: Path, fails: str) -> None:
    """By then a container may be gone, and a host be empty. A plain `up` would replace all others at once."""
    ran = roll("host", running=["s-host-1 host", "s-host-2 host"], fails=fails)
    assert 0 != ran.returncode
    assert "the roll ended at s-host-1" in ran.stderr
    assert "up --detach --wait --no-deps --no-recreate --scale host=2 host, then compose/roll" in ran.stderr
    assert "stigmergy drain --undo s-host-1" in ran.stderr
    assert [] == notes(tmp_path, "stop", "s-host-2")


def test_a_name_that_stays_drained_is_told_and_the_roll_goes_on(roll: Roll, tmp_path: Path) -> None:
    """After a `down` and `up` a host of this name would stand empty without a word."""
    ran = roll("host", running=["s-host-1 host", "s-host-2 host"], fails="--undo s-host-1")
    assert 0 == ran.returncode
    assert "the name s-host-1 stays drained" in ran.stderr
    assert "the roll ended" not in ran.stderr
    assert notes(tmp_path, "stop", "s-host-2")


@pytest.mark.parametrize(("named", "running"), [(["models"], ["s-host-1 host"]), ([], [])])
def test_what_does_not_run_is_told_before_anything_is_stopped(
    roll: Roll, tmp_path: Path, named: list[str], running: list[str]
) -> None:
    """A half of a roll would be worse than none."""
    ran = roll(*named, running=running)
    assert 1 == ran.returncode
    assert "next: compose/up" in ran.stderr
    assert [] == notes(tmp_path, "stop")
