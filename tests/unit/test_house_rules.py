"""The house rules of DESIGN section 1: imports go services -> topics -> placement, and placement is pure."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = {"placement": 0, "topics": 1, "services": 2}
PURE = {"numpy", "scipy", "placement"}
IMPURE_STDLIB = {"time", "random", "os", "socket", "subprocess", "threading", "asyncio", "secrets", "uuid", "pathlib"}
FORBIDDEN_ANYWHERE = {"pickle", "shelve", "marshal", "dill", "cloudpickle"}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, top-level package) of each import statement, also those inside functions."""
    for statement in ast.walk(ast.parse(path.read_text(), filename=str(path))):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield statement.lineno, alias.name.split(".")[0]
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{path}:{statement.lineno}: relative import; write the full name"
            yield statement.lineno, (statement.module or "").split(".")[0]


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", sorted(LAYERS))
def test_imports_go_one_way(package: str) -> None:
    """A brain that knew Kafka could not run in the simulator."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(package)
        for line, name in imports(path)
        if LAYERS.get(name, -1) > LAYERS[package]
    ]
    assert [] == wrong


def test_placement_is_pure() -> None:
    """Time and chance are arguments: the same seed must give the same run, bit for bit."""
    import sys

    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources("placement")
        for line, name in imports(path)
        if name in IMPURE_STDLIB or (name not in sys.stdlib_module_names and name not in PURE)
    ]
    assert [] == wrong


def test_nothing_unpickles() -> None:
    """Bytes from a topic, from Redis or from a file must never become code."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in sorted(LAYERS)
        for path in sources(package)
        for line, name in imports(path)
        if name in FORBIDDEN_ANYWHERE
    ]
    assert [] == wrong


@pytest.mark.parametrize("package", sorted(LAYERS))
def test_every_file_says_what_it_is_for(package: str) -> None:
    """A reader opens a file at its top."""
    silent = [
        str(path.relative_to(ROOT))
        for path in sources(package)
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert [] == silent


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_links_to_is_there(page: Path) -> None:
    """A reader who follows a link of ours arrives."""
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [] == [link for link in links if not (page.parent / link).exists()]


def test_what_the_page_of_the_papers_names_is_there() -> None:
    """It is read to find the code of a rule: a file that has moved must move there too."""
    named = re.findall(r"`((?:placement|services|tests)/[^`]*)`", (ROOT / "docs/papers-to-code.md").read_text())
    assert named
    assert [] == [name for name in named if not (ROOT / name).exists()]
