"""The project that the documentation shows is run as its owner would run it: its own stack, its own pytest."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "docs" / "example-project"


def test_the_example_project_passes_its_own_tests(tell: Callable[[object], None]) -> None:
    """An example that does not work is worse than none. It compares all results with all that it expects, by itself."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={PROJECT}", str(PROJECT)]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=560, check=False)
    tell(ran.stdout.strip().rpartition("\n")[2])
    assert 0 == ran.returncode, f"{ran.stdout}\n{ran.stderr}"
