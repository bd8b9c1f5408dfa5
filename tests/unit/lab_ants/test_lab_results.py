"""Result files say which code wrote them."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from services.lab import evidence
from services.lab.checkout import commit, commits_since
from services.lab.results import Results, results, write


def git(folder: Path, *words: str) -> str:
    name = ["-c", "user.name=t", "-c", "user.email=t"]
    said = subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True, text=True)
    return said.stdout.strip()


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A file of a checkout."""
    (tmp_path / "docs").mkdir()
    file, kept = tmp_path / "code.py", tmp_path / "docs" / "kept.json"
    file.write_text("")
    kept.write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "all")
    return file


def test_a_checkout_tells_its_commit(code: Path) -> None:
    assert git(code.parent, "rev-parse", "HEAD") == commit(code)


def test_changed_code_is_told_and_changed_docs_are_not(code: Path) -> None:
    """`make evidence` keeps its first results in docs while the next ones run."""
    (code.parent / "docs" / "kept.json").write_text("{}")
    assert git(code.parent, "rev-parse", "HEAD") == commit(code)
    code.write_text("x = 1")
    assert f"{git(code.parent, 'rev-parse', 'HEAD')}-dirty" == commit(code)


def test_later_commits_of_a_folder_are_counted(code: Path) -> None:
    """A page that shows old results says how old they are; what nobody knows is not made up."""
    before = git(code.parent, "rev-parse", "HEAD")
    (code.parent / "docs" / "kept.json").write_text("{}")
    git(code.parent, "commit", "--quiet", "--all", "-m", "another")
    assert (0, 1) == (commits_since(before, "code.py", code), commits_since(f"{before}-dirty", "docs", code))
    assert commits_since("abc", "docs", code) is None


def test_installed_code_has_no_commit_even_below_a_checkout_of_something_else(code: Path) -> None:
    """An environment often lies within a user's own project."""
    installed = code.parent / ".venv" / "lib.py"
    installed.parent.mkdir()
    installed.write_text("")
    assert commit(installed) is None


def test_a_result_file_has_the_commit_at_which_the_run_began(tmp_path: Path) -> None:
    """A long run may end after the next commit."""
    file = tmp_path / "found.json"
    write(results("c", [], seeds=[1], began_at="abc-dirty"), file)
    assert msgspec.json.decode(file.read_bytes(), type=Results).commit == "abc-dirty"


def test_results_without_a_commit_can_be_read_and_written() -> None:
    """Kept ones are older than this."""
    old = b'{"command": "c", "version": "0", "machine": {}, "seeds": [], "rows": []}'
    found = msgspec.json.decode(old, type=Results)
    assert found.commit is None
    assert b"commit" not in msgspec.json.encode(found)


def test_the_page_of_evidence_tells_the_commit(tmp_path: Path) -> None:
    write(results("stigmergy evaluate ants/fig-2a", [], seeds=[1], began_at="abc"), tmp_path / "ants-fig-2a.json")
    assert "`stigmergy evaluate ants/fig-2a`, at commit `abc`" in evidence.page(tmp_path)
