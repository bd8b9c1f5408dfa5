"""requirements/install: what it asks of pip. A stand-in for the environment's Python writes down how it is called."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

INSTALL = Path(__file__).parents[2] / "requirements" / "install"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment whose Python only writes down its arguments."""
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path / "calls"}"\n')
    python.chmod(0o755)
    return tmp_path / "venv"


def installs(venv: Path) -> list[str]:
    """The calls of `pip install`."""
    return [call for call in (venv.parent / "calls").read_text().splitlines() if " install " in call]


def test_every_download_is_checked_against_the_lock(venv: Path) -> None:
    """Only this tree itself has no hash."""
    subprocess.run([INSTALL, venv, "some.lock"], check=True, capture_output=True)
    *downloads, ours = installs(venv)
    assert 2 == len(downloads)
    assert all("--require-hashes" in call and "--no-deps" in call for call in downloads)
    assert ours.endswith("--no-deps --no-build-isolation --editable .")


def test_on_a_terminal_pip_may_show_its_progress_bars(venv: Path) -> None:
    """The first time takes minutes; pip shows no bar when it is told to be quiet."""
    terminal, inner = pty.openpty()
    try:
        subprocess.run([INSTALL, venv, "some.lock"], check=True, stdout=inner, stderr=inner)
    finally:
        os.close(inner)
        os.close(terminal)
    assert 3 == len(installs(venv))
    assert not any("--quiet" in call for call in installs(venv))


def test_without_a_terminal_pip_is_quiet(venv: Path) -> None:
    """A hundred lines of it would hide what matters in the log of a test run."""
    subprocess.run([INSTALL, venv, "some.lock"], check=True, capture_output=True)
    assert all("--quiet" in call for call in installs(venv))


def test_an_environment_left_half_made_is_made_again(venv: Path) -> None:
    """An interrupted set-up leaves a Python without pip; trying again must help."""
    (venv / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    made = venv.parent / "made"
    python = venv.parent / "python"
    python.write_text(f'#!/bin/sh\n[ "$2" != venv ] || touch "{made}"\n')
    python.chmod(0o755)
    subprocess.run(
        [INSTALL, venv, "some.lock"], check=False, capture_output=True, env={**os.environ, "PYTHON": str(python)}
    )
    assert made.exists()
