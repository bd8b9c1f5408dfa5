"""tests/run: a few failed tests get a second look, but nothing that a fault test found lost, doubled or wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.conftest import BAD_VERDICT_CODE

ROOT = Path(__file__).parents[3]
FAILED = "tests/chaos/test_sample.py::test_faults[12]"
PYTEST = f"""#!/bin/bash
# All tiers pass but the fault tests, and so does the second look.
echo "pytest $*"
[ "$1" = tests/chaos ] || exit 0
mkdir -p .pytest_cache/v/cache
echo '  "{FAILED}": true' >.pytest_cache/v/cache/lastfailed
exit $FAULT_TESTS_CODE
"""


def run(folder: Path, fault_tests_code: int) -> subprocess.CompletedProcess[str]:
    """The script in a tree where the fault tests end with this code."""
    for name, text in {"tests/run": (ROOT / "tests" / "run").read_text(), ".venv/bin/pytest": PYTEST}.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    environment = os.environ | {"FAULT_TESTS_CODE": str(fault_tests_code)}
    return subprocess.run([folder / "tests" / "run"], env=environment, capture_output=True, text=True, check=False)


def test_what_fails_once_and_then_passes_is_named(tmp_path: Path) -> None:
    """A machine that stood still is no reason for a red run."""
    ran = run(tmp_path, 1)
    assert 0 == ran.returncode
    assert FAILED in ran.stdout.partition("a bug to find")[2]


def test_a_bad_verdict_gets_no_second_look(tmp_path: Path) -> None:
    """A loss in one run of three would be green in two of them."""
    ran = run(tmp_path, BAD_VERDICT_CODE)
    assert BAD_VERDICT_CODE == ran.returncode
    assert "--last-failed" not in ran.stdout
    assert "a bad verdict" in ran.stderr


@pytest.mark.parametrize(
    ("verdict", "processes", "code"),
    [
        ("Verdict(problems=['1 of 2 results lost'])", ("--numprocesses", "1"), BAD_VERDICT_CODE),
        ("Verdict(problems=['waited 180 s in vain'], waited_in_vain=True)", (), 1),
    ],
    ids=["lost, as seen by the process that has others run the tests", "in vain"],
)
def test_the_code_of_the_fault_tests_says_which_it_was(
    tmp_path: Path, verdict: str, processes: tuple[str, ...], code: int
) -> None:
    """What was waited for in vain may be the machine's fault; what was lost is not."""
    hooks = "from tests.chaos.conftest import pytest_runtest_makereport, pytest_sessionfinish\n"
    (tmp_path / "conftest.py").write_text(hooks)
    test = f"from tests.chaos.verdict import Verdict\ndef test_it(): {verdict}.demand_good('seed 1')\n"
    (tmp_path / "test_it.py").write_text(test)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), *processes, str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert code == ran.returncode, ran.stdout
