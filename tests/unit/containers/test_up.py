"""compose/up against a docker that only takes notes: what it checks, builds and starts."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.containers.composed import COMPOSE

SERVICES = '{"services": {"kafka": {"image": "k"}, "redis": {"image": "r"}, "volumes": {"image": "v"}}}'
DOCKER = f"""#!/usr/bin/env bash
echo "$*" >>"$NOTES"
case "$*" in
*--services) printf 'host\\nmodels\\n' ;;
*json) echo '{SERVICES}' ;;
*.Size*) echo 388123456 ;;
esac
"""

Up = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def up(tmp_path: Path) -> Up:
    """Runs the script in a tree whose check says what it was given, and refuses if it is told to."""
    (tmp_path / "compose").mkdir()
    (tmp_path / "pyproject.toml").write_text('version = "1"\n')
    scripts = {
        "compose/up": (COMPOSE / "up").read_text(),
        "compose/check": "#!/bin/bash\nprintf '%s\\n' \"$@\"\nexit $REFUSES\n",
        "docker": DOCKER,
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def run(*arguments: str, refuses: bool = False) -> subprocess.CompletedProcess[str]:
        own = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NOTES": f"{tmp_path / 'notes'}", "REFUSES": f"{refuses:d}"}
        command = [tmp_path / "compose" / "up", *arguments]
        return subprocess.run(command, env=os.environ | own, capture_output=True, text=True, check=False)

    return run


def test_up_hands_its_arguments_to_the_check(up: Up) -> None:
    """`compose/up --scale host=1` is what the check advises; it must not refuse it again."""
    arguments = ["--scale", "host=1", "--world", "--demo"]
    ran = up(*arguments, refuses=True)
    assert (1, arguments) == (ran.returncode, ran.stdout.split()), ran.stderr


def test_up_names_all_others_where_no_modelling_service_is_wanted(up: Up, tmp_path: Path) -> None:
    """Compose would build the image with Spark for it, in minutes, and then start none."""
    ran = up("--scale", "models=0", "--scale", "host=2")
    assert 0 == ran.returncode, ran.stderr
    notes = (tmp_path / "notes").read_text().splitlines()
    assert ["--scale=host=2", "host"] == next(line.split()[-2:] for line in notes if " up " in line)
    assert not any("build" in line for line in notes)


def test_the_size_of_an_image_is_told_when_it_is_built(up: Up) -> None:
    """Who pays for disks and downloads sees it grow."""
    ran = up("--build", "--scale", "models=0")
    assert 0 == ran.returncode, ran.stderr
    assert "built v: 388 MB" in ran.stdout


def test_who_asks_for_help_gets_it_and_nothing_else(up: Up, tmp_path: Path) -> None:
    """Not an engine, which would be installed and started first."""
    ran = up("--help")
    assert 0 == ran.returncode, ran.stderr
    assert "compose/up [--demo] [--world] [--build]" in ran.stdout
    assert not (tmp_path / "notes").exists()
