""".ci/run and the tests in containers: what passes only at the second look is named, and what fails twice fails."""

import os
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[3] / ".ci" / "run"
FAILED = '  "tests/e2e/test_faults.py::test_a_host_is_killed": true'


def ci(folder: Path, *, names_failure: bool, second_code: int) -> subprocess.CompletedProcess[str]:
    """The script in a tree where `make test-e2e` fails and all else passes."""
    for each in (".ci", "tests/e2e", ".pytest_cache/v/cache"):
        (folder / each).mkdir(parents=True)
    scripts = {
        ".ci/run": RUN.read_text(),
        "tests/e2e/run": f"#!/bin/bash\nexit {second_code}\n",
        "make": '#!/bin/bash\n[ "$2" != test-e2e ]\n',
    }
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    if names_failure:
        (folder / ".pytest_cache/v/cache/lastfailed").write_text(f"{{\n{FAILED}\n}}\n")
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run([folder / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False)


def test_what_passes_only_at_the_second_look_is_named_at_the_end(tmp_path: Path) -> None:
    """A green run must not hide it."""
    ran = ci(tmp_path, names_failure=True, second_code=0)
    assert 0 == ran.returncode
    end = ran.stdout.partition("== time")[2]
    assert "a bug to find" in end
    assert FAILED in end


@pytest.mark.parametrize("names_failure", [True, False])
def test_what_fails_twice_or_can_not_say_what_failed_fails(tmp_path: Path, names_failure: bool) -> None:
    """An image that can't be built is no test that may pass the second time."""
    ran = ci(tmp_path, names_failure=names_failure, second_code=1 if names_failure else 0)
    assert 1 == ran.returncode
    assert "failed: make test-e2e" in ran.stdout
    assert "a bug to find" not in ran.stdout
